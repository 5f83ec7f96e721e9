import { type ColumnType, isValueType, physicalType } from "../column-types/column-types.js";
import { convertedValue, sameValues, type ValueKind } from "../column-types/conversion.js";
import { busy, Failure, failed, notFound } from "../errors.js";
import { importLock } from "../storage/advisory-locks.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { checkColumnCode } from "./codes.js";
import { checkTitle, closeGaps, emptyTitle, placeColumn } from "./column-order.js";
import { addColumns, addPhysical } from "./columns.js";
import { checkConstraintsFit, forgetColumn } from "./constraints.js";
import { lockForAlter } from "./derived.js";
import { layerTable, physicalName } from "./layer-table.js";
import { fitSettings } from "./settings-columns.js";
import { type Column, isId, type LocalizedName } from "./state.js";
import { lockMap } from "./tree.js";

/** Changes of a layer's structure: each wholly or not at all, with the values that its objects have. */

/** The layer whose structure changes. */
export interface StructureTarget {
  readonly mapId: number;
  readonly layerId: number;
  /** Language that values are in which become localised, and that is kept when they cease to be. */
  readonly mainLanguage: string;
}

/** What a request says of a column. Absent = as it is, or the default of a new one. */
export interface ColumnInput {
  readonly type: ColumnType;
  readonly code?: string | undefined;
  readonly name?: LocalizedName | undefined;
  readonly required?: boolean | undefined;
  readonly localizedValue?: boolean | undefined;
  /** Place among the parent's columns; the others are renumbered. */
  readonly sort?: number | undefined;
  /** Id of a title column of the layer; 0 = top level. */
  readonly parentId?: number | undefined;
  /** Checked already; null = none. */
  readonly format?: Readonly<Record<string, unknown>> | null | undefined;
}

/**
 * Adds a column.
 * @returns its id
 * @throws Failure invalid_code, code_exists, invalid_value, busy; not_found when the layer is gone
 */
export function createColumn(
  db: Database,
  target: StructureTarget,
  column: ColumnInput & { readonly code: string },
): Promise<number> {
  const { layerId } = target;
  const { type } = column;
  if (type === "geom") throw refuse("type", "A layer has one geometry column.");
  return changeStructure(db, target, async (tx) => {
    if (isValueType(type)) await lockForAlter(tx, layerId);
    const parentId = await checkTitle(tx, layerId, column.parentId ?? 0);
    const [added] = await addColumns(tx, layerId, [
      {
        code: column.code,
        type,
        ...(column.name ? { name: column.name } : {}),
        required: column.required ?? false,
        localizedValue: column.localizedValue ?? false,
        parentId,
        format: column.format ?? null,
      },
    ]);
    await placeColumn(tx, layerId, { id: added!.id, parentId }, column.sort);
    await redraw(tx, layerId);
    return added!.id;
  });
}

/**
 * Changes a column. Values that the new type cannot hold become empty; settings that cannot use the type go.
 * @returns its id
 * @throws Failure invalid_code, code_exists, invalid_value, busy; not_found (layer, column)
 */
