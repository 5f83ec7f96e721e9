import { readColumns } from "../catalog/column-rows.js";
import { withIdAlias } from "../catalog/id-alias.js";
import { layerTable } from "../catalog/layer-table.js";
import type { Column } from "../catalog/state.js";
import { Failure, failed, notFound } from "../errors.js";
import type { GeometryKind } from "../geo/wkb.js";
import type { ImportResponse } from "../hosts/messages.js";
import type { TransferHost } from "../hosts/transfer.js";
import type { Log } from "../log.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { defaultStyle } from "../style/default-style.js";
import { checkFiles, checkIds, checkCoordinates, checkValues } from "./check.js";
import { dropReserved, registerColumns, reserveColumns } from "./columns.js";
import { enforceOnImport } from "./enforce.js";
import { type Matched, matchFields } from "./match.js";
import { lockStaging, type StagingLock } from "./staging.js";
import { mergeObjects, replaceObjects, type WritePlan, type Written } from "./write.js";

/** A file of geodata into a layer: wholly, or not at all. */

export interface ImportDependencies {
  readonly db: Database;
  readonly transfer: Pick<TransferHost, "import">;
  readonly log: Log;
}

export interface ImportTarget {
  readonly layerId: number;
  /** Language of values of localised columns, where the file's properties do not name it. */
  readonly language: string;
  /** Another name of svc_id; absent = none. */
  readonly idAlias?: string;
}

export interface ImportSource {
  /** A file with a name that we made. */
  readonly path: string;
  /** Lower-case extension without a dot, which tells the format. */
  readonly extension: string;
  /** EPSG number, WKT or proj4; absent = the file's own, else EPSG:4326. */
  readonly srs?: string | undefined;
  readonly action: "replace" | "merge";
}

export interface ImportOptions {
  /** Columns are added only if this is true; else properties without a column fail the import. Default: true. */
  readonly mayAddColumns?: boolean;
  /** Called when the file was read without errors, with the number of its features. */
  readonly onStaged?: (rows: number) => void;
  /** Takes a file that has not begun out of the queue of the transfer host. */
  readonly signal?: AbortSignal;
}

export interface Imported extends Written {
  /** Features of the file. */
  readonly rows: number;
  readonly vertices: number;
  /** Codes of the columns that the layer got. */
  readonly added: readonly string[];
  /** What was left out of the data, in sentences. */
  readonly notes: readonly string[];
}

type Staged = Extract<ImportResponse, { ok: true }>;

/**
 * Reads the file in the transfer host and writes its features to the layer in one transaction, during which the
 * layer is read as it was. Whatever fails leaves the layer as it was.
 * @throws Failure import_failed, unsupported_format, invalid_geometry, no_georeference, constraint_violated; not_found
 *   when the layer is gone; forbidden when columns would have to be added and may not
 */
export async function importIntoLayer(
  deps: ImportDependencies,
  target: ImportTarget,
  source: ImportSource,
  options: ImportOptions = {},
): Promise<Imported> {
  const started = performance.now();
  const hold = await lockStaging(deps.db.apart);
  try {
    const staged = await stage(deps, hold, source, options.signal);
    options.onStaged?.(staged.rows);
    await hold.holdLayer(target.layerId);
    const imported = await writeStaged(deps.db, { target, source, hold, staged, options });
    deps.log.info(
      {
        layer: target.layerId,
        rows: imported.rows,
        vertices: imported.vertices,
        ms: Math.round(performance.now() - started),
      },
      "imported",
    );
    return imported;
  } finally {
    // While the objects are not committed the next import of the layer has to wait, and the table cannot be dropped.
    await deps.db.afterwards(() => hold.release());
  }
}

async function stage(
  deps: ImportDependencies,
  hold: StagingLock,
  source: ImportSource,
  signal: AbortSignal | undefined,
): Promise<Staged> {
  const response = await deps.transfer.import(
    {
      path: source.path,
      extension: source.extension,
      databaseUrl: deps.db.url,
      stagingTable: hold.table,
      ...(source.srs === undefined || source.srs === "" ? {} : { srs: source.srs }),
    },
    signal,
  );
  if (!response.ok) throw failed(response.code, response.error, response.data ?? {});
  return response;
}

interface Job {
  readonly target: ImportTarget;
  readonly source: ImportSource;
  readonly hold: StagingLock;
  readonly staged: Staged;
  readonly options: ImportOptions;
}

/**
 * From staging to the layer: checks first, since only the last step touches what others see. All before that stands
 * apart from a transaction that the import may be part of, which would shut readers out for as long.
 */
