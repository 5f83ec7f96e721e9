import { readColumns } from "../catalog/column-rows.js";
import { withIdAlias } from "../catalog/id-alias.js";
import { layerTable } from "../catalog/layer-table.js";
import type { Column, ColumnConstraint } from "../catalog/state.js";
import { busy, Failure, failed, notFound } from "../errors.js";
import type { GeometryKind } from "../geo/wkb.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { longTransaction } from "./cancellable.js";
import { recheckRules, requireSameConstraints } from "./check-constraints.js";
import { type CheckedImport, checkStaged } from "./check-staged.js";
import { canFill, dropFilled, fillTable, replaceTable } from "./filled-table.js";
import { dressLayer } from "./first-look.js";
import type { Imported } from "./import-request.js";
import type { Matched, Matching } from "./match.js";
import { previewOf } from "./preview.js";
import { projectLanguages } from "./project-languages.js";
import {
  dropReserved,
  newColumns,
  registerColumns,
  requireRoom,
  requireSameColumns,
  reserveColumns,
} from "./reserve-columns.js";
import { inUse, lockForRetyping, registerTypes, retypePhysical } from "./retype.js";
import type { StagedImport } from "./staged-import.js";
import { mergeObjects, replaceObjects, type WritePlan, type Written } from "./write.js";

/** Writes a staged file to its layer: checks, new columns, objects, and what the catalogue says of the layer. */

/**
 * Checks the staged rows, adds columns and writes the rows to the layer. If `caller` is in a transaction, everything
 * before the last step runs outside it, because ALTER TABLE would block readers until it ends.
 * @throws Failure import_failed, invalid_geometry, constraint_violated for rows that cannot be imported, with the first
 *   of them in `data.rows`; unknown_column, invalid_value for a key; not_found, forbidden
 */
export async function writeStaged(caller: Database, staged: StagedImport): Promise<Imported> {
  try {
    return await checkAndWrite(caller, staged);
  } catch (error) {
    const failure = asFailure(error);
    if (failure instanceof Failure) throw failure;
    // PostgreSQL tells of a table that is gone in several ways, depending on the statement.
    const columns = await readColumns(caller.apart, staged.target.layerId).catch(() => undefined);
    throw columns?.length === 0 ? notFound("layer of that code") : error;
  }
}

async function checkAndWrite(caller: Database, staged: StagedImport): Promise<Imported> {
  const db = caller.apart;
  const { target, source, file, table, options } = staged;
  const { layerId } = target;
  const existing = await readColumns(db, layerId);
  if (existing.length === 0) throw notFound("layer of that code");
  const checked = await checkStaged(db, staged, {
    columns: withIdAlias(existing, target.idAlias ?? ""),
    languages: { own: target.language, all: target.languages ?? (await projectLanguages(db, layerId)) },
  });
  const { matching, match, highestId, bad, retyped } = checked;
  if (options.mayChangeColumns === false) {
    if (matching.added.length > 0)
      throw new Failure(
        "forbidden",
        undefined,
        "Your rights do not allow new columns, which this file needs.",
      );
    if (retyped.length > 0)
      throw new Failure("forbidden", undefined, "Your rights do not allow other types of columns.");
  }
  if (bad.count > 0 && source.partial !== true) throw bad.failure();
  const wanted = matching.added.map(({ column }) => column);
  const report = (done: Written): Imported => ({
    ...done,
    rows: file.rows,
    vertices: file.vertices,
    ...(file.title === undefined ? {} : { title: file.title }),
    columns: matching.added.map(({ column, field }) => ({ code: column.code, name: field.name })),
    written: writtenCodes(matching),
    retyped: retyped.map(({ code }) => code),
    unmatched: checked.unmatched,
    bad: bad.report(),
    summary: summaryOf(staged, checked, done),
    notes: [...file.notes, ...checked.notes, ...matchNotes(checked)],
  });
  requireRoom(existing, wanted);
  if (source.dryRun) return { ...report(checked.expected), preview: await previewOf(db, staged, matching) };
  const reserved = await newColumns(db, existing, wanted);
  const columns: Matched[] = [
    ...matching.known,
    ...matching.added.map(({ index, field }, place) => ({ index, field, column: reserved[place]! })),
  ];
  const plan: WritePlan = {
    ...{ layerId, staging: table, columns, match, highestId },
    ...{ rows: file.rows, language: target.language },
  };
  const { timeoutMs } = staged;
  const step: WriteStep = {
    ...{ staged, plan, existing, reserved, retyped, report },
    ...{ columns: [...checked.columns, ...reserved], constraints: checked.constraints },
  };
  options.onProgress?.({ phase: "writing", rows: file.rows });
  const filled = await writeNewTable(caller, step);
  if (filled) return filled;
  try {
    await reserveColumns(db, layerId, reserved);
    return await longTransaction(caller, { timeoutMs, signal: options.signal }, async (tx) => {
      const imported = report(await write(tx, step));
      await options.onWritten?.(tx, imported);
      return imported;
    });
  } catch (error) {
    await dropReserved(db, layerId, reserved);
    throw error;
  }
}

