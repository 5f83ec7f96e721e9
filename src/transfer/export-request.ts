import { isLanguageTag } from "../catalog/codes.js";
import type { LayerNode, MapState } from "../catalog/state.js";
import { badRequest } from "../errors.js";
import type { GeoEnvelope } from "../geo/envelope.js";

/** What is exported, whatever the format. */

export interface ExportTarget {
  readonly map: MapState;
  /** A layer of objects. */
  readonly layer: LayerNode;
}

/** What goes into the file. */
export interface ExportRequest {
  /** These objects only; undefined = all. */
  readonly ids?: readonly number[] | undefined;
  /** Objects whose geometry meets this box. */
  readonly envelope?: GeoEnvelope | undefined;
  readonly srid: 4326 | 3857;
  /** Languages of localised columns; undefined = all. */
  readonly languages?: ExportLanguages | undefined;
  readonly signal: AbortSignal;
  /** Told of objects as they are read. */
  readonly onObjects?: ((count: number) => void) | undefined;
}

export type ExportLanguages = readonly [string, ...string[]];

const maxLanguages = 100;

/**
 * Language codes separated by commas; undefined = there is none, which stands for all.
 * @throws Failure bad_request
 */
export function exportLanguages(list: string): ExportLanguages | undefined {
  const given = list.split(",", 10 * maxLanguages).map((code) => code.trim());
  const [first, ...others] = new Set(given.filter(Boolean));
  if (first === undefined) return undefined;
  if (others.length < maxLanguages && [first, ...others].every(isLanguageTag)) return [first, ...others];
  throw badRequest("Languages are codes such as ru or en, separated by commas.");
}
