import type { z } from "zod";
import { hasValues } from "../column-types/column-types.js";
import { excerpt, failed, notFound, Reasons } from "../errors.js";
import type { Database } from "../storage/postgres.js";
import { columnsOf, pruneSettings, type SettingsKind, supportsColumn } from "./settings-columns.js";
import type { Column, LayerNode, StoredSettings } from "./state.js";
import { lockMap } from "./tree.js";
import {
  classesSchemas,
  customSchema,
  type VisualType,
  vectorSchema,
  visualSchema,
} from "./visual-settings.js";
import { type VisualValues, withValues } from "./visual-values.js";

/**
 * Visualization settings of a layer, used instead of its CartoCSS: thematic maps by its values, visualizations of plug-ins,
 * and vector rendering by the client. Columns are stored by id and shown with their current codes.
 */

export type { SettingsKind } from "./settings-columns.js";

type Plain = Record<string, unknown>;

/**
 * Validates settings for a layer and adds defaults.
 * @throws Failure invalid_value with `data.fields` (path → reason), unknown_column
 */
export function readSettings(layer: LayerNode, kind: SettingsKind, given: unknown): StoredSettings {
  const value = withoutNulls(given, kind, 0);
  switch (kind) {
    case "visualSettings":
      return readVisual(layer, value);
    case "visualCustomSettings": {
      const settings = check(customSchema, value, kind);
      for (const [uuid, id] of Object.entries(settings.columns))
        settings.columns[uuid] = find(layer, { id }, `${kind}.columns`).id;
      return settings;
    }
    case "vectorSettings": {
      const settings = check(vectorSchema, value, kind);
      if (settings.minZoom > settings.maxZoom) throw wrong(kind, { minZoom: "It is greater than maxZoom." });
      return byId(layer, settings, ["popupColumn", "popupColumnCode"], kind);
    }
  }
}

function readVisual(layer: LayerNode, value: unknown): StoredSettings {
  const settings = check(visualSchema, value, "visualSettings");
  const type = settings.type as VisualType;
  const given = (value as { classesSettings?: unknown }).classesSettings;
  const classes: Plain = check(classesSchemas[type], given, "visualSettings.classesSettings");
  const stored: Plain = byId(layer, settings, ["column", "columnCode"], "visualSettings");
  if (type <= 3 && stored.column === undefined)
    throw wrong("visualSettings", { column: "This type needs a column." });
  const built = layer.columns.find(({ id }) => id === stored.column);
  if (built && !supportsColumn(type, built))
    throw wrong("visualSettings", { column: "This type needs a column of numbers or timestamps." });
  const text = settings.textSettings;
  if (text.column !== undefined) {
    const { column: code, ...rest } = text;
    stored.textSettings = { ...rest, column: find(layer, { code }, "visualSettings.textSettings.column").id };
  }
  // Only these types have class borders.
  if (type !== 1 && type !== 3) stored.algorithm = 1;
  if (type === 2) stored.classesCount = (classes.classes as unknown[]).length;
  return { ...stored, classesSettings: readClasses(layer, type, classes) };
}

function readClasses(layer: LayerNode, type: VisualType, classes: Plain): Plain {
  const at = "visualSettings.classesSettings";
  if (type >= 4 && type <= 6) {
    const columns = (classes.columns as Plain[])
      .map((column) => byId(layer, column, ["id", "code"], at))
      .map((column) => withoutTitle(layer, column));
    if (columns.some(({ id }) => id === undefined))
      throw wrong(at, { columns: "Each needs an id or a code." });
    return { ...byId(layer, classes, ["sizeColumn", "sizeColumnCode"], at), columns };
  }
  if (type === 7) {
    for (const field of ["markerSizeField", "useWeightField"]) {
      if (classes[field] !== undefined) find(layer, { id: classes[field] }, `${at}.${field}`);
    }
  }
  return classes;
}

