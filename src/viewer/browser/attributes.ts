import { type ColumnFormat, formatterOf } from "../../features/value-format.js";
import { dateText } from "./date-text.js";
import { h } from "./dom.js";
import type { ColumnInfo, ObjectItem } from "./map-server.js";
import type { Translate } from "./texts.js";
import type { Units } from "./unit-system.js";
import { namedColumns, valueColumns } from "./value-columns.js";

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

/** Titles of the headings that a column stands below, from the outermost. */
function headingsOf({ parent_id }: ColumnInfo, columns: readonly ColumnInfo[]): readonly string[] {
  const parent = columns.find(({ id, type }) => id === parent_id && type === "title");
  return parent ? [...headingsOf(parent, columns), columnTitle(parent)] : [];
}

export interface RowsShown {
  /** Codes of the columns that are shown, in their order; absent = all, as the layer has them. */
  readonly codes?: readonly string[] | undefined;
  /** The files with these ids; absent = only their number is shown. */
  readonly filesOf?: (ids: string) => Node;
}

/** A row for each column, headings above those of theirs that follow each other; without columns, titled by code. */
export function attributeRows(
  object: ObjectItem,
  columns: readonly ColumnInfo[],
  locale: Locale,
  { codes, filesOf }: RowsShown = {},
): Row[] {
  const fields = object.fields ?? {};
  if (columns.length === 0) {
    const known = Object.keys(fields).filter((code) => !hidden.has(code));
    return (codes?.filter((code) => known.includes(code)) ?? known).map((code) => ({
      title: titleFromCode(code),
      value: valueNode(fields[code], undefined, locale),
    }));
  }
  const all = valueColumns(columns);
  let above: readonly string[] = [];
  return (codes ? namedColumns(all, codes) : all).flatMap((column): Row[] => {
    const headings = headingsOf(column, columns);
    const same = headings.findIndex((heading, at) => heading !== above[at]);
    const fresh = same === -1 ? [] : headings.slice(same);
    above = headings;
    const value = fields[column.code];
    const files = column.type === "file" && value ? filesOf?.(String(value)) : undefined;
    return [
      ...fresh.map((heading) => ({ heading })),
      { title: columnTitle(column), value: files ?? valueNode(value, column, locale) },
    ];
  });
}

/** The rows as a table; undefined when there are none. */
export const attributeTable = (rows: readonly Row[]): HTMLElement | undefined =>
  rows.length === 0
    ? undefined
    : h(
        "table",
        { class: "attributes" },
        h(
          "tbody",
          {},
          ...rows.map((row) =>
            "heading" in row
              ? h("tr", { class: "group" }, h("th", { colspan: 2, scope: "colgroup" }, row.heading))
              : h("tr", {}, h("th", { scope: "row" }, row.title), h("td", {}, row.value)),
          ),
        ),
      );

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
  const column = columns.find(({ code }) => code === preferred);
  const chosen = preferred === undefined ? undefined : chosenTitle(fields[preferred], column, locale);
  if (chosen !== undefined) return chosen;
  const codes = columns.length > 0 ? columns.map((column) => column.code) : Object.keys(fields);
  const names = [`name_${locale.language}`, "name", "title", "label", "name_en"];
  const candidates = [...names, ...codes.filter((code) => /(^|_)name(_|$)/i.test(code)), ...codes];
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

// No separator below 10,000, so that years stay readable.
const numberText = (value: number, column: ColumnInfo | undefined, { language }: Locale): string =>
  formatted(value, column, language) ??
  new Intl.NumberFormat(language, { maximumFractionDigits: 6, useGrouping: "min2" }).format(value);

/** A value that was chosen as the title; undefined = it is none. */
function chosenTitle(value: unknown, column: ColumnInfo | undefined, locale: Locale): string | undefined {
  if (typeof value === "number") return numberText(value, column, locale);
  if (typeof value !== "string" || value.trim() === "" || value.length > 200) return undefined;
  const date = column?.type === "datetime" ? dateText(value, locale.language) : undefined;
  return formatted(value, column, locale.language) ?? date ?? value;
}

function valueNode(value: unknown, column: ColumnInfo | undefined, locale: Locale): Node {
  if (value === null || value === undefined || value === "") {
    return h("span", { class: "no-value", title: locale.t("empty") }, "—");
  }
  if (typeof value === "number") return h("span", { class: "number" }, numberText(value, column, locale));
  const written = formatted(value, column, locale.language);
  if (written !== undefined) return document.createTextNode(written);
  if (typeof value === "boolean") return document.createTextNode(locale.t(value ? "yes" : "no"));
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
