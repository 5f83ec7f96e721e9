import { constrainedColumns, violates } from "../catalog/constraints.js";
import { patternTimeoutMs } from "../catalog/regular-expression.js";
import type { Column, ColumnConstraint, LayerNode } from "../catalog/state.js";
import { definitionOf } from "../column-types/column-types.js";
import { failed } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import type { Assignment } from "./fields.js";
import { Values } from "./sql.js";
import { boundType } from "./values.js";

/** Checks column constraints when an object is saved. */

interface Check {
  readonly constraint: ColumnConstraint;
  readonly column: Column;
  readonly sql: string;
}

/**
 * Checks new values against the layer's constraints. PostgreSQL evaluates them, so that saving, importing and `validated`
 * use the same SQL.
 * @throws Failure constraint_violated (data.columns = code → reason)
 */
export async function enforceConstraints(
  db: Database,
  layer: LayerNode,
  assignments: readonly Assignment[],
): Promise<void> {
  const constraints = layer.constraints ?? [];
  if (constraints.length === 0) return;
  const values = new Values();
  const checks = constraints.flatMap((constraint) => checksOf(constraint, layer, assignments, values));
  if (checks.length === 0) return;
  const text = `select array[${checks.map(({ sql }) => sql).join(",")}] as violated`;
  const violated = checks.some(({ constraint }) => constraint.type === "pattern")
    ? await boundedQuery(db, text, values.list)
    : (await db.query<{ violated: boolean[] }>(text, values.list))[0]!.violated;
  const columns: Record<string, string> = Object.create(null);
  checks.forEach(({ constraint, column }, i) => {
    if (violated[i]) columns[column.code] ??= reasonOf(constraint);
  });
  if (Object.keys(columns).length > 0) {
    throw failed("constraint_violated", "Some values are not allowed.", { columns });
  }
}

function checksOf(
  constraint: ColumnConstraint,
  layer: LayerNode,
  assignments: readonly Assignment[],
  values: Values,
): Check[] {
  const columns = new Set(constrainedColumns(layer, constraint));
  return assignments.flatMap((assignment) => {
    const { column } = assignment;
    if (!columns.has(column)) return [];
    return newValues(assignment).map((value) => {
      const placeholder = `${values.bind(value)}::${boundType({ ...column, localizedValue: false })}`;
      return { constraint, column, sql: violates(constraint, column, placeholder, (v) => values.bind(v)) };
    });
  });
}

/** The new values of an assignment, of all languages, without nulls. */
function newValues(assignment: Assignment): unknown[] {
  const given =
    assignment.kind === "set"
      ? [assignment.bound]
      : assignment.kind === "replace"
        ? Object.values(assignment.texts)
        : [assignment.value];
  return given.filter((value) => value !== null);
}

/** New values of a column of many objects. */
export interface BulkValues {
  readonly column: Column;
  readonly kind: Assignment["kind"];
  /** SQL of an array of their texts: of one value, or (of localised columns) of JSON. */
  readonly list: (values: Values) => string;
}

export interface Violation {
  /** Place of the value among those of its column, from 0. */
  readonly place: number;
  readonly column: Column;
  readonly reason: string;
}

/** More of one constraint are not looked for. */
const mostViolations = 20;

/**
 * Values of many objects that the layer's constraints do not allow.
 * @throws Failure constraint_violated when a regular expression takes too long
 */
export async function violating(
  tx: Queryable,
  layer: LayerNode,
  given: readonly BulkValues[],
): Promise<readonly Violation[]> {
  const found: Violation[] = [];
  for (const constraint of layer.constraints ?? []) {
    const columns = new Set(constrainedColumns(layer, constraint));
    for (const { column, kind, list } of given) {
      if (!columns.has(column)) continue;
      const values = new Values();
      const rows = `unnest(${list(values)}) with ordinality v(t,n)`;
      const { fromJsonb } = definitionOf(column);
      const [from, value] =
        kind === "set"
          ? [rows, `v.t::${boundType(column)}`]
          : kind === "merge"
            ? [rows, fromJsonb("v.t::jsonb")]
            : [`${rows}, jsonb_each(v.t::jsonb) e`, fromJsonb("e.value")];
      const condition = violates(constraint, column, `(${value})`, (one) => values.bind(one));
      const text = `select distinct v.n - 1 as place from ${from} where ${condition} order by 1 limit ${mostViolations}`;
      const places =
        constraint.type === "pattern"
          ? await bounded(() => boundedIn<{ place: number }>(tx, text, values.list))
          : await tx.query<{ place: number }>(text, values.list);
      for (const { place } of places) found.push({ place, column, reason: reasonOf(constraint) });
    }
  }
  return found;
}

/** Runs a query of a transaction with a short statement timeout. */
async function boundedIn<Row extends object>(
  tx: Queryable,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  await tx.execute(`set local statement_timeout = ${patternTimeoutMs}`);
  const rows = await tx.query<Row>(text, values);
  await tx.execute("set local statement_timeout to default");
  return rows;
}

/** Runs a query with a short statement timeout: some regular expressions never finish. */
function boundedQuery(db: Database, text: string, values: readonly unknown[]): Promise<boolean[]> {
  return bounded(() =>
    db.transaction(async (tx) => {
      await tx.execute(`set local statement_timeout = ${patternTimeoutMs}`);
      return (await tx.query<{ violated: boolean[] }>(text, values))[0]!.violated;
    }),
  );
}

async function bounded<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    // 57014 query_canceled
    if ((error as { code?: string }).code !== "57014") throw error;
    throw failed("constraint_violated", "A regular expression took too long over these values.", {
      columns: {},
    });
  }
}

/** Message for a value that violates a constraint. */
export const reasonOf = ({ type, name }: ColumnConstraint): string => {
  const reason = {
    enum: "This is none of the allowed values",
    range: "This is beyond the allowed range",
    pattern: "This does not have the required form",
  }[type];
  return name ? `${reason} (${name}).` : `${reason}.`;
};
