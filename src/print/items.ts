import { withoutIdAlias } from "../catalog/id-alias.js";
import { type Column, type LayerNode, localName } from "../catalog/state.js";
import { hasValues } from "../column-types/column-types.js";
import type { Languages } from "../features/column-sql.js";
import { columnFormatter } from "../features/format.js";
import type { PrintedItem } from "../hosts/messages.js";

/** The attributes of an object in a PDF: grouped by titles, with formatted values. Pure. */

export interface PrintedFields {
  /** JSON values of the API by column code. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** File names by file id. */
  readonly files: ReadonlyMap<number, string>;
  readonly languages: Languages;
}

/** Values are truncated beyond this total length, which limits the number of pages. */
const maxCharacters = 1_500_000;

export function printedItems(layer: LayerNode, object: PrintedFields): PrintedItem[] {
  const { own, main } = object.languages;
  const children = new Map<number | null, Column[]>();
  const titles = new Set(layer.columns.filter(({ type }) => type === "title").map(({ id }) => id));
  for (const column of withoutIdAlias(layer.columns)) {
    const parent = column.parentId !== null && titles.has(column.parentId) ? column.parentId : null;
    children.set(parent, [...(children.get(parent) ?? []), column]);
  }
  const items: PrintedItem[] = [];
  let remaining = maxCharacters;
  const label = (column: Column) => localName(column, own, main) || column.code;
  const walk = (parent: number | null, level: number) => {
    const columns = children.get(parent) ?? [];
    // Rows come before nested titles; after these they would seem to belong to them.
    for (const column of columns) {
      if (!hasValues(column)) continue;
      const whole = textOf(column, object);
      const value = whole.length > remaining ? `${whole.slice(0, remaining)} …` : whole;
      remaining = Math.max(0, remaining - value.length);
      items.push({ kind: "row", label: label(column), value });
    }
    for (const column of columns) {
      if (column.type !== "title") continue;
      items.push({ kind: "heading", text: label(column), level });
      walk(column.id, level + 1);
    }
  };
  walk(null, 0);
  return items;
}

/** The name of an object: its first non-empty string value, else its id. */
export function objectName(layer: LayerNode, fields: Readonly<Record<string, unknown>>, id: number): string {
  for (const { type, code } of layer.columns) {
    const value = type === "string" ? fields[code] : undefined;
    if (typeof value === "string" && value.trim() !== "") return value.trim().slice(0, 300);
  }
  return `№ ${id}`;
}

/** The file ids in the value of a file column. */
export const listedIds = (value: unknown): number[] =>
  typeof value === "string" && value !== "" ? value.split(",").map(Number) : [];

function textOf(column: Column, { fields, files, languages }: PrintedFields): string {
  const value = fields[column.code];
  if (value === null || value === undefined || value === "") return "–";
  if (column.type === "file") {
    return listedIds(value)
      .map((id) => files.get(id) ?? String(id))
      .join("\n");
  }
  if (column.type === "json") return JSON.stringify(value, null, 2);
  const shown = columnFormatter(column, languages)?.(value) ?? value;
  return typeof shown === "string" ? shown : JSON.stringify(shown);
}