export function changeColumn(
  db: Database,
  target: StructureTarget,
  code: string,
  change: ColumnInput,
): Promise<number> {
  const { layerId } = target;
  return changeStructure(db, target, async (tx) => {
    const column = await findColumn(tx, layerId, code);
    const localizedValue = isValueType(change.type) && (change.localizedValue ?? column.localizedValue);
    if (isBuiltIn(column)) requireBuiltIn(column, change);
    else if (change.type === "geom") throw refuse("type", "A layer has one geometry column.");
    if (change.code !== undefined && change.code !== column.code)
      await requireFreeCode(tx, layerId, change.code);
    await checkConstraintsFit(tx, layerId, { ...column, type: change.type });
    const wanted = { type: change.type, localizedValue };
    const converts = changesPhysical(column, wanted);
    if (converts) await lockForAlter(tx, layerId, column.physical);
    if (column.type === "title" && change.type !== "title") await emptyTitle(tx, layerId, column.id);
    const parentId =
      change.parentId === undefined
        ? column.parentId
        : await checkTitle(tx, layerId, change.parentId, column.id);
    await tx.execute(
      `update layer_column set type = $2, code = $3, name = coalesce($4, name),
         localized_name = coalesce($5, localized_name), names = coalesce($6, names), required = coalesce($7, required),
         localized_value = $8, parent_id = $9, format = case when $10 then $11::jsonb else format end
       where id = $1`,
      [
        column.id,
        change.type,
        change.code ?? column.code,
        change.name?.name ?? null,
        change.name?.localized ?? null,
        change.name ? JSON.stringify(change.name.names) : null,
        change.required ?? null,
        localizedValue,
        parentId,
        change.format !== undefined,
        change.format ? JSON.stringify(change.format) : null,
      ],
    );
    // After the catalogue, which takes indexes away that are not for the new type.
    if (converts) await changePhysical(tx, target, column, wanted);
    const moved = parentId !== column.parentId;
    if (moved || change.sort !== undefined)
      await placeColumn(tx, layerId, { id: column.id, parentId }, change.sort);
    if (moved) await closeGaps(tx, layerId, column.parentId);
    if (change.type !== column.type) await fitSettings(tx, layerId);
    if (drawnOtherwise(column, change, localizedValue)) await redraw(tx, layerId);
    return column.id;
  });
}

/** Whether styles may see other values, or see them under another name. */
function drawnOtherwise(column: Column, change: ColumnInput, localizedValue: boolean): boolean {
  return (
    change.type !== column.type ||
    localizedValue !== column.localizedValue ||
    (change.code ?? column.code) !== column.code
  );
}

/**
 * Deletes a column with its values, and takes it out of the layer's settings. What a title holds moves to the top level.
 * @throws Failure not_found (layer, column), invalid_value, busy
 */
export function deleteColumn(db: Database, target: StructureTarget, code: string): Promise<void> {
  const { layerId } = target;
  return changeStructure(db, target, async (tx) => {
    const column = await findColumn(tx, layerId, code);
    if (isBuiltIn(column)) throw refuse("code", `Every layer has the column ${column.code}.`);
    if (column.type === "title") await emptyTitle(tx, layerId, column.id);
    await forgetColumn(tx, layerId, column.id);
    if (isValueType(column.type)) {
      await lockForAlter(tx, layerId, column.physical);
      await tx.execute(`alter table ${layerTable(layerId)} drop column if exists ${column.physical}`);
    }
    await tx.execute("delete from layer_column where id = $1", [column.id]);
    await fitSettings(tx, layerId);
    await closeGaps(tx, layerId, column.parentId);
    await redraw(tx, layerId);
  });
}

const refuse = (parameter: string, message: string): Failure =>
  failed("invalid_value", message, { parameter });

const isBuiltIn = (column: Column): boolean => isId(column) || column.type === "geom";

function requireBuiltIn(column: Column, change: ColumnInput): void {
  if (change.type !== column.type) throw refuse("type", `The column ${column.code} keeps its type.`);
  if (change.code !== undefined && change.code !== column.code) {
    throw refuse("code", `The column ${column.code} keeps its code.`);
  }
  if (change.localizedValue) {
    throw refuse("localized_value", `The column ${column.code} has one value for all languages.`);
  }
}

async function requireFreeCode(tx: Queryable, layerId: number, code: string): Promise<void> {
  const taken = await tx.query("select 1 from layer_column where layer_id = $1 and code = $2", [
    layerId,
    checkColumnCode(code),
  ]);
  if (taken.length > 0) throw failed("code_exists", `There is a column "${code}" already.`);
}

