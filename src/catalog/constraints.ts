import { definitionOf, hasValues, isText } from "../column-types/column-types.js";
import { plainFromJsonb } from "../column-types/conversion.js";
import { failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { layerTable } from "./layer-table.js";
import { canCompile, isLinearTimePattern, patternTimeoutMs, wholeValue } from "./regular-expression.js";
import { type Column, type ColumnConstraint, type ConstraintType, isId, type LayerNode } from "./state.js";
import { lockMap } from "./tree.js";

/** Constraints of columns: how they are stored, and SQL that finds values which violate them. */

/** A constraint that was checked. */
export interface NewConstraint {
  readonly type: ConstraintType;
  readonly name: string;
  readonly columns: readonly Column[];
  readonly definition: readonly unknown[];
}

/** Whether a column can have a constraint of the type. */
export function fitsConstraint(type: ConstraintType, column: Pick<Column, "type" | "physical">): boolean {
  if (isId(column) || !hasValues(column)) return false;
  const { isComparable, isText, measure } = definitionOf(column);
  return { enum: isComparable, range: measure !== undefined, pattern: isText }[type];
}

/**
 * Replaces all constraints of the layer.
 * @throws Failure not_found when the map or layer was deleted; invalid_value when a column was deleted or a pattern is
 *   invalid
 */
export function replaceConstraints(
  db: Database,
  { mapId, layerId }: { readonly mapId: number; readonly layerId: number },
  constraints: readonly NewConstraint[],
): Promise<void> {
  return db.transaction(async (tx) => {
    // The map's row is locked first, as in deletions of the layer, to avoid deadlocks.
    await lockMap(tx, mapId);
    const layers = await tx.query("select from layer where id = $1", [layerId]);
    if (layers.length === 0) throw notFound("layer of that code");
    await tx.execute(`set local statement_timeout = ${patternTimeoutMs}`);
    for (const { type, definition, name } of constraints) {
      if (type !== "pattern") continue;
      const expression = String(definition[0]);
      // Filters have the same limits, and one selects the objects that violate the constraint.
      if (isLinearTimePattern(expression) && (await canCompile(tx, [expression]))) continue;
      throw failed("invalid_value", `The regular expression of the constraint "${name}" cannot be used.`, {
        parameter: "definition",
      });
    }
    // Two megabytes of definitions are written, and noted in the history.
    await tx.execute("set local statement_timeout to default");
    const columns = new Map(constraints.flatMap((constraint) => constraint.columns).map((c) => [c.id, c]));
    const found = await tx.query<{ id: number; type: Column["type"] }>(
      "select id, type from layer_column where layer_id = $1 and id = any($2) for key share",
      [layerId, [...columns.keys()]],
    );
    const same = found.filter(({ id, type }) => columns.get(id)?.type === type);
    if (same.length < columns.size) throw failed("invalid_value", "The layer's columns were just changed.");
    await tx.execute("delete from column_constraint where layer_id = $1", [layerId]);
    await tx.execute(
      `insert into column_constraint (layer_id, type, name, column_ids, definition, sort)
       select $1, c->>'type', c->>'name', array(select jsonb_array_elements_text(c->'columns')::int), c->'definition',
         place from jsonb_array_elements($2::jsonb) with ordinality list (c, place)`,
      [layerId, JSON.stringify(constraints.map((c) => ({ ...c, columns: c.columns.map(({ id }) => id) })))],
    );
  });
}

/**
 * Checks that a column's constraints fit its new type.
 * @throws Failure invalid_value with data.constraint
 */
export async function checkConstraintsFit(
  tx: Queryable,
  layerId: number,
  column: Pick<Column, "id" | "type" | "physical">,
): Promise<void> {
  const rows = await tx.query<{ type: ConstraintType; name: string; definition: unknown[] }>(
    "select type, name, definition from column_constraint where layer_id = $1 and $2 = any(column_ids)",
    [layerId, column.id],
  );
  for (const { type, name, definition } of rows) {
    if (fitsStored({ type, definition }, column)) continue;
    throw failed("invalid_value", `The constraint "${name}" of this column is not for the new type.`, {
      parameter: "type",
      constraint: name,
    });
  }
}

/** Whether a column can have a constraint as it was stored, maybe for another type that the column had then. */
export const fitsStored = (
  { type, definition }: Pick<ColumnConstraint, "type" | "definition">,
  column: Pick<Column, "type" | "physical">,
): boolean => fitsConstraint(type, column) && definition.every((value) => isValueOf(column, value));

/** Whether a value of a stored definition is, as it is, a value of the column's type. */
function isValueOf(column: Pick<Column, "type">, value: unknown): boolean {
  if (value === null) return true;
  const read = definitionOf(column).read(value);
  return read.ok && read.json === value;
}

/** Removes a column from constraints, and deletes those without any other column. */
export async function removeFromConstraints(tx: Queryable, layerId: number, columnId: number): Promise<void> {
  await tx.execute(
    "update column_constraint set column_ids = array_remove(column_ids, $2) where layer_id = $1 and $2 = any(column_ids)",
    [layerId, columnId],
  );
  await tx.execute("delete from column_constraint where layer_id = $1 and column_ids = '{}'", [layerId]);
}

/** The columns of the constraint. */
export const constrainedColumns = (
  layer: Pick<LayerNode, "columns">,
  constraint: ColumnConstraint,
): Column[] => layer.columns.filter((column) => constraint.columnIds.includes(column.id));

/**
 * SQL of whether a value violates the constraint. Null and empty text never do.
 * @param value SQL of a value (not localised) of the column's type
 * @param bind adds a parameter and returns its placeholder
 */
export function violates(
  constraint: Pick<ColumnConstraint, "type" | "definition">,
  column: Column,
  value: string,
  bind: (value: unknown) => string,
): string {
  const { sqlType, isText } = definitionOf(column);
  const filled = isText ? `${value} <> ''` : `${value} is not null`;
  const { definition } = constraint;
  const term = (limit: unknown) => `${bind(String(limit))}::text::${sqlType}`;
  switch (constraint.type) {
    case "enum":
      return `coalesce(${filled} and not (${value} = any(${bind(definition.map(String))}::text[]::${sqlType}[])), false)`;
    case "range": {
      const [min, max] = definition;
      const outside = [
        ...(min === null ? [] : [`${value} < ${term(min)}`]),
        ...(max === null ? [] : [`${value} > ${term(max)}`]),
      ];
      return `coalesce(${outside.join(" or ") || "false"}, false)`;
    }
    case "pattern":
      return `coalesce(${filled} and not (${value} ~ ${bind(wholeValue(String(definition[0])))}::text), false)`;
  }
}

/** As `violates`, for the column of a row `t` of the layer's table; a localised value violates it in any language. */
export function rowViolates(
  constraint: Pick<ColumnConstraint, "type" | "definition">,
  column: Column,
  bind: (value: unknown) => string,
): string {
  if (!column.localizedValue) return violates(constraint, column, `t.${column.physical}`, bind);
  const plain = `(${plainFromJsonb(column.type, "e.value")})`;
  return (
    `exists (select 1 from jsonb_each(case when jsonb_typeof(t.${column.physical}) = 'object' then t.${column.physical} end) e ` +
    `where ${violates(constraint, column, plain, bind)})`
  );
}

/**
 * A filter (features/filter-parser.ts) that selects the objects which violate the constraint. Of localised values, filters
 * only see the main language, whereas constraints apply to all languages.
 */
export function violationsFilter(constraint: ColumnConstraint, columns: readonly Column[]): string {
  const terms = columns.map((column) => filterOf(constraint, column));
  return terms.length > 1 ? terms.map((term) => `(${term})`).join(" or ") : (terms[0] ?? "");
}

/** Keywords of the filter language; column codes that equal one are quoted. */
const filterKeywords = /^(?:and|or|not|in|like|is|null|true|false|matches)$/i;

function filterOf({ type, definition }: ColumnConstraint, column: Column): string {
  const name = filterKeywords.test(column.code) ? `"${column.code}"` : column.code;
  const filled = isText(column) ? `${name} <> '' and ` : "";
  switch (type) {
    case "enum":
      return `${filled}${name} not in (${definition.map(literal).join(", ")})`;
    case "range": {
      const [min, max] = definition;
      const terms = [
        ...(min === null ? [] : [`${name} < ${literal(min)}`]),
        ...(max === null ? [] : [`${name} > ${literal(max)}`]),
      ];
      return terms.join(" or ");
    }
    case "pattern":
      return `${filled}not ${name} matches ${literal(definition[0])}`;
  }
}

const literal = (value: unknown): string =>
  typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);