/** Drops a label that equals the column's title, as answers show it, so that later changes of the title apply. */
function withoutTitle(layer: LayerNode, { label, ...rest }: Plain): Plain {
  const column = layer.columns.find(({ id }) => id === rest.id);
  const title =
    !column || label === column.name || Object.values(column.names).some((name) => name === label);
  return label === undefined || title ? rest : { ...rest, label };
}

/** The settings with a column's id, where the request has its id, its code or both. */
function byId(
  layer: LayerNode,
  settings: Plain,
  [idField, codeField]: readonly [string, string],
  at: string,
): Plain {
  const { [idField]: id, [codeField]: code, ...rest } = settings;
  if (id === undefined && code === undefined) return rest;
  return { ...rest, [idField]: find(layer, { id, code }, `${at}.${idField}`).id };
}

/** @throws Failure unknown_column; invalid_value when id and code name different columns */
function find(layer: LayerNode, wanted: { id?: unknown; code?: unknown }, at: string): Column {
  const named = (column: Column) =>
    wanted.id !== undefined ? column.id === wanted.id : column.code === wanted.code;
  const column = layer.columns.find(named);
  if (!column || !hasValues(column)) {
    const reasons = Reasons.of(String(wanted.code ?? wanted.id), "The layer has no such column with values.");
    throw failed("unknown_column", "The layer has no such column.", reasons.data);
  }
  if (wanted.code !== undefined && wanted.code !== column.code)
    throw failed("invalid_value", "Id and code name different columns.", { parameter: at });
  return column;
}

function check<S extends z.ZodType>(schema: S, value: unknown, at: string): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const fields: Record<string, string> = Object.create(null);
  for (const issue of parsed.error.issues.slice(0, 50))
    fields[excerpt(issue.path.map(String).join("."))] = issue.message;
  throw wrong(at, fields);
}

const wrong = (at: string, fields: Readonly<Record<string, string>>) =>
  failed("invalid_value", `${at} cannot be stored.`, { parameter: at, fields });

const maxDepth = 50;
const badText = /\0|\p{Surrogate}/u;

/** Removes nulls at all levels: null counts as absent. @throws Failure invalid_value for text that PostgreSQL cannot store */
function withoutNulls(value: unknown, at: string, depth: number): unknown {
  if (depth > maxDepth) throw wrong(at, { "": "It is nested too deeply." });
  if (typeof value === "string" && badText.test(value)) throw wrong(at, { "": "A text cannot be stored." });
  if (value === null) return undefined;
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, at, depth + 1));
  const kept: Plain = Object.create(null);
  for (const [name, item] of Object.entries(value)) {
    if (badText.test(name)) throw wrong(at, { "": "A name cannot be stored." });
    if (item !== null) kept[name] = withoutNulls(item, at, depth + 1);
  }
  return kept;
}

const stored = {
  visualSettings: "visual_settings",
  visualCustomSettings: "visual_custom_settings",
  vectorSettings: "vector_settings",
} as const;

/** Values of `style_mode`: 2 = CartoCSS, 3 = visualization, 4 = custom visualization. */
const styleModes = { visualSettings: 3, visualCustomSettings: 4 } as const;

/**
 * Stores settings that `readSettings` checked. They keep the id of the settings that they replace. Visual and custom
 * settings replace each other: a layer has one visualization.
 * @param settings null = deleted
 * @throws Failure not_found when the layer was deleted, invalid_value when a column was
 */
