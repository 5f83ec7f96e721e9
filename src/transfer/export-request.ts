import { isLanguageTag } from "../catalog/codes.js";
import type { LayerNode, MapState } from "../catalog/state.js";
import { badRequest } from "../errors.js";
import type { GeoEnvelope } from "../geo/envelope.js";

/** Parameters of an export that do not depend on the format. */

export interface ExportTarget {
  readonly map: MapState;
  /** A layer of objects. */
  readonly layer: LayerNode;
}

/** What is written to the file. */
export interface ExportRequest {
  /** Only these objects; undefined = all. */
  readonly ids?: readonly number[] | undefined;
  /** Only objects whose geometry intersects this box. */
  readonly envelope?: GeoEnvelope | undefined;
  readonly srid: 4326 | 3857;
  /** Languages of localised columns; undefined = all. */
  readonly languages?: ExportLanguages | undefined;
  readonly signal: AbortSignal;
  /** Called with the number of objects of each batch that was read. */
  readonly onObjects?: ((count: number) => void) | undefined;
}

export type ExportLanguages = readonly [string, ...string[]];

const maxLanguages = 100;

/**
 * Parses language codes separated by commas; undefined when the list is empty, which means all languages.
 * @throws Failure bad_request
 */
export function exportLanguages(list: string): ExportLanguages | undefined {
  const given = list.split(",", 10 * maxLanguages).map((code) => code.trim());
  const [first, ...others] = new Set(given.filter(Boolean));
  if (first === undefined) return undefined;
  if (others.length < maxLanguages && [first, ...others].every(isLanguageTag)) return [first, ...others];
  throw badRequest("Languages are codes such as ru or en, separated by commas.");
}
