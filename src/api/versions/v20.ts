import { jsonObject } from "../request/schema/bodies.js";
import { flag } from "../request/schema/fields.js";
import { sizes } from "../request/schema/sizes.js";
import { creation, mapFields } from "../resources/maps.js";
import { fileAnswer, publicationAnswer, treeAnswer } from "./adapt.js";
import type { OlderVersion } from "./older.js";
import { initialSettings } from "./settings.js";
import { version22 } from "./v22.js";

/**
 * Version 2.0 of the API: 2.2 without some operations, and with some differences. In all versions, ids in publication
 * trees are unique integers. URLs of tiles are not versioned.
 */

const traits = { visualType: true };

/** In 2.0, maps could be created unpublished. */
const createMap = creation(
  jsonObject(
    { ...mapFields, publish: flag("Whether the map is published; default: yes.").optional() },
    sizes.styled,
  ),
);

const notSupported = new Set([
  "GET P/:map/layers/:layer/count/",
  "POST P/:map/layers/:layer/objects/",
  "PUT P/:map/layers/:layer/objects/:object/",
  "DELETE P/:map/layers/:layer/objects/:object/",
]);

export const version20: OlderVersion = {
  name: "2.0",
  operations: {
    ...Object.fromEntries(Object.entries(version22.operations).filter(([key]) => !notSupported.has(key))),
    "POST P/": () => createMap.bare,
    "GET P/:map/layers/": treeAnswer(traits),
    "POST P/:map/publish/": publicationAnswer(traits),
    "POST P/:map/layers/:layer/objects/:object/files/": fileAnswer("2.0"),
  },
  own: { "GET P/": initialSettings(traits) },
};
