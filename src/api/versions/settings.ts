import { requireRead } from "../../access/rights.js";
import { type ContractBox, unionBoxes } from "../../geo/envelope.js";
import type { Handler } from "../../http/types.js";
import { answer } from "../request/caller.js";
import { projectContext } from "../request/context.js";
import { srid, text } from "../request/schema/parameters.js";
import { reader } from "../request/schema/read.js";
import { treeElements } from "../resources/layer-tree.js";
import { mapObject } from "../resources/present.js";
import type { Services } from "../services.js";
import { olderTree, type TreeTraits } from "./adapt.js";

const settingsParameters = {
  map_code: text("Code of the map."),
  bboxSR: srid("Coordinate system (EPSG) of bounding boxes."),
};
const readSettings = reader(settingsParameters);

/**
 * Initial settings of a map, `GET P/?map_code=…`: everything that a client needs to show the map, in one response.
 *
 *     {
 *       map:       the map object, as returned by GET P/<map_code>/
 *       languages: codes of the project's languages, the main language first; these are the values of lng
 *       bbox:      {sw: [Lat, Lon], ne: [Lat, Lon]} of all layers in the tree; null when there is no geometry
 *       layers:    the publication tree, as returned by GET P/<map_code>/layers/
 *     }
 *
 * `lng` is the language of names, `bboxSR` the EPSG code of all bounding boxes.
 */
export const initialSettings =
  (traits: TreeTraits): Handler<Services> =>
  async (request, services) => {
    const { project, caller, view } = await projectContext(request, services);
    const { map_code: code, bboxSR: boxSrid } = readSettings(request.query);
    const map = await services.catalog.map(project.code, code);
    requireRead(map, caller);
    const context = { project: map.project, map, caller, view };
    const elements = await treeElements(services, context, { boxSrid, grouped: true });
    return answer(caller, {
      map: mapObject(map, context.view),
      languages: map.project.languages,
      bbox: unionBoxes(elements.map((element) => element.bbox as ContractBox | null)),
      layers: olderTree(elements, context, traits),
    });
  };