export function storeSettings(
  db: Database,
  at: { readonly mapId: number; readonly layerId: number },
  kind: SettingsKind,
  settings: StoredSettings | null,
): Promise<void> {
  const column = stored[kind];
  const value = `case when $2::jsonb is null then null
    else $2::jsonb || jsonb_build_object('id', coalesce(${column} -> 'id', to_jsonb(nextval('container_id')))) end`;
  const other = kind === "visualSettings" ? stored.visualCustomSettings : stored.visualSettings;
  const mode = kind === "vectorSettings" || !settings ? 2 : styleModes[kind];
  const rest =
    kind === "vectorSettings" ? `render_type = ${settings ? 1 : 0}` : `${other} = null, style_mode = ${mode}`;
  return db.transaction(async (tx) => {
    await lockMap(tx, at.mapId);
    const changed = await tx.execute(`update node set ${column} = ${value}, ${rest} where id = $1`, [
      at.layerId,
      settings && JSON.stringify(settings),
    ]);
    if (changed === 0) throw notFound("layer of that code");
    if (settings && pruneSettings(kind, settings, await columnsOf(tx, at.layerId)) !== settings)
      throw failed("invalid_value", "The layer's columns were just changed.", { parameter: kind });
  });
}

/** Returns a column's title in the language of a request. */
export type TitleOf = (column: Column) => string;

/**
 * The layer's settings as the contract shows them: `visualSettings`, `visualCustomSettings`, `vectorSettings`.
 * @param values of `visualSettings`, computed from the layer's current objects; undefined = those that are stored
 */
export function shownSettings(layer: LayerNode, titleOf: TitleOf, values?: VisualValues): Plain {
  const shown: Plain = {};
  if (layer.visualSettings) {
    const settings = shownVisual(layer, layer.visualSettings, values);
    shown.visualSettings = settings.type === 5 ? labelled(layer, settings, titleOf) : settings;
  }
  if (layer.visualCustomSettings) shown.visualCustomSettings = layer.visualCustomSettings;
  if (layer.vectorSettings)
    shown.vectorSettings = withCode(layer, layer.vectorSettings, ["popupColumn", "popupColumnCode"]);
  return shown;
}

/** Bar charts with labels; the default labels are the columns' titles. */
function labelled(layer: LayerNode, settings: Plain, titleOf: TitleOf): Plain {
  const classes = settings.classesSettings as Plain;
  const columns = (classes.columns as Plain[]).map((shown) => {
    const column = layer.columns.find(({ id }) => id === shown.id);
    return { ...shown, label: shown.label ?? (column ? titleOf(column) : "") };
  });
  return { ...settings, classesSettings: { ...classes, columns } };
}

/** As `shownSettings`, for `visualSettings` alone and without the titles of columns. */
export function shownVisual(layer: LayerNode, stored: StoredSettings, values?: VisualValues): Plain {
  const settings = withValues(stored, values);
  const text = settings.textSettings as Plain;
  return {
    ...withCode(layer, settings, ["column", "columnCode"]),
    textSettings: { ...text, column: codeOf(layer, text.column) },
    classesSettings: shownClasses(layer, settings.type, settings.classesSettings as Plain),
  };
}

/** All fields of the type, null where absent. */
function shownClasses(layer: LayerNode, type: unknown, classes: Plain): Plain {
  switch (type) {
    case 2: {
      const items = (classes.classes as Plain[]).map((item) => ({ value: null, ...item }));
      return {
        ...classes,
        classes: items,
        defaultClass: { value: null, ...(classes.defaultClass as Plain) },
      };
    }
    case 4:
    case 5:
    case 6: {
      const columns = (classes.columns as Plain[]).map((column) => withCode(layer, column, ["id", "code"]));
      return { ...withCode(layer, classes, ["sizeColumn", "sizeColumnCode"]), columns };
    }
    case 7:
      return { markerSizeField: null, useWeightField: null, ...classes };
    default:
      return classes;
  }
}

const codeOf = (layer: LayerNode, id: unknown): string | null =>
  layer.columns.find((column) => column.id === id)?.code ?? null;

/** Adds the code of the column with the id; both are null if there is no such column. */
function withCode(
  layer: LayerNode,
  settings: StoredSettings,
  [idField, codeField]: readonly [string, string],
): Plain {
  const code = codeOf(layer, settings[idField]);
  return { ...settings, [idField]: code === null ? null : settings[idField], [codeField]: code };
}
