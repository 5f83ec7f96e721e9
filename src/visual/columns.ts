import type { Column, LayerNode } from "../catalog/state.js";
import { definitionOf, hasValues } from "../column-types/column-types.js";
import { excerpt, failed, Reasons } from "../errors.js";
import { didYouMean } from "../near-name.js";

/** The columns that settings refer to: stored by id, given and shown with their codes. */

export type Plain = Record<string, unknown>;
export type Settings = Readonly<Plain>;

export type KnownColumn = Pick<Column, "id" | "type">;
export type Fits = (column: Pick<Column, "type">) => boolean;
/** Whether the layer has a column of that id that fits; without `fits`: one with values. */
export type Known = (id: unknown, fits?: Fits) => boolean;

/** Whether the values have a numeric scale. */
export const isMeasured: Fits = (column) => hasValues(column) && definitionOf(column).measure !== undefined;

export const wrongSettings = (at: string, fields: Readonly<Record<string, string>>) =>
  failed("invalid_value", wrongSettingsText(at, fields), { parameter: at, fields });

/** With the reason of the first of them. */
function wrongSettingsText(at: string, fields: Readonly<Record<string, string>>): string {
  const [[field, reason] = ["", ""]] = Object.entries(fields);
  return `${at}${field && `.${field}`} cannot be stored.${reason && ` ${reason.replace(/\.?$/, ".")}`}`;
}

export const columnOf = (layer: LayerNode, id: unknown): Column | undefined =>
  layer.columns.find((column) => column.id === id);

/** @throws Failure unknown_column; invalid_value when id and code name different columns */
export function findColumn(
  layer: LayerNode,
  wanted: { readonly id?: unknown; readonly code?: unknown },
  at: string,
): Column {
  const named = (column: Column) =>
    wanted.id !== undefined ? column.id === wanted.id : column.code === wanted.code;
  const column = layer.columns.find(named);
  if (!column || !hasValues(column)) {
    const reasons = Reasons.of(String(wanted.code ?? wanted.id), "The layer has no such column with values.");
    const codes = layer.columns.filter(hasValues).map(({ code }) => code);
    const name = excerpt(String(wanted.code ?? wanted.id));
    throw failed(
      "unknown_column",
      `The layer has no column "${name}"${didYouMean(name, codes)}`,
      reasons.data,
    );
  }
  if (wanted.code !== undefined && wanted.code !== column.code)
    throw failed("invalid_value", "Id and code name different columns.", { parameter: at });
  return column;
}

/**
 * The settings with a column's id, where the request has its id, its code or both.
 * @throws Failure as `findColumn`
 */
export function byId(
  layer: LayerNode,
  settings: Settings,
  [idField, codeField]: readonly [string, string],
  at: string,
): Plain {
  const { [idField]: id, [codeField]: code, ...rest } = settings;
  if (id === undefined && code === undefined) return rest;
  return { ...rest, [idField]: findColumn(layer, { id, code }, `${at}.${idField}`).id };
}

export const codeOf = (layer: LayerNode, id: unknown): string | null => columnOf(layer, id)?.code ?? null;

/** Adds the code of the column with the id; both are null if there is no such column. */
export function withCode(
  layer: LayerNode,
  settings: Settings,
  [idField, codeField]: readonly [string, string],
): Plain {
  const code = codeOf(layer, settings[idField]);
  return { ...settings, [idField]: code === null ? null : settings[idField], [codeField]: code };
}

/** If the column of `field` is missing: the settings without the field and with those of `instead`; else the same object. */
export function withoutMissing(settings: Settings, field: string, known: Known, instead: Settings): Settings {
  const { [field]: id, ...rest } = settings;
  return id === undefined || known(id) ? settings : { ...rest, ...instead };
}

/** For messages: text of a request, cut. */
export const excerptOf = (path: readonly PropertyKey[]): string => excerpt(path.map(String).join("."));
