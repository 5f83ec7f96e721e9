import type { Locale } from "../attributes.js";
import { dateText } from "../date-text.js";
import type { ColumnInfo } from "../map-server.js";

/** A value as the text of a cell; a longer one is cut. What the server has formatted already stays as it is. */

const maxLetters = 300;

export function cellText(value: unknown, column: ColumnInfo, { language, t }: Locale): string {
  if (value === null || value === undefined || value === "") return "";
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  if (typeof value === "number") {
    // Ids have no separators, nor have numbers below 10,000, so that years stay readable.
    const useGrouping = column.code === "svc_id" ? false : "min2";
    return new Intl.NumberFormat(language, { maximumFractionDigits: 6, useGrouping }).format(value);
  }
  if (typeof value === "object") return cut(JSON.stringify(value));
  const text = String(value);
  if (column.type === "datetime" && !column.format) {
    const date = dateText(text, language);
    if (date !== undefined) return date;
  }
  if (column.type === "file") return t("files", { n: text.split(",").filter(Boolean).length });
  return cut(text);
}

const cut = (text: string): string => (text.length > maxLetters ? `${text.slice(0, maxLetters)}…` : text);
