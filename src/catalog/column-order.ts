import { failed } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";

/** Order of a layer's columns. Title columns are parents of other columns; `sort` is the position within the parent. */

/** Sorts columns depth first: each title is followed by its columns. Siblings keep their order. */
export function columnsInOrder<Column extends { readonly id: number; readonly parentId: number | null }>(
  columns: readonly Column[],
): Column[] {
  if (columns.every((column) => column.parentId === null)) return [...columns];
  const children = new Map<number | null, Column[]>();
  for (const column of columns) {
    const siblings = children.get(column.parentId) ?? [];
    children.set(column.parentId, siblings);
    siblings.push(column);
  }
  const ordered: Column[] = [];
  const stack = (children.get(null) ?? []).reverse();
  for (let column = stack.pop(); column; column = stack.pop()) {
    ordered.push(column);
    const below = children.get(column.id) ?? [];
    for (let i = below.length - 1; i >= 0; i--) stack.push(below[i]!);
  }
  return ordered;
}

/**
 * Checks the parent of a column in a request.
 * @param parentId id of a title column; 0 = top level
 * @param columnId the column that is moved: it cannot be moved below itself
 * @returns the value of `layer_column.parent_id`
 * @throws Failure invalid_value
 */
export async function checkTitle(
  tx: Queryable,
  layerId: number,
  parentId: number,
  columnId?: number,
): Promise<number | null> {
  if (parentId === 0) return null;
  const [row] = await tx.query<{ own: boolean }>(
    `with recursive up as (
       select id, parent_id from layer_column where id = $2 and layer_id = $1 and type = 'title'
       union select c.id, c.parent_id from layer_column c join up on c.id = up.parent_id)
     select bool_or(id = $3) as own from up having count(*) > 0`,
    [layerId, parentId, columnId ?? 0],
  );
  if (row && !row.own) return parentId;
  throw failed("invalid_value", "parent_id must be 0 or the id of a title column of this layer.", {
    parameter: "parent_id",
  });
}

/** A column with its parent (null = top level). */
interface Placed {
  readonly id: number;
  readonly parentId: number | null;
}

/**
 * Moves a column to position `sort` among its parent's columns and renumbers them 1..n; undefined = last. An integer is
 * the position afterwards; a fraction is a position between the current sort values of the others.
 */
export async function placeColumn(
  tx: Queryable,
  layerId: number,
  column: Placed,
  sort: number | undefined,
): Promise<void> {
  const others = await tx.query<{ id: number; sort: number }>(
    `select id, sort from layer_column where layer_id = $1 and parent_id is not distinct from $2 and id <> $3
     order by sort, id`,
    [layerId, column.parentId, column.id],
  );
  const order = others.map((other) => other.id);
  const found =
    sort === undefined
      ? -1
      : others.findIndex((other, i) => (Number.isInteger(sort) ? i + 1 : other.sort) >= sort);
  order.splice(found === -1 ? order.length : found, 0, column.id);
  await renumber(tx, order);
}

/** Moves the columns under a title to the end of the top level. */
export async function moveToTopLevel(tx: Queryable, layerId: number, titleId: number): Promise<void> {
  await tx.execute(
    `update layer_column c set parent_id = null, sort = last.sort + held.place
     from (select id, row_number() over (order by sort, id) as place from layer_column where parent_id = $2) held,
       (select coalesce(max(sort), 0) as sort from layer_column where layer_id = $1 and parent_id is null) last
     where c.id = held.id`,
    [layerId, titleId],
  );
}

/** Renumbers a parent's columns 1..n in their order (null = top level). */
export async function renumberColumns(
  tx: Queryable,
  layerId: number,
  parentId: number | null,
): Promise<void> {
  const rows = await tx.query<{ id: number }>(
    "select id from layer_column where layer_id = $1 and parent_id is not distinct from $2 order by sort, id",
    [layerId, parentId],
  );
  await renumber(
    tx,
    rows.map((row) => row.id),
  );
}

async function renumber(tx: Queryable, order: readonly number[]): Promise<void> {
  await tx.execute(
    `update layer_column set sort = wanted.place
     from unnest($1::int[]) with ordinality wanted (id, place) where layer_column.id = wanted.id and sort <> place`,
    [order],
  );
}
