import { type Column, isId } from "../catalog/state.js";
import type { Languages } from "./column-sql.js";
import { type ColumnFormat, type Formatter, formatterOf, type NumberFormat } from "./value-format.js";

/** Formats values for display (`f=fjson`, PDF) by their columns' formats, in the request's language. Pure. */

/** A column's formatter; undefined when its values are not formatted. Null stays null. */
export function columnFormatter(column: Column, languages: Languages): Formatter | undefined {
  const number = numberFormatOf(column);
  if (number) return formatterOf(number, languages);
  const format = column.format as unknown as ColumnFormat | null;
  if (format?.kind === column.type) return formatterOf(format, languages);
  return column.type === "bool" ? formatterOf({ kind: "bool" }, languages) : undefined;
}

/** How its numbers are written; undefined = it has none, or they are ids, which have no digit grouping. */
export function numberFormatOf(column: Column): NumberFormat | undefined {
  if (column.type !== "number") return undefined;
  const format = column.format as unknown as ColumnFormat | null;
  if (format?.kind === "number") return format;
  return isId(column) ? undefined : { kind: "number" };
}

/**
 * A function that formats the values in an object's JSON text, as PostgreSQL makes it (`item.ts`): in its `fields`, or a
 * feature's `properties`. The rest, which may be a large geometry, stays as it is and is not parsed.
 * @param columns columns whose values are formatted
 */
export function objectFormatter(columns: readonly Column[], languages: Languages): (text: string) => string {
  const formatters = columns.flatMap((column) => {
    const format = columnFormatter(column, languages);
    return format ? [{ code: column.code, format }] : [];
  });
  return (text) => {
    if (formatters.length === 0) return text;
    const place = valuesIn(text);
    if (!place) return text;
    const fields = JSON.parse(text.slice(...place)) as Record<string, unknown>;
    for (const { code, format } of formatters) {
      if (Object.hasOwn(fields, code)) fields[code] = format(fields[code]);
    }
    return text.slice(0, place[0]) + JSON.stringify(fields) + text.slice(place[1]);
  };
}

const fieldsName = ',"fields":';
const propertiesName = ',"properties":';

/** From where to where the values are in an object's text; undefined = it has none. */
function valuesIn(text: string): [start: number, end: number] | undefined {
  // Nothing that a client chose stands before them.
  if (text.startsWith('{"type":"Feature"')) {
    const start = text.indexOf(propertiesName) + propertiesName.length;
    return [start, text.length - 1];
  }
  const before = text.indexOf(fieldsName);
  // Without values it is nowhere: geometries have the names of GeoJSON.
  if (before < 0) return undefined;
  const start = before + fieldsName.length;
  return [start, objectEnd(text, start)];
}

/** The end of the JSON object that begins at `start`. */
function objectEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = stringEnd(text, at);
        break;
      case 0x7b: // {
        depth++;
        break;
      case 0x7d: // }
        if (--depth === 0) return at + 1;
        break;
    }
  }
  return text.length;
}

/** The end of the string that begins at `start`; long ones are not looked through a character at a time. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}
