import { rightsOn } from "../access/rights.js";
import { type Caller, type MapState, Right } from "../catalog/state.js";
import { contractBox, layersBoxes } from "../features/bbox.js";
import { type ContractBox, unionBoxes } from "../geo/envelope.js";
import type { Queryable } from "../storage/postgres.js";
import { drawnLayers } from "../tiles/selection.js";

/** The layers of a map that the caller sees on tiles. @param layers ids; undefined = those that the map shows */
export const seenLayers = (map: MapState, caller: Caller, layers: readonly number[] | undefined) =>
  drawnLayers(map, layers, (layer) => (rightsOn(map, caller, layer) & Right.read) !== 0);

/** The extent of these layers in degrees; null = they show nothing that has one. */
export const seenExtent = async (
  db: Queryable,
  map: MapState,
  caller: Caller,
  layers: readonly number[] | undefined,
): Promise<ContractBox | null> =>
  unionBoxes(
    [...(await layersBoxes(db, seenLayers(map, caller, layers))).values()].map(
      (box) => box && contractBox(box, 4326),
    ),
  );
