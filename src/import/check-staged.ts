import { checkConstraintsFit } from "../catalog/constraints.js";
import { requireUnused } from "../catalog/derived.js";
import { layerTable } from "../catalog/layer-table.js";
import { type Column, type ColumnConstraint, isId } from "../catalog/state.js";
import { failed } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { BadRows, reportedRows } from "./bad-rows.js";
import { longTransaction } from "./cancellable.js";
import { type Checking, checkFiles, checkIds, checkKey, checkRows } from "./check.js";
import { checkRules, readConstraints } from "./check-constraints.js";
import { chooseFields } from "./choose-fields.js";
import type { Imported } from "./import-request.js";
import { type ImportLanguages, matchFields } from "./match.js";
import { keyColumn, matchById, matchByKey, type ObjectMatch, stagedRows } from "./object-match.js";
import { type Retyping, retypeMatched } from "./retype.js";
import type { StagedImport } from "./staged-import.js";
import { isNewSql } from "./write.js";

/** Checks the staged rows of an import, and finds out what it will do. */

export interface CheckedImport extends Retyping {
  /** Which objects the rows name; undefined = none, each row is a new object. */
  readonly match: ObjectMatch | undefined;
  readonly highestId: number;
  /** As they were at the time of the check. */
  readonly constraints: readonly ColumnConstraint[];
  readonly bad: BadRows;
  readonly unmatched: Imported["unmatched"];
  /** Sentences on the choice of columns. */
  readonly notes: readonly string[];
  /** What the write would do. */
  readonly expected: Pick<Imported, "inserted" | "updated" | "removed">;
}

/** The layer as the import finds it. */
export interface FoundLayer {
  readonly columns: readonly Column[];
  readonly languages: ImportLanguages;
}

/**
 * Deletes bad rows from the staging table and reports them. Everything else stays as it is.
 * @throws Failure unknown_column, invalid_value, import_failed for a key that cannot be used
 */
export async function checkStaged(
  db: Database,
  staged: StagedImport,
  layer: FoundLayer,
): Promise<CheckedImport> {
  const { target, source, file, table, options } = staged;
  const { layerId } = target;
  const isMerge = source.action === "merge";
  const key = isMerge && source.key ? keyColumn(layer.columns, source.key) : undefined;
  const limits = { timeoutMs: staged.timeoutMs, signal: options.signal };
  const { fields, notes } = source.columns
    ? await longTransaction(db, limits, (tx) => chooseFields(tx, table, file.fields, source.columns!))
    : { fields: file.fields, notes: [] };
  const { matching, columns, retyped } = retypeMatched(
    matchFields(fields, layer.columns, layer.languages),
    layer.columns,
    source.action,
  );
  const byId = key === undefined || isId(key);
  const keyed = byId ? undefined : matching.known.find(({ column }) => column.id === key.id);
  if (key && !keyed && !(byId && matching.idIndex !== undefined))
    throw failed("import_failed", `The file has no values for the key ${source.key}.`, {
      column: source.key,
    });
  const bad = new BadRows(file.bad);
  return longTransaction(db, limits, async (tx) => {
    for (const column of retyped) {
      await requireUnused(tx, layerId, column.physical);
      await checkConstraintsFit(tx, layerId, column);
    }
    const checking: Checking = { tx, staging: table, bad };
    const idIndex = keyed ? undefined : matching.idIndex;
    await checkRows(checking, [...matching.known, ...matching.added], idIndex);
    const highestId = idIndex === undefined ? 0 : await checkIds(checking, idIndex);
    let match: ObjectMatch | undefined;
    if (keyed) {
      match = matchByKey(table, layerId, keyed);
      await checkKey(checking, match, { layerId, physical: keyed.column.physical });
    } else if (idIndex !== undefined) match = matchById(table, idIndex);
    await checkFiles(checking, { layerId, columns: matching.known, match });
    const constraints = await readConstraints(tx, layerId);
    await checkRules(checking, {
      layerId,
      existing: columns,
      constraints,
      columns: matching.known,
      match: isMerge ? match : undefined,
      language: target.language,
    });
    const unmatched = isMerge && match ? await findUnmatched(tx, match, layerId) : { count: 0, first: [] };
    const expected = await expect(tx, staged, match, unmatched.count);
    const found = { match, highestId, constraints, bad, unmatched, expected };
    return { matching, columns, retyped, notes, ...found };
  });
}

/** Rows that name an object which the layer does not have. */
async function findUnmatched(
  tx: Queryable,
  match: ObjectMatch,
  layerId: number,
): Promise<Imported["unmatched"]> {
  const rows = await tx.query<{ name: string; total: number }>(
    `select left(${match.name}, 80) as name, count(*) over () as total from ${match.from}
     where ${match.given} is not null and ${isNewSql(match, layerId)} order by s.row limit ${reportedRows}`,
  );
  return { count: rows[0]?.total ?? 0, first: rows.map(({ name }) => name) };
}

/** Counted only for a dry run: a write counts itself. */
async function expect(
  tx: Queryable,
  { source, table, target }: StagedImport,
  match: ObjectMatch | undefined,
  unmatched: number,
): Promise<CheckedImport["expected"]> {
  if (!source.dryRun) return { inserted: 0, updated: 0, removed: 0 };
  const [counts] = await tx.query<{ rows: number; named: number; objects: number }>(
    `select count(*) as rows, count(${match?.given ?? "null"}) as named,
       (select count(*) from ${layerTable(target.layerId)}) as objects
     from ${match?.from ?? stagedRows(table)}`,
  );
  const { rows, named, objects } = counts!;
  if (source.action === "replace") return { inserted: rows, updated: 0, removed: objects };
  const updated = named - unmatched;
  return { inserted: rows - updated, updated, removed: 0 };
}
