import { columnAnswer, fileAnswer, layerAnswer, publicationAnswer, treeAnswer } from "./adapt.js";
import { type OlderVersion, unchanged } from "./older.js";
import { initialSettings } from "./settings.js";

/** Version 2.2 of the API. Only the differences that the contract lists are adapted. */

const traits = { visualType: false };

export const version22: OlderVersion = {
  name: "2.2",
  operations: {
    "POST P/login/": unchanged,
    "POST P/logout/": unchanged,

    "POST P/": unchanged,
    "GET P/:map/": unchanged,
    "GET P/:map/layers/": treeAnswer(traits),
    "POST P/:map/publish/": publicationAnswer(traits),

    "POST P/:map/layers/": layerAnswer,
    "GET P/:map/layers/:layer/": layerAnswer,
    "PUT P/:map/layers/:layer/": layerAnswer,
    "PATCH P/:map/layers/:layer/": layerAnswer,
    "DELETE P/:map/layers/:layer/": unchanged,
    "GET P/:map/layers/:layer/legend/": unchanged,

    "GET P/:map/layers/:layer/structure/": columnAnswer,
    "PUT P/:map/layers/:layer/structure/:column/": columnAnswer,
    "PATCH P/:map/layers/:layer/structure/:column/": columnAnswer,

    "POST P/:map/layers/:layer/import/": layerAnswer,
    "GET P/:map/layers/:layer/export/": unchanged,

    "GET P/:map/layers/:layer/count/": unchanged,
    "GET P/:map/layers/:layer/objects/": unchanged,
    "POST P/:map/layers/:layer/objects/": unchanged,
    "GET P/:map/layers/:layer/objects/:object/": unchanged,
    "PUT P/:map/layers/:layer/objects/:object/": unchanged,
    "DELETE P/:map/layers/:layer/objects/:object/": unchanged,
    "GET P/:map/layers/:layer/objects/:object/geom/": unchanged,
    "PUT P/:map/layers/:layer/objects/:object/geom/": unchanged,

    "POST P/:map/layers/:layer/objects/:object/files/": fileAnswer("2.2"),
    "GET P/:map/layers/:layer/objects/:object/files/:file/": unchanged,
    "DELETE P/:map/layers/:layer/objects/:object/files/:file/": unchanged,
    "GET P/image/:file/": unchanged,
  },
  own: { "GET P/": initialSettings(traits) },
};