/** One that is localised may have a property for each language. */
const writtenCodes = ({ known, added }: Matching): string[] => [
  ...new Set([...known, ...added].map(({ column }) => column.code)),
];

/** What was done, in one sentence. */
function summaryOf({ source, file }: StagedImport, { match }: CheckedImport, done: Written): string {
  const added = `${source.dryRun ? "Would have added" : "Added"} ${done.inserted}`;
  if (source.action === "replace") return `${added}, removed ${done.removed}.`;
  if (match === undefined && file.rows > 0)
    return `${added}, all as new objects: the file has no ids (svc_id).`;
  return `${added}, changed ${done.updated}.`;
}

function matchNotes({ match, matching, retyped }: CheckedImport): string[] {
  const types = retyped.map(({ code, type }) => `The column ${code} is of the type ${type} now.`);
  const ids =
    match && !match.givesIds && matching.idIndex !== undefined
      ? [`The file's svc_id was not used, because objects were matched by ${match.column}.`]
      : [];
  return [...types, ...ids];
}

interface WriteStep {
  readonly staged: StagedImport;
  readonly plan: WritePlan;
  /** Columns that the layer had before the import. */
  readonly existing: readonly Column[];
  /** Physical columns that were added for it. */
  readonly reserved: readonly Column[];
  /** Columns that get another type. */
  readonly retyped: readonly Column[];
  /** All columns, as they are after the import. */
  readonly columns: readonly Column[];
  readonly constraints: readonly ColumnConstraint[];
  readonly report: (done: Written) => Imported;
}

/** In the layer's own table, which nobody can read until all are written. */
const mostRetyped = 20_000;

const tooManyToRetype = ({ code }: Column) =>
  failed(
    "invalid_value",
    `Layers are made from this one, so that with more than ${mostRetyped} objects an import cannot change the type of a column. ` +
      `Change that of ${code} first.`,
    { parameter: "columns", column: code },
  );

/**
 * Writes the objects to a new table for the layer, where that is possible.
 * @returns undefined when it is not: nothing has changed
 */
async function writeNewTable(caller: Database, step: WriteStep): Promise<Imported | undefined> {
  const db = caller.apart;
  const { staged, plan, existing, columns, retyped, constraints } = step;
  const { layerId } = plan;
  const { file, source, timeoutMs, options } = staged;
  const replace = source.action === "replace";
  // Of objects that all come from the file, they were checked.
  const hasRules = !replace && (constraints.length > 0 || existing.some(({ required }) => required));
  // While the types of the layer's own table change, nobody can read it.
  const rows = retyped.length > 0 ? undefined : file.rows;
  const isLong = retyped.length > 0 && file.rows > mostRetyped;
  if (hasRules || !(await canFill(db, plan, replace, rows))) {
    if (isLong) throw tooManyToRetype(retyped[0]!);
    return undefined;
  }
  const limits = { timeoutMs, signal: options.signal };
  try {
    const filled = await fillTable(db, plan, columns, limits);
    return await longTransaction(caller, limits, async (tx) => {
      const removed = await replaceTable(tx, filled, { id: layerId, existing, replace });
      if (removed === undefined && isLong) throw busy(inUse, 5);
      if (removed === undefined) return undefined;
      await requireSameConstraints(tx, layerId, constraints);
      await registerTypes(tx, layerId, retyped);
      await describeLayer(tx, step, false);
      const imported = step.report({ inserted: filled.rows, updated: 0, removed });
      await options.onWritten?.(tx, imported);
      return imported;
    });
  } finally {
    // Until the caller's transaction commits, the new table is locked.
    await caller.afterwards(() => dropFilled(db, plan.staging));
  }
}

