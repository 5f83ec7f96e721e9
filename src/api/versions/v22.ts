import { columnAnswer, fileAnswer, layerAnswer, publicationAnswer, treeAnswer } from "./adapt.js";
import { asItIs, type OlderVersion } from "./older.js";
import { initialSettings } from "./settings.js";

/** Version 2.2 of the API. What the contract does not name among the differences is as it is today. */

const traits = { visualType: false };

export const version22: OlderVersion = {
  name: "2.2",
  operations: {
    "POST P/login/": asItIs,
    "POST P/logout/": asItIs,

    "POST P/": asItIs,
    "GET P/:map/": asItIs,
    "GET P/:map/layers/": treeAnswer(traits),
    "POST P/:map/publish/": publicationAnswer(traits),

    "POST P/:map/layers/": layerAnswer,
    "GET P/:map/layers/:layer/": layerAnswer,
    "PUT P/:map/layers/:layer/": layerAnswer,
    "PATCH P/:map/layers/:layer/": layerAnswer,
    "DELETE P/:map/layers/:layer/": asItIs,
    "GET P/:map/layers/:layer/legend/": asItIs,

    "GET P/:map/layers/:layer/structure/": columnAnswer,
    "PUT P/:map/layers/:layer/structure/:column/": columnAnswer,
    "PATCH P/:map/layers/:layer/structure/:column/": columnAnswer,

    "POST P/:map/layers/:layer/import/": layerAnswer,
    "GET P/:map/layers/:layer/export/": asItIs,

    "GET P/:map/layers/:layer/count/": asItIs,
    "GET P/:map/layers/:layer/objects/": asItIs,
    "POST P/:map/layers/:layer/objects/": asItIs,
    "GET P/:map/layers/:layer/objects/:object/": asItIs,
    "PUT P/:map/layers/:layer/objects/:object/": asItIs,
    "DELETE P/:map/layers/:layer/objects/:object/": asItIs,
    "GET P/:map/layers/:layer/objects/:object/geom/": asItIs,
    "PUT P/:map/layers/:layer/objects/:object/geom/": asItIs,

    "POST P/:map/layers/:layer/objects/:object/files/": fileAnswer("2.2"),
    "GET P/:map/layers/:layer/objects/:object/files/:file/": asItIs,
    "DELETE P/:map/layers/:layer/objects/:object/files/:file/": asItIs,
    "GET P/image/:file/": asItIs,
  },
  own: { "GET P/": initialSettings(traits) },
};
