import { flagField } from "../input.js";
import { creation } from "../maps.js";
import { fileAnswer, publicationAnswer, treeAnswer } from "./adapt.js";
import type { OlderVersion } from "./older.js";
import { initialSettings } from "./settings.js";
import { version22 } from "./v22.js";

/**
 * Version 2.0 of the API: 2.2 without some operations, and with differences of its own. That the ids of a publication
 * tree are whole numbers and none comes twice is so in every version; addresses of tiles have no version.
 */

const traits = { visualType: true };

const lacking = new Set([
  "GET P/:map/layers/:layer/count/",
  "POST P/:map/layers/:layer/objects/",
  "PUT P/:map/layers/:layer/objects/:object/",
  "DELETE P/:map/layers/:layer/objects/:object/",
]);

export const version20: OlderVersion = {
  name: "2.0",
  operations: {
    ...Object.fromEntries(Object.entries(version22.operations).filter(([key]) => !lacking.has(key))),
    // A map could be made without being shown to the public at once.
    "POST P/": () => creation((fields) => flagField(fields, "publish") ?? true),
    "GET P/:map/layers/": treeAnswer(traits),
    "POST P/:map/publish/": publicationAnswer(traits),
    "POST P/:map/layers/:layer/objects/:object/files/": fileAnswer("2.0"),
  },
  own: { "GET P/": initialSettings(traits) },
};
