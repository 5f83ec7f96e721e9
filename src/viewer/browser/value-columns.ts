/** Which columns of a layer are shown, and in which order. Does not depend on the DOM. */

/** A column, as far as its place in the layer goes. */
export interface PlacedColumn {
  readonly id: number;
  readonly parent_id: number;
  readonly code: string;
  readonly type: string;
  readonly sort: number;
}

/** Columns without the geometry and the id (also under its alias). */
export function ownColumns<Column extends PlacedColumn>(columns: readonly Column[]): Column[] {
  const id = columns.find(({ code }) => code === "svc_id")?.id;
  return columns.filter((column) => column.id !== id && column.type !== "geom");
}

/** Columns that have values, in the order of the layer: those below a heading where that is. */
export function valueColumns<Column extends PlacedColumn>(columns: readonly Column[]): Column[] {
  const own = ownColumns(columns);
  const ids = new Set(own.map(({ id }) => id));
  const under = (parent: number): Column[] =>
    own
      .filter((column) => (ids.has(column.parent_id) ? column.parent_id : 0) === parent)
      .sort((a, b) => a.sort - b.sort || a.id - b.id)
      .flatMap((column) => (column.type === "title" ? under(column.id) : [column]));
  return under(0);
}

/** Those of these codes, in their order. */
export const namedColumns = <Column extends { readonly code: string }>(
  columns: readonly Column[],
  codes: readonly string[],
): Column[] => codes.flatMap((code) => columns.find((column) => column.code === code) ?? []);
