import { isLanguageTag } from "../catalog/codes.js";
import { type LayerNode, localName, type MapState } from "../catalog/state.js";
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
  /** Only objects that this condition in the filter language selects; it compares localised values of `language`. */
  readonly filter?: string | undefined;
  /** Codes of the columns to write; undefined = all. The object id is always written. */
  readonly fields?: readonly string[] | undefined;
  readonly srid: 4326 | 3857;
  /** Languages of localised columns; undefined = all. */
  readonly languages?: ExportLanguages | undefined;
  /** Language of the layer's title, and of values that `filter` compares; default: the project's main language. */
  readonly language?: string | undefined;
  /** Encoding of CSV files (see csv-encoding.ts); default: utf-8. */
  readonly encoding?: string | undefined;
  /** Separator of CSV files; default: semicolon. */
  readonly dialect?: "semicolon" | "comma" | "tab" | undefined;
  /** For whom it is: an account or network; absent = the server's operator. */
  readonly client?: string | undefined;
  readonly signal: AbortSignal;
  /** Called with the number of objects of each batch that was read. */
  readonly onObjects?: ((count: number) => void) | undefined;
}

export type ExportLanguages = readonly [string, ...string[]];

/** The layer's name in the language of the request; "" if it has none. */
export const layerTitle = (target: ExportTarget, { language }: ExportRequest): string =>
  localTitle(target, language);

/** The layer's name in a language, by default the project's main one; "" if it has none. */
export function localTitle({ map, layer }: ExportTarget, language: string | undefined): string {
  const main = map.project.languages[0];
  return localName(layer, language ?? main, main);
}

/** Notes of formats that have EPSG:4326 only. */
export const degreesNotes = ({ srid }: ExportRequest): readonly string[] =>
  srid === 4326
    ? []
    : ["The geometry is in EPSG:4326, in degrees, since the format has no other reference system."];

/** The whole numbers of a list, such as ids; undefined when one of them is none. */
export function wholeNumbers(parts: readonly string[]): readonly number[] | undefined {
  const numbers = parts.map((part) => (/^\s*-?\d{1,16}\s*$/.test(part) ? Number(part) : Number.NaN));
  return numbers.every(Number.isSafeInteger) ? numbers : undefined;
}

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
