import { type Languages, readableSql } from "../../catalog/localized-value.js";
import { type Column, isId, type LayerNode } from "../../catalog/state.js";
import { definitionOf, hasValues } from "../../column-types/column-types.js";
import { plainFromJsonb } from "../../column-types/conversion.js";

/** What of an object is in vector tiles besides its geometry: the values of all columns that object lists show. */

/** Characters of a text; what is longer is cut. */
const maxText = 1_000;

export interface Attribute {
  readonly code: string;
  /** As TileJSON names it. */
  readonly type: "Number" | "Boolean" | "String";
  readonly column: Column;
}

/** In the order of the columns. Ids are no attributes, since features have them. */
export function attributesOf({ columns }: LayerNode): Attribute[] {
  return columns
    .filter((column) => hasValues(column) && !isId(column))
    .map((column) => ({ code: column.code, type: definitionOf(column).vector?.type ?? "String", column }));
}

/**
 * SQL of the attribute's value, over a row `o$` of the layer's table; null when there is none. A localised value falls back
 * to other languages, as labels do.
 * @param bind returns a placeholder for a text
 */
export function attributeSql(
  { column }: Attribute,
  languages: Languages,
  bind: (text: string) => string,
): string {
  const definition = definitionOf(column);
  const physical = `o$.${column.physical}`;
  const { isText, fromLanguage, vector } = definition;
  const readable = column.localizedValue ? readableSql(column, physical, languages, bind) : physical;
  const plain = (json: string) => fromLanguage?.(json) ?? plainFromJsonb(column.type, json);
  const value = column.localizedValue && !isText ? plain(readable) : readable;
  return vector ? vector.value(value) : `left(${definition.fileText(value)}, ${maxText})`;
}
