import { definitionOf, hasValues } from "../column-types/column-types.js";
import type { Queryable } from "../storage/postgres.js";
import type { Column, StoredSettings } from "./state.js";

/** The columns that a layer's settings refer to: which types they support, and how settings adapt when columns are deleted. */

export type SettingsKind = "visualSettings" | "visualCustomSettings" | "vectorSettings";

type KnownColumn = Pick<Column, "id" | "type">;
type Fits = (column: Pick<Column, "type">) => boolean;

/** Whether a visualization of the type can classify by a column; types 1 and 3 need values with a numeric scale. */
export const supportsColumn = (visualType: unknown, column: Pick<Column, "type">): boolean =>
  hasValues(column) && ((visualType !== 1 && visualType !== 3) || definitionOf(column).measure !== undefined);

/**
 * Removes references to columns that no longer exist or have an unsupported type, and turns off the options that used them.
 * @returns the same object if nothing changed; null if a column is missing that the settings cannot work without
 */
export function pruneSettings(
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
      return pruneVisual(settings, known);
    case "visualCustomSettings":
      return pruneCustom(settings, known);
    case "vectorSettings":
      return without(settings, "popupColumn", known, { showPopup: false });
  }
}

type Known = (id: unknown, fits?: Fits) => boolean;

function pruneVisual(settings: StoredSettings, known: Known): StoredSettings | null {
  const { type } = settings;
  const needsColumn = type === 1 || type === 2 || type === 3;
  if (needsColumn && !known(settings.column, (column) => supportsColumn(type, column))) return null;
  const classes = settings.classesSettings as StoredSettings;
  const classesKept = pruneClasses(type, classes, known);
  if (!classesKept) return null;
  const text = settings.textSettings as StoredSettings;
  const textKept = without(text, "column", known, {});
  let left = without(settings, "column", known, {});
  if (textKept !== text) left = { ...left, textSettings: textKept, showText: false };
  if (classesKept !== classes) left = { ...left, classesSettings: classesKept };
  return left;
}

function pruneClasses(type: unknown, classes: StoredSettings, known: Known): StoredSettings | null {
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

/** Plug-ins handle missing columns themselves; settings without any column left are removed. */
function pruneCustom(settings: StoredSettings, known: Known): StoredSettings | null {
  const columns = Object.entries(settings.columns as StoredSettings);
  const kept = columns.filter(([, id]) => known(id));
  if (kept.length === columns.length) return settings;
  return kept.length > 0 ? { ...settings, columns: Object.fromEntries(kept) } : null;
}

/** If the column of `field` is missing: the settings without the field and with those of `instead`; else the same object. */
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

/** Columns as the transaction sees them, for `pruneSettings`. */
export const columnsOf = (tx: Queryable, layerId: number) =>
  tx.query<KnownColumn>("select id, type from layer_column where layer_id = $1", [layerId]);

/**
 * Prunes a layer's stored settings after columns were deleted or changed their type. If that removes its visualization, the
 * layer is rendered with its CartoCSS again. The caller has locked the map's row.
 */
export async function pruneStoredSettings(tx: Queryable, layerId: number): Promise<void> {
  const [row] = await tx.query<SettingsRow>(
    `select visual_settings as "visualSettings", visual_custom_settings as "visualCustomSettings",
       vector_settings as "vectorSettings" from node
     where id = $1 and num_nonnulls(visual_settings, visual_custom_settings, vector_settings) > 0`,
    [layerId],
  );
  if (!row) return;
  const columns = await columnsOf(tx, layerId);
  const pruned = (kind: SettingsKind) => row[kind] && pruneSettings(kind, row[kind], columns);
  const [visual, custom, vector] = [
    pruned("visualSettings"),
    pruned("visualCustomSettings"),
    pruned("vectorSettings"),
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