/**
 * What the catalogue says of the layer after the import.
 * @param mixed whether objects from before the import remain
 */
async function describeLayer(tx: Queryable, step: WriteStep, mixed: boolean): Promise<void> {
  const { layerId } = step.plan;
  await registerColumns(tx, layerId, step.reserved);
  if (step.staged.file.vertices > 0) await updateGeometryKind(tx, step, mixed);
  // The import may run outside a node: nodes then update the search indexes.
  await tx.query("select pg_notify('mapwright', 'S')");
}

/**
 * Rows of the catalogue are written last, so that other writers of the map wait for a short time only; but for types, which are
 * changed as `changeStructure` has it: the map's row, the catalogue, whose triggers drop indexes, and the table.
 */
async function write(tx: Queryable, step: WriteStep): Promise<Written> {
  const { staged, plan, existing, columns, retyped, constraints } = step;
  const { layerId } = plan;
  const table = layerTable(layerId);
  // A synchronized scan could start in the middle of the staging table and change the order of the objects.
  await tx.execute("set local synchronize_seqscans = off");
  await lockForRetyping(tx, layerId, retyped);
  // Without that objects can still be edited, but the table's structure cannot be changed.
  await tx.execute(`lock table ${table} in row exclusive mode`);
  await requireSameColumns(tx, layerId, existing);
  await registerTypes(tx, layerId, retyped);
  const [before] = await tx.query<{ occupied: boolean }>(
    `select exists (select 1 from ${table}) as occupied`,
  );
  const replace = staged.source.action === "replace";
  const retype = () => retypePhysical(tx, layerId, retyped);
  const written = replace ? await replaceObjects(tx, plan, retype) : await mergeObjects(tx, plan);
  const match = replace ? undefined : plan.match;
  await recheckRules(tx, { ...plan, match, existing: columns, constraints });
  await tx.execute(`analyze ${table}`);
  await tx.query("select generalize_layer($1)", [layerId]);
  await tx.query("select note_crowds($1)", [layerId]);
  await describeLayer(tx, step, !replace && before!.occupied);
  return written;
}

/** Sets the geometry kind that fits the layer's objects after the import, and the default style that suits them. */
async function updateGeometryKind(
  tx: Queryable,
  { staged, plan: { layerId }, columns }: WriteStep,
  mixed: boolean,
): Promise<void> {
  const { geometryKind, rows } = staged.file;
  const [layer] = await tx.query<{ kind: GeometryKind; occupied: boolean }>(
    `select geometry_kind as kind, $2 and exists (select 1 from ${layerTable(layerId)} where geom is not null) as occupied
     from layer where id = $1`,
    [layerId, mixed],
  );
  if (!layer) throw notFound("layer of that code");
  const kind = layer.occupied && layer.kind !== geometryKind ? "Unknown" : geometryKind;
  if (kind === layer.kind && mixed) return;
  if (kind !== layer.kind)
    await tx.execute("update layer set geometry_kind = $2 where id = $1", [layerId, kind]);
  await dressLayer(tx, { layerId, columns, rows, before: layer.kind, kind });
}

/** Translates PostgreSQL errors that the file causes. */
function asFailure(error: unknown): unknown {
  if (error instanceof Failure) return error;
  switch ((error as { code?: string }).code) {
    case "54000": // program_limit_exceeded: a row, or an index entry, is larger than a page
      return failed("import_failed", "A feature has more data than one object can hold.");
    case "23505": // unique_violation: an object with the id was created while the import ran
      return failed("import_failed", "An object with one of the file's ids was created during the import.");
    case "22P02": // invalid_text_representation
    case "22003": // numeric_value_out_of_range
    case "22007": // invalid_datetime_format
    case "22008": // datetime_field_overflow
    case "22P05": // untranslatable_character
      return failed("import_failed", "A value of the file does not fit its column.");
    default:
      return error;
  }
}
