import { type ColumnFormat, formatterOf } from "../../features/value-format.js";
import { dateText } from "./date-text.js";
import { h } from "./dom.js";
import type { ColumnInfo, ObjectItem } from "./map-server.js";
import type { Translate } from "./texts.js";
import type { Units } from "./unit-system.js";

/** Formats an object's fields for display. */

/** Language, translations and units of the page. */
export interface Locale {
  readonly language: string;
  readonly t: Translate;
  readonly units: Units;
}

/** A heading for the rows that follow, or a row with title and value. */
export type Row = { readonly heading: string } | { readonly title: string; readonly value: Node };

const hidden: ReadonlySet<string> = new Set(["svc_id", "geom"]);

/** Columns without the geometry and the id (also under its alias). */
export function ownColumns(columns: readonly ColumnInfo[]): ColumnInfo[] {
  const id = columns.find(({ code }) => code === "svc_id")?.id;
  return columns.filter((column) => column.id !== id && column.type !== "geom");
}

/**
 * Rows in the order of the layer's columns; without columns, in the order of the fields, titled by code.
 * @param filesOf the files with these ids; absent = only their number is shown
 */
export function attributeRows(
  object: ObjectItem,
  columns: readonly ColumnInfo[],
  locale: Locale,
  filesOf?: (ids: string) => Node,
): Row[] {
  const fields = object.fields ?? {};
  if (columns.length === 0) {
    return Object.keys(fields)
      .filter((code) => !hidden.has(code))
      .map((code) => ({ title: titleFromCode(code), value: valueNode(fields[code], undefined, locale) }));
  }
  const own = ownColumns(columns);
  const ids = new Set(own.map((column) => column.id));
  const rowsUnder = (parent: number): Row[] =>
    own
      .filter((column) => (ids.has(column.parent_id) ? column.parent_id : 0) === parent)
      .sort((a, b) => a.sort - b.sort || a.id - b.id)
      .flatMap((column): Row[] => {
        const title = columnTitle(column);
        if (column.type === "title") {
          const inner = rowsUnder(column.id);
          return inner.length > 0 ? [{ heading: title }, ...inner] : [];
        }
        const value = fields[column.code];
        const files = column.type === "file" && value ? filesOf?.(String(value)) : undefined;
        return [{ title, value: files ?? valueNode(value, column, locale) }];
      });
  return rowsUnder(0);
}

/** The name of a column, or its code as a title. Columns of an import have their code as name. */
export const columnTitle = ({ name, code }: Pick<ColumnInfo, "name" | "code">): string =>
  name && name !== code ? name : titleFromCode(code);

/** A column's code as a title: `pop_max` → `Pop max`. */
function titleFromCode(code: string): string {
  const words = code.replaceAll("_", " ").trim();
  return words ? words[0]!.toUpperCase() + words.slice(1) : code;
}

/**
 * The title of an object: the value of the preferred column, else of a column with a name like "name", else the first text,
 * else the id. The locale's language is that of the data.
 */
export function objectTitle(
  object: ObjectItem,
  columns: readonly ColumnInfo[],
  locale: Locale,
  preferred?: string,
): string {
  const fields = object.fields ?? {};
  const text = (code: string | undefined): string | undefined => {
    const value = code === undefined || !Object.hasOwn(fields, code) ? undefined : fields[code];
    return typeof value === "string" && value.trim() !== "" && value.length <= 200 ? value : undefined;
  };
  const codes = columns.length > 0 ? columns.map((column) => column.code) : Object.keys(fields);
  const named = [`name_${locale.language}`, "name", "title", "label", "name_en"];
  const candidates = [preferred, ...named, ...codes.filter((code) => /(^|_)name(_|$)/i.test(code)), ...codes];
  for (const code of candidates) {
    const found = text(code);
    if (found && !hidden.has(code ?? "")) return found;
  }
  return locale.t("objectNumber", { id: object.id });
}

/** As the format of the column says; undefined when it has none for such a value. */
function formatted(value: unknown, column: ColumnInfo | undefined, language: string): string | undefined {
  if (!column?.format) return undefined;
  const text = formatterOf(column.format as unknown as ColumnFormat, { own: language, main: "en" })(value);
  return text === value ? undefined : String(text);
}

function valueNode(value: unknown, column: ColumnInfo | undefined, locale: Locale): Node {
  if (value === null || value === undefined || value === "") {
    return h("span", { class: "no-value", title: locale.t("empty") }, "—");
  }
  const written = formatted(value, column, locale.language);
  if (written !== undefined)
    return typeof value === "number"
      ? h("span", { class: "number" }, written)
      : document.createTextNode(written);
  if (typeof value === "boolean") return document.createTextNode(locale.t(value ? "yes" : "no"));
  if (typeof value === "number") {
    // No separator below 10,000, so that years stay readable.
    const format = new Intl.NumberFormat(locale.language, { maximumFractionDigits: 6, useGrouping: "min2" });
    return h("span", { class: "number" }, format.format(value));
  }
  if (typeof value === "object") {
    return h("pre", { class: "json" }, JSON.stringify(value, undefined, 2));
  }
  const text = String(value);
  if (column?.type === "datetime") {
    const date = dateText(text, locale.language);
    if (date !== undefined) return h("time", { datetime: text }, date);
  }
  if (column?.type === "file") {
    return document.createTextNode(locale.t("files", { n: text.split(",").filter(Boolean).length }));
  }
  if (/^https?:\/\/\S+$/i.test(text)) {
    return h(
      "a",
      { href: text, target: "_blank", rel: "noopener noreferrer" },
      text.replace(/^https?:\/\//i, ""),
    );
  }
  return document.createTextNode(text);
}
