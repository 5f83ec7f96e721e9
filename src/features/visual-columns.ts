import type { Column } from "../catalog/state.js";
import type { Limit } from "../catalog/visual-values.js";
import { isId, type Languages, readableValue } from "./columns.js";
import { plainValue } from "./plain-value.js";
import type { Values } from "./sql.js";
import { boundType, readValue } from "./values.js";

/**
 * A column's values as visualizations take them: measured, or told apart. Of localised ones, those that tiles are drawn
 * by.
 */

/** SQL of a column's values as finite numbers, moments in seconds since 1970; undefined for types without a measure. */
export function measure(column: Column, languages: Languages, bound: Values): string | undefined {
  const value = plainValue(column, readableValue(column, languages, bound));
  // SQL clients can store NaN and infinities in columns that are not localised.
  const checked = !column.localizedValue && !isId(column);
  if (column.type === "number") {
    if (!checked) return `${value}::float8`;
    return `case when ${value} between -1.7976931348623157e308 and 1.7976931348623157e308 then ${value} end`;
  }
  if (column.type !== "datetime") return undefined;
  const seconds = `extract(epoch from ${value})::float8`;
  return checked ? `case when isfinite(${value}) then ${seconds} end` : seconds;
}

/** A measured value as the column's JSON shows it. */
export function shownValue(column: Column, value: number): Limit {
  if (column.type !== "datetime") return value;
  const moment = new Date(Math.round(value * 1000));
  return Number.isNaN(moment.getTime()) ? value : moment.toISOString().replace(".000Z", "Z");
}

/** How a column's values are told apart: SQL of them, null for empty ones, and a class's value as text for the type. */
export function categoryValue(column: Column, languages: Languages, bound: Values) {
  const asText = (value: unknown): string | undefined => {
    const read = readValue({ ...column, type: "text" }, typeof value === "boolean" ? String(value) : value);
    return read.ok ? String(read.json) : undefined;
  };
  switch (column.type) {
    case "number":
    case "bool":
    case "datetime": {
      const type = column.type === "number" ? "double precision" : boundType(column);
      const read = (value: unknown): string | undefined => {
        const result = readValue(column, value);
        return result.ok && result.json !== null ? String(result.json) : undefined;
      };
      return { sql: `${plainValue(column, readableValue(column, languages, bound))}::${type}`, type, read };
    }
    case "json":
      return { sql: `${readableValue(column, languages, bound)} #>> '{}'`, type: "text", read: asText };
    case "file":
      return {
        sql: column.localizedValue
          ? `${readableValue(column, languages, bound)} #>> '{}'`
          : `array_to_string(${column.physical}, ',')`,
        type: "text",
        read: asText,
      };
    default:
      return { sql: `nullif(${readableValue(column, languages, bound)},'')`, type: "text", read: asText };
  }
}