async function writeStaged(whole: Database, job: Job): Promise<Imported> {
  const db = whole.apart;
  const { target, staged, hold } = job;
  const { layerId } = target;
  const present = await readColumns(db, layerId);
  if (present.length === 0) throw notFound("layer of that code");
  const languages = { own: target.language, all: await projectLanguages(db, layerId) };
  const matching = matchFields(staged.fields, withIdAlias(present, target.idAlias ?? ""), languages);
  if (matching.added.length > 0 && job.options.mayAddColumns === false) {
    throw new Failure("forbidden", undefined, "Your rights do not allow new columns, which this file needs.");
  }
  await checkCoordinates(db, hold.table);
  await checkValues(db, hold.table, matching.known);
  const highestId = await checkIds(db, hold.table, matching.idIndex);
  await checkFiles(db, hold.table, { layerId, columns: matching.known, idIndex: matching.idIndex });
  const reserved = await reserveColumns(
    db,
    layerId,
    present,
    matching.added.map(({ column }) => column),
  );
  const columns: Matched[] = [
    ...matching.known,
    ...matching.added.map(({ index, field }, place) => ({ index, field, column: reserved[place]! })),
  ];
  const plan: WritePlan = {
    layerId,
    staging: hold.table,
    columns,
    idIndex: matching.idIndex,
    highestId,
    language: target.language,
  };
  try {
    const written = await whole.transaction((tx) => write(tx, { job, plan, present, reserved }));
    return {
      ...written,
      rows: staged.rows,
      vertices: staged.vertices,
      added: reserved.map((column) => column.code),
      notes: staged.notes,
    };
  } catch (error) {
    await dropReserved(db, layerId, reserved);
    throw asFailure(error);
  }
}

/** Languages of the layer's project. */
async function projectLanguages(db: Queryable, layerId: number): Promise<readonly string[]> {
  const [project] = await db.query<{ languages: string[] }>(
    `select p.languages from node n join map m on m.id = n.map_id join project p on p.id = m.project_id
     where n.id = $1`,
    [layerId],
  );
  return project?.languages ?? [];
}

interface Writing {
  readonly job: Job;
  readonly plan: WritePlan;
  readonly present: readonly Column[];
  readonly reserved: readonly Column[];
}

/** Rows of the catalogue come last, so that the map's other writers wait only for a moment. */
async function write(tx: Queryable, { job, plan, present, reserved }: Writing): Promise<Written> {
  const { layerId } = plan;
  const table = layerTable(layerId);
  await tx.execute("set local statement_timeout = 0");
  // Objects go in as they come in the file; a scan that joins another's midway would turn their order.
  await tx.execute("set local synchronize_seqscans = off");
  await lockLayer(tx, table);
  if (JSON.stringify(await readColumns(tx, layerId)) !== JSON.stringify(present)) {
    throw failed("import_failed", "The layer's columns were changed during the import.");
  }
  const [before] = await tx.query<{ occupied: boolean }>(
    `select exists (select 1 from ${table}) as occupied`,
  );
  const replace = job.source.action === "replace";
  const written = replace ? await replaceObjects(tx, plan) : await mergeObjects(tx, plan);
  await enforceOnImport(tx, plan, present);
  await tx.execute(`analyze ${table}`);
  await tx.query("select generalize_layer($1)", [layerId]);
  await registerColumns(tx, layerId, reserved);
  if (job.staged.vertices > 0)
    await setKind(tx, layerId, job.staged.geometryKind, !replace && before!.occupied);
  // Whoever runs the import: nodes see to the indexes of search.
  await tx.query("select pg_notify('mapwright', 'S')");
  return written;
}

/** Holds off changes of the table's structure until the transaction ends; objects may be edited. */
async function lockLayer(tx: Queryable, table: string): Promise<void> {
  try {
    await tx.execute(`lock table ${table} in row exclusive mode`);
  } catch (error) {
    // 42P01 undefined_table
    if ((error as { code?: string }).code === "42P01") throw notFound("layer of that code");
    throw error;
  }
}

/**
 * The geometry kind that holds the layer's objects after the import. A layer that was never styled gets the
 * default style of its new kind.
 * @param mixed whether objects that were there before stay
 */
async function setKind(
  tx: Queryable,
  layerId: number,
  imported: GeometryKind,
  mixed: boolean,
): Promise<void> {
  const [layer] = await tx.query<{ kind: GeometryKind; placed: boolean }>(
    `select geometry_kind as kind, $2 and exists (select 1 from ${layerTable(layerId)} where geom is not null) as placed
     from layer where id = $1`,
    [layerId, mixed],
  );
  if (!layer) throw notFound("layer of that code");
  const kind = layer.placed && layer.kind !== imported ? "Unknown" : imported;
  if (kind === layer.kind) return;
  await tx.execute("update layer set geometry_kind = $2 where id = $1", [layerId, kind]);
  await tx.execute("update node set css_style = $3 where id = $1 and css_style = $2", [
    layerId,
    defaultStyle(layer.kind),
    defaultStyle(kind),
  ]);
}

/** Errors of PostgreSQL that the file itself causes. */
function asFailure(error: unknown): unknown {
  if (error instanceof Failure) return error;
  switch ((error as { code?: string }).code) {
    case "54000": // program_limit_exceeded: a row, or an index entry, is larger than a page
      return failed("import_failed", "A feature has more data than one object can hold.");
    case "23505": // unique_violation: the id was taken while the import ran
      return failed("import_failed", "An object with one of the file's ids was made during the import.");
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
