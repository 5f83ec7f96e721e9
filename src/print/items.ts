import { withoutIdAlias } from "../catalog/id-alias.js";
import { type Column, type LayerNode, localName } from "../catalog/state.js";
import { hasValues } from "../column-types/column-types.js";
import type { Languages } from "../features/columns.js";
import { columnFormatter } from "../features/format.js";
import type { PrintedItem } from "../hosts/messages.js";

/** Attributes of an object as they are printed: under their titles, with their formats. Pure. */

export interface PrintedFields {
  /** Values by column code, as the API's JSON has them. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Names of files by id. */
  readonly files: ReadonlyMap<number, string>;
  readonly languages: Languages;
}

/** Longer values are cut: a document of thousands of pages helps nobody. */
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
  let left = maxCharacters;
  const label = (column: Column) => localName(column, own, main) || column.code;
  const walk = (parent: number | null, level: number) => {
    const columns = children.get(parent) ?? [];
    // A title's own rows come before the titles within it, which would otherwise take them over.
    for (const column of columns) {
      if (!hasValues(column)) continue;
      const whole = textOf(column, object);
      const value = whole.length > left ? `${whole.slice(0, left)} …` : whole;
      left = Math.max(0, left - value.length);
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

/** What the object is called: its first text that is not empty, else its id. */
export function objectName(layer: LayerNode, fields: Readonly<Record<string, unknown>>, id: number): string {
  for (const { type, code } of layer.columns) {
    const value = type === "string" ? fields[code] : undefined;
    if (typeof value === "string" && value.trim() !== "") return value.trim().slice(0, 300);
  }
  return `№ ${id}`;
}

/** Ids that a value of a column of files lists. */
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
