import { boxParameter, filterBox } from "../api/resources/object-parameters.js";
import type { MapState } from "../catalog/state.js";
import { Failure, reasonOf } from "../errors.js";
import type { GeoEnvelope } from "../geo/envelope.js";
import { maxZoom } from "../geo/tile.js";
import { UsageError } from "./environment.js";
import { findLayer } from "./find-map.js";

/** Options of commands that choose tiles or objects. */

/** @throws UsageError with the reason of a Failure */
export function usable<T>(read: () => T, option: string): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new UsageError(`${option}${reasonOf(error)}`);
  }
}

/** The parts of a list separated by commas. */
export const listOf = (text: string): string[] =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);

/** @param system EPSG number of the box's reference system @throws UsageError */
export function boxOf(bbox: string | undefined, system: 4326 | 3857 = 4326): GeoEnvelope | undefined {
  if (bbox === undefined) return undefined;
  const { data, success } = boxParameter.safeParse(bbox);
  if (!success) throw new UsageError("--bbox: must be four numbers: south,west,north,east.");
  return usable(() => filterBox(data, system), "--bbox: ");
}

/** @throws UsageError */
export function zoomsOf(range: string | undefined): { readonly minZoom?: number; readonly maxZoom?: number } {
  if (range === undefined) return {};
  const [, first, last] = /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(range) ?? [];
  const minZoom = Number(first);
  const highest = Number(last ?? first);
  if (first === undefined || minZoom > highest || highest > maxZoom)
    throw new UsageError(`--zoom: must be a zoom or a range such as 0-12, up to ${maxZoom}.`);
  return { minZoom, maxZoom: highest };
}

/** @throws CommandError */
export const layerIds = (map: MapState, codes: readonly string[]): number[] =>
  codes.map((code) => findLayer(map, code).id);
