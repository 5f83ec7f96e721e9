import { constrainedColumns, rowViolates } from "../catalog/constraints.js";
import { layerTable } from "../catalog/layer-table.js";
import { emptySql, mustBeFilled } from "../catalog/required.js";
import { type Column, type ColumnConstraint, isId } from "../catalog/state.js";
import { hasValues, isValueType, physicalType } from "../column-types/column-types.js";
import { failed } from "../errors.js";
import { reasonOf } from "../features/check-constraints.js";
import type { Queryable } from "../storage/postgres.js";
import { type Checking, takeOut } from "./check.js";
import { stagedRows } from "./object-match.js";
import { type Assigned, assignedSql, bindLanguages, byColumn } from "./write.js";

/** Required columns and constraints of the layer, for the objects that an import makes or changes. */

/** A rule that every object must keep. */
interface Rule {
  readonly column: Column;
  /** undefined = the column must be filled. */
  readonly constraint: ColumnConstraint | undefined;
  /** SQL that is true for a row `t` of the layer's table that breaks it. */
  readonly broken: string;
}

/** The rules of a layer, and the values that their SQL binds. */
function rulesOf(
  columns: readonly Column[],
  constraints: readonly ColumnConstraint[],
  values: unknown[],
): Rule[] {
  const bind = (value: unknown) => `$${values.push(value)}`;
  const required = columns
    .filter((column) => column.required && canBeEmpty(column))
    .map((column) => ({ column, constraint: undefined, broken: emptySql(column, `t.${column.physical}`) }));
  const constrained = constraints.flatMap((constraint) =>
    constrainedColumns({ columns }, constraint).map((column) => ({
      column,
      constraint,
      broken: rowViolates(constraint, column, bind),
    })),
  );
  return [...required, ...constrained];
}

/** Title columns have no values, and the object id is never empty. */
const canBeEmpty = (column: Column): boolean => column.type !== "title" && !isId(column);

const reasonFor = ({ constraint }: Rule): string => (constraint ? reasonOf(constraint) : mustBeFilled);
const codeFor = ({ constraint }: Rule) => (constraint ? "constraint_violated" : "import_failed");

/** What an import would write, and the layer's own columns and constraints. */
export interface Candidates extends Assigned {
  /** undefined = a new layer. */
  readonly layerId: number | undefined;
  readonly existing: readonly Column[];
  readonly constraints: readonly ColumnConstraint[];
}

/** Takes out rows whose objects would break a rule: new ones by the row's values, others by those that they would have then. */
export async function checkRules(checking: Checking, candidates: Candidates): Promise<void> {
  const { layerId, match, existing, constraints } = candidates;
  const values: unknown[] = [];
  const rules = rulesOf(existing, constraints, values);
  if (rules.length === 0) return;
  const language = bindLanguages(values, candidates.language);
  const assigned = byColumn(candidates.columns);
  const isMerge = match !== undefined && layerId !== undefined;
  const results = [...new Set(rules.map(({ column }) => column))].map((column) => {
    const properties = assigned.get(column.id);
    const old = isMerge ? `t.${column.physical}` : nullOf(column);
    if (column.type === "geom") return `${isMerge ? assignedSql.geometry : "s.geom"} as ${column.physical}`;
    if (!properties) return `${old} as ${column.physical}`;
    const value = isMerge
      ? assignedSql.changed(column, properties, language)
      : assignedSql.added(properties, language);
    return `${value} as ${column.physical}`;
  });
  const objects = isMerge
    ? `${match.from} left join ${layerTable(layerId)} t on t.svc_id = ${match.id}`
    : stagedRows(checking.staging);
  const cases = rules.map(({ broken }, test) => `when ${broken} then ${test}`);
  const select = `select row, test, null as value
    from (select t.row, case ${cases.join(" ")} end as test
      from (select s.row, ${results.join(", ")} from ${objects} offset 0) t offset 0) tested
    where test is not null`;
  await takeOut(checking, {
    select,
    values,
    tests: rules.map((rule) => ({
      code: codeFor(rule),
      reason: () => `its value for column ${rule.column.code} is not allowed. ${reasonFor(rule)}`,
      data: () => ({ columns: { [rule.column.code]: reasonFor(rule) }, column: rule.column.code }),
    })),
  });
}

const nullOf = (column: Column): string =>
  hasValues(column) && isValueType(column.type)
    ? `null::${physicalType(column.type, column.localizedValue)}`
    : "null::geometry";

/** @throws Failure import_failed when the constraints are no longer those */
export async function requireSameConstraints(
  tx: Queryable,
  layerId: number,
  constraints: readonly ColumnConstraint[],
): Promise<void> {
  if (JSON.stringify(await readConstraints(tx, layerId)) !== JSON.stringify(constraints))
    throw failed("import_failed", "The layer's constraints were changed during the import.");
}

/**
 * Checks the rules again for the objects that a merge has changed, within its transaction: others may have edited them, or
 * changed the constraints, after `checkRules`.
 * @throws Failure import_failed, constraint_violated with `data.columns` = code → reason
 */
export async function recheckRules(
  tx: Queryable,
  { layerId, match, existing, constraints }: Candidates & { readonly layerId: number },
): Promise<void> {
  await requireSameConstraints(tx, layerId, constraints);
  const values: unknown[] = [];
  const rules = rulesOf(existing, constraints, values);
  if (rules.length === 0 || match === undefined) return;
  const [bad] = await tx.query<{ id: number; test: number }>(
    `select id, test from (
       select t.svc_id as id, case ${rules.map(({ broken }, test) => `when ${broken} then ${test}`).join(" ")} end as test
       from ${layerTable(layerId)} t where t.svc_id in (select ${match.id} from ${match.from}) offset 0) tested
     where test is not null limit 1`,
    values,
  );
  if (!bad) return;
  const rule = rules[bad.test]!;
  const { code } = rule.column;
  throw failed(
    codeFor(rule),
    `The object ${bad.id} was edited during the import: its value for column ${code} is not allowed. ${reasonFor(rule)}`,
    { columns: { [code]: reasonFor(rule) }, column: code },
  );
}

export const readConstraints = (db: Queryable, layerId: number): Promise<ColumnConstraint[]> =>
  db.query<ColumnConstraint>(
    `select id, type, name, column_ids as "columnIds", definition from column_constraint where layer_id = $1 order by sort`,
    [layerId],
  );
