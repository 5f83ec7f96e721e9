import { type ColumnType, isValueType, physicalType } from "../column-types/column-types.js";
import { convertedValue, sameValues, type ValueKind } from "../column-types/conversion.js";
import { type Failure, failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import type { Deleter } from "./bin.js";
import { checkColumnCode } from "./codes.js";
import { discardColumn } from "./column-bin.js";
import { checkTitle, moveToTopLevel, placeColumn, renumberColumns } from "./column-order.js";
import { addColumns, addPhysical } from "./columns.js";
import { checkConstraintsFit, removeFromConstraints } from "./constraints.js";
import { lockForAlter } from "./derived.js";
import { layerTable, physicalName } from "./layer-table.js";
import { pruneStoredSettings } from "./prune-settings.js";
import { type Column, isId, type LocalizedName } from "./state.js";
import { changeStructure, type StructureTarget } from "./structure-transaction.js";

/** Creates, changes and deletes columns of a layer, with the values of its objects, each in one transaction. */

/** A column in a request. Absent = unchanged, or the default for a new column. */
export interface ColumnInput {
  readonly type: ColumnType;
  readonly code?: string | undefined;
  readonly name?: LocalizedName | undefined;
  readonly required?: boolean | undefined;
  readonly localizedValue?: boolean | undefined;
  /** Position among the parent's columns; the others are renumbered. */
  readonly sort?: number | undefined;
  /** Id of a title column of the layer; 0 = top level. */
  readonly parentId?: number | undefined;
  /** Checked already; null = none. */
  readonly format?: Readonly<Record<string, unknown>> | null | undefined;
}

/**
 * Creates a column.
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
    await invalidateTiles(tx, layerId);
    return added!.id;
  });
}

/**
 * Changes a column. Values that cannot be converted to the new type become empty; settings that do not support the type
 * are removed.
 * @returns its id
 * @throws Failure invalid_code, code_exists, invalid_value, busy; not_found (layer, column)
 */
export const changeColumn = (
  db: Database,
  target: StructureTarget,
  code: string,
  change: ColumnInput,
): Promise<number> => changeStructure(db, target, (tx) => changeColumnIn(tx, target, code, change));

/** As `changeColumn`, in a transaction of `changeStructure`. */
export async function changeColumnIn(
  tx: Queryable,
  target: StructureTarget,
  code: string,
  change: ColumnInput,
): Promise<number> {
  const { layerId } = target;
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
  if (column.type === "title" && change.type !== "title") await moveToTopLevel(tx, layerId, column.id);
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
  // After the catalogue's row, whose trigger drops search indexes that do not support the new type.
  if (converts) await changePhysical(tx, target, column, wanted);
  const moved = parentId !== column.parentId;
  if (moved || change.sort !== undefined)
    await placeColumn(tx, layerId, { id: column.id, parentId }, change.sort);
  if (moved) await renumberColumns(tx, layerId, column.parentId);
  if (change.type !== column.type) await pruneStoredSettings(tx, layerId);
  if (affectsStyles(column, change, localizedValue)) await invalidateTiles(tx, layerId);
  return column.id;
}

/** Whether styles may see other values or names. */
function affectsStyles(column: Column, change: ColumnInput, localizedValue: boolean): boolean {
  return (
    change.type !== column.type ||
    localizedValue !== column.localizedValue ||
    (change.code ?? column.code) !== column.code
  );
}

/**
 * Deletes a column with its values, and removes it from the layer's settings. Columns under a title move to the top level.
 * @param by keeps it in the bin
 * @throws Failure not_found (layer, column), invalid_value, busy
 */
export function deleteColumn(
  db: Database,
  target: StructureTarget,
  code: string,
  by?: Deleter,
): Promise<void> {
  const { layerId } = target;
  return changeStructure(db, target, async (tx) => {
    const column = await findColumn(tx, layerId, code);
    if (isBuiltIn(column)) throw refuse("code", `Every layer has the column ${column.code}.`);
    if (by) await discardColumn(tx, target, column, by);
    else await removeColumn(tx, layerId, column);
    await renumberColumns(tx, layerId, column.parentId);
    await invalidateTiles(tx, layerId);
  });
}

async function removeColumn(tx: Queryable, layerId: number, column: Column): Promise<void> {
  if (column.type === "title") await moveToTopLevel(tx, layerId, column.id);
  await removeFromConstraints(tx, layerId, column.id);
  if (isValueType(column.type)) {
    await lockForAlter(tx, layerId, column.physical);
    await tx.execute(`alter table ${layerTable(layerId)} drop column if exists ${column.physical}`);
  }
  await tx.execute("delete from layer_column where id = $1", [column.id]);
  await pruneStoredSettings(tx, layerId);
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

/** Type of a column's values; undefined for titles and geometry. */
const valuesOf = ({ type, localizedValue }: Kind): ValueKind | undefined =>
  isValueType(type) ? { type, localizedValue } : undefined;

function changesPhysical(column: Column, wanted: Kind): boolean {
  const [from, to] = [valuesOf(column), valuesOf(wanted)];
  if (isBuiltIn(column)) return false;
  return from && to ? !sameValues(from, to) : from !== to;
}

/** Converts, creates or drops the physical column when a column changes its type or becomes localised or plain. */
async function changePhysical(
  tx: Queryable,
  { layerId, mainLanguage }: StructureTarget,
  column: Column,
  wanted: Kind,
): Promise<void> {
  const [from, to] = [valuesOf(column), valuesOf(wanted)];
  if (!from) return addPhysical(tx, layerId, [{ ...column, ...wanted }]);
  const { physical } = column;
  const main = `'${mainLanguage.replaceAll("'", "''")}'`;
  const clause = to
    ? `alter column ${physical} type ${physicalType(to.type, to.localizedValue)}
       using ${convertedValue(physical, from, to, main)}`
    : `drop column if exists ${physical}`;
  await tx.execute(`alter table ${layerTable(layerId)} ${clause}`);
}

/** Records a change of the whole layer, so that its tiles are rendered again. */
const invalidateTiles = (tx: Queryable, layerId: number) =>
  tx.execute("insert into layer_touch (layer_id, area) values ($1, null)", [layerId]);