async function findColumn(tx: Queryable, layerId: number, code: string): Promise<Column> {
  const [row] = await tx.query<Omit<Column, "physical">>(
    `select id, code, type, name, localized_name as localized, names, required, localized_value as "localizedValue", sort,
       parent_id as "parentId", format
     from layer_column where layer_id = $1 and code = $2`,
    [layerId, code],
  );
  if (!row) throw notFound(`column "${code}"`);
  return { ...row, physical: physicalName(row.type, row.code, row.id) };
}

type Kind = Pick<Column, "type" | "localizedValue">;

/** The kind of values that a column has; undefined for titles and geometry. */
const valuesOf = ({ type, localizedValue }: Kind): ValueKind | undefined =>
  isValueType(type) ? { type, localizedValue } : undefined;

function changesPhysical(column: Column, wanted: Kind): boolean {
  const [was, becomes] = [valuesOf(column), valuesOf(wanted)];
  if (isBuiltIn(column)) return false;
  return was && becomes ? !sameValues(was, becomes) : was !== becomes;
}

/** Converts, makes or drops the physical column of a column that changes its type or begins or ends to be localised. */
async function changePhysical(
  tx: Queryable,
  { layerId, mainLanguage }: StructureTarget,
  column: Column,
  wanted: Kind,
): Promise<void> {
  const [was, becomes] = [valuesOf(column), valuesOf(wanted)];
  if (!was) return addPhysical(tx, layerId, [{ ...column, ...wanted }]);
  const { physical } = column;
  const main = `'${mainLanguage.replaceAll("'", "''")}'`;
  const clause = becomes
    ? `alter column ${physical} type ${physicalType(becomes.type, becomes.localizedValue)}
       using ${convertedValue(physical, was, becomes, main)}`
    : `drop column if exists ${physical}`;
  await tx.execute(`alter table ${layerTable(layerId)} ${clause}`);
}

/** Tiles of the layer are drawn anew. */
const redraw = (tx: Queryable, layerId: number) =>
  tx.execute("insert into layer_touch (layer_id, area) values ($1, null)", [layerId]);

/** Readers' long queries hold a change up, and it those behind it: better to let them go and try again. */
const lockTimeout = "2s";
const attempts = 4;

/**
 * Runs a change while no other structure change of the map and no import into the layer does. Imports take the
 * layer's lock first and then what they write, so does this; the map's row comes before tables.
 */
async function changeStructure<T>(
  db: Database,
  { mapId, layerId }: StructureTarget,
  change: (tx: Queryable) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction(async (tx) => {
        await tx.execute(
          `select set_config('lock_timeout', '${lockTimeout}', true), set_config('statement_timeout', '10min', true)`,
        );
        await tx.execute(`select pg_advisory_xact_lock(${importLock("$1")})`, [layerId]);
        await lockMap(tx, mapId);
        const rows = await tx.query("select 1 from node where id = $1 and map_id = $2", [layerId, mapId]);
        if (rows.length === 0) throw notFound("layer of that code");
        return await change(tx);
      });
    } catch (error) {
      const failure = asFailure(error);
      if (failure !== "locked") throw failure;
      if (attempt === attempts)
        throw busy("The layer is in use by long reads or an import; its columns cannot change now.", 5);
    }
  }
}

function asFailure(error: unknown): unknown {
  if (error instanceof Failure) return error;
  switch ((error as { code?: string }).code) {
    case "55P03": // lock_not_available
    case "40P01": // deadlock_detected
      return "locked";
    case "0A000": // feature_not_supported: the type of a column that a view uses
    case "2BP01": // dependent_objects_still_exist
      return failed("invalid_value", "Another layer is made from this one and uses the column.");
    case "54000": // program_limit_exceeded: a row is larger than a page
      return failed("invalid_value", "An object would have more data than one row can hold.");
    case "54011": // too_many_columns
      return failed("invalid_value", "The layer's table has no room for more columns.");
    default:
      return error;
  }
}
