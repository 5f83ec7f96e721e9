import { definitionOf, hasValues } from "../column-types/column-types.js";
import type { Queryable } from "../storage/postgres.js";
import type { Column, StoredSettings } from "./state.js";

/** The columns that a layer's settings use: which each kind can, and what is left of settings when columns go. */

export type SettingsKind = "visualSettings" | "visualCustomSettings" | "vectorSettings";

type KnownColumn = Pick<Column, "id" | "type">;
type Fits = (column: Pick<Column, "type">) => boolean;

/** Whether a column can be what a visualization of the kind is built from; kinds 1 and 3 need a scale. */
export const canBuild = (visualType: unknown, column: Pick<Column, "type">): boolean =>
  hasValues(column) && ((visualType !== 1 && visualType !== 3) || definitionOf(column).measure !== undefined);

/**
 * Settings without what the layer's columns no longer give: what only decorates is taken out and its switch is off.
 * @returns the settings themselves when all their columns are there; null when what they are built from is not
 */
export function settingsLeft(
  kind: SettingsKind,
  settings: StoredSettings,
  columns: readonly KnownColumn[],
): StoredSettings | null {
  const byId = new Map(columns.map((column) => [column.id, column]));
  const known = (id: unknown, fits: Fits = hasValues): boolean => {
    const column = byId.get(id as number);
    return column !== undefined && fits(column);
  };
  switch (kind) {
    case "visualSettings":
      return visualLeft(settings, known);
    case "visualCustomSettings":
      return customLeft(settings, known);
    case "vectorSettings":
      return without(settings, "popupColumn", known, { showPopup: false });
  }
}

type Known = (id: unknown, fits?: Fits) => boolean;

function visualLeft(settings: StoredSettings, known: Known): StoredSettings | null {
  const { type } = settings;
  const isBuiltFromOne = type === 1 || type === 2 || type === 3;
  if (isBuiltFromOne && !known(settings.column, (column) => canBuild(type, column))) return null;
  const classes = settings.classesSettings as StoredSettings;
  const classesKept = classesLeft(type, classes, known);
  if (!classesKept) return null;
  const text = settings.textSettings as StoredSettings;
  const textKept = without(text, "column", known, {});
  let left = without(settings, "column", known, {});
  if (textKept !== text) left = { ...left, textSettings: textKept, showText: false };
  if (classesKept !== classes) left = { ...left, classesSettings: classesKept };
  return left;
}

function classesLeft(type: unknown, classes: StoredSettings, known: Known): StoredSettings | null {
  switch (type) {
    case 4:
    case 5:
    case 6: {
      const sized = without(classes, "sizeColumn", known, classes.sizeType === 3 ? { sizeType: 1 } : {});
      const columns = classes.columns as StoredSettings[];
      const kept = columns.filter(({ id }) => known(id));
      if (kept.length === 0) return null;
      return kept.length < columns.length ? { ...sized, columns: kept } : sized;
    }
    case 7: {
      const sized = without(classes, "markerSizeField", known, { markerSizeType: "fixed" });
      return without(sized, "useWeightField", known, { useWeight: false });
    }
    default:
      return classes;
  }
}

/** Plug-ins know by themselves what they can do without; what has lost all its columns is nothing any more. */
function customLeft(settings: StoredSettings, known: Known): StoredSettings | null {
  const columns = Object.entries(settings.columns as StoredSettings);
  const kept = columns.filter(([, id]) => known(id));
  if (kept.length === columns.length) return settings;
  return kept.length > 0 ? { ...settings, columns: Object.fromEntries(kept) } : null;
}

/** The settings without a column that is not there, and with these fields then; else themselves. */
function without(
  settings: StoredSettings,
  field: string,
  known: Known,
  instead: StoredSettings,
): StoredSettings {
  const { [field]: id, ...rest } = settings;
  return id === undefined || known(id) ? settings : { ...rest, ...instead };
}

interface SettingsRow {
  readonly visualSettings: StoredSettings | null;
  readonly visualCustomSettings: StoredSettings | null;
  readonly vectorSettings: StoredSettings | null;
}

/** Columns as the transaction sees them, for `settingsLeft`. */
export const columnsOf = (tx: Queryable, layerId: number) =>
  tx.query<KnownColumn>("select id, type from layer_column where layer_id = $1", [layerId]);

/**
 * Brings a layer's settings in line with its columns, of which some went or got another type. A visualization that is
 * built from those is dropped, and CartoCSS draws the layer again. The caller holds the map's row.
 */
export async function fitSettings(tx: Queryable, layerId: number): Promise<void> {
  const [row] = await tx.query<SettingsRow>(
    `select visual_settings as "visualSettings", visual_custom_settings as "visualCustomSettings",
       vector_settings as "vectorSettings" from node
     where id = $1 and num_nonnulls(visual_settings, visual_custom_settings, vector_settings) > 0`,
    [layerId],
  );
  if (!row) return;
  const columns = await columnsOf(tx, layerId);
  const left = (kind: SettingsKind) => row[kind] && settingsLeft(kind, row[kind], columns);
  const [visual, custom, vector] = [
    left("visualSettings"),
    left("visualCustomSettings"),
    left("vectorSettings"),
  ];
  const isSame =
    visual === row.visualSettings && custom === row.visualCustomSettings && vector === row.vectorSettings;
  if (isSame) return;
  const isDropped = !visual && !custom && (row.visualSettings ?? row.visualCustomSettings) !== null;
  const json = (settings: StoredSettings | null) => settings && JSON.stringify(settings);
  await tx.execute(
    `update node set visual_settings = $2, visual_custom_settings = $3, vector_settings = $4,
       style_mode = case when $5 then 2 else style_mode end where id = $1`,
    [layerId, json(visual), json(custom), json(vector), isDropped],
  );
}