/** Timeout for checking all constraints of a layer. */
const validationTimeoutMs = 10_000;

/**
 * Checks which constraints hold for all objects of a layer. A check that times out counts as false, and so does one of a
 * pattern that cannot be used. It may take long, so that no transaction is to be open meanwhile.
 * @param signal ends it
 */
export async function validated(
  db: Database,
  layer: Pick<LayerNode, "id">,
  constraints: readonly Omit<NewConstraint, "name">[],
  signal: AbortSignal,
): Promise<readonly boolean[]> {
  const valid: boolean[] = [];
  const until = performance.now() + validationTimeoutMs;
  for (const constraint of constraints)
    valid.push(
      await isValid(db, layer, constraint, { signal, timeoutMs: Math.max(1, until - performance.now()) }),
    );
  return valid;
}

/** SQLSTATEs of a check that took too long (query_canceled), and of a pattern that is none. */
const unchecked = new Set(["57014", "2201B"]);

async function isValid(
  db: Database,
  layer: Pick<LayerNode, "id">,
  constraint: Omit<NewConstraint, "name">,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<boolean> {
  const { type, columns, definition } = constraint;
  if (type === "pattern" && !isLinearTimePattern(String(definition[0]))) return false;
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const conditions = columns.map((column) => rowViolates(constraint, column, bind));
  const text = `select exists (select 1 from ${layerTable(layer.id)} t where ${conditions.join(" or ")}) as violated`;
  try {
    const [row] = await db.apart.query<{ violated: boolean }>(text, values, options);
    return !row!.violated;
  } catch (error) {
    options.signal.throwIfAborted();
    if (!unchecked.has(String((error as { code?: unknown }).code))) throw error;
    return false;
  }
}
