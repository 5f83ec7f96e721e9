import type { StoredSettings } from "../catalog/state.js";
import { hasValues } from "../column-types/column-types.js";
import { type Fits, type Known, type KnownColumn, type Settings, withoutMissing } from "./columns.js";
import { kindOf } from "./kinds.js";
import type { SettingsKind } from "./settings.js";

/** How settings adapt when columns are deleted. */

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
      return withoutMissing(settings, "popupColumn", known, { showPopup: false });
  }
}

function pruneVisual(settings: StoredSettings, known: Known): StoredSettings | null {
  const kind = kindOf(settings);
  if (kind.column && !known(settings.column, kind.column)) return null;
  const classes = settings.classesSettings as Settings;
  const classesKept = kind.prune ? kind.prune(classes, known) : classes;
  if (!classesKept) return null;
  const text = settings.textSettings as Settings;
  const textKept = withoutMissing(text, "column", known, {});
  let left = withoutMissing(settings, "column", known, {});
  if (textKept !== text) left = { ...left, textSettings: textKept, showText: false };
  if (classesKept !== classes) left = { ...left, classesSettings: classesKept };
  return left;
}

/** Plug-ins handle missing columns themselves; settings without any column left are removed. */
function pruneCustom(settings: StoredSettings, known: Known): StoredSettings | null {
  const columns = Object.entries(settings.columns as Settings);
  const kept = columns.filter(([, id]) => known(id));
  if (kept.length === columns.length) return settings;
  return kept.length > 0 ? { ...settings, columns: Object.fromEntries(kept) } : null;
}
