import type { Locale } from "../../attributes.js";
import type { ColumnInfo } from "../../map-server.js";
import { cellText } from "../../tools/cell-text.js";

/** A value in words; of localised ones those of all languages. */
export function valueText(value: unknown, column: ColumnInfo, locale: Locale): string {
  if (!column.localized_value || typeof value !== "object" || value === null)
    return cellText(value, column, locale) || "—";
  const texts = Object.entries(value).map(
    ([language, text]) => `${language}: ${cellText(text, column, locale)}`,
  );
  return texts.join("\n") || "—";
}
