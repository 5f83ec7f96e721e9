import { z } from "zod";
import type { Column, LayerNode, StoredSettings } from "../catalog/state.js";
import { wrongValue } from "../wrong-value.js";
import {
  byId,
  codeOf,
  excerptOf,
  findColumn,
  type Plain,
  type Settings,
  withCode,
  wrongSettings,
} from "./columns.js";
import { allKinds, kindNumbers, kindOf } from "./kinds.js";
import { labelColumn } from "./labels.js";
import { columnsOf, type Plugins } from "./plugins.js";
import {
  commonSchema,
  customSchema,
  defaultClasses,
  labelColours,
  plainBorder,
  vectorSchema,
} from "./schemas.js";
import type { VisualValues } from "./values.js";

/**
 * Reads and shows visualization settings of a layer, which are used instead of its CartoCSS: thematic maps by its values,
 * visualizations of plug-ins, and vector rendering by the client. Columns are stored by id and shown with their current
 * codes.
 */

export type SettingsKind = "visualSettings" | "visualCustomSettings" | "vectorSettings";

const visualSchema = commonSchema.extend({ type: z.literal([...kindNumbers]) });

const schemaOf = (schema: z.ZodType) => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input" });
  return rest;
};

/** JSON Schemas of the settings in requests. */
export const settingsJsonSchemas = {
  visualSettings: {
    allOf: [
      schemaOf(visualSchema),
      {
        properties: {
          classesSettings: { anyOf: [...new Set(allKinds.map(({ schema }) => schema))].map(schemaOf) },
        },
      },
    ],
  },
  visualCustomSettings: schemaOf(customSchema),
  vectorSettings: schemaOf(vectorSchema),
} as const;

/**
 * Validates settings for a layer and adds defaults.
 * @throws Failure invalid_value with `data.fields` (path → reason), unknown_column
 */
export function readSettings(
  layer: LayerNode,
  kind: SettingsKind,
  given: unknown,
  plugins: Plugins = new Map(),
): StoredSettings {
  const value = withoutNulls(given, kind, 0);
  switch (kind) {
    case "visualSettings":
      return readVisual(layer, value);
    case "visualCustomSettings": {
      const settings = check(customSchema, value, kind);
      for (const [uuid, id] of Object.entries(settings.columns))
        settings.columns[uuid] = findColumn(layer, { id }, `${kind}.columns`).id;
      return readCustom(layer, settings, plugins);
    }
    case "vectorSettings": {
      const settings = check(vectorSchema, value, kind);
      if (settings.minZoom > settings.maxZoom)
        throw wrongSettings(kind, { minZoom: "It is greater than maxZoom." });
      return byId(layer, settings, ["popupColumn", "popupColumnCode"], kind);
    }
  }
}

/** Settings of a plug-in that is not there are those of clients. */
function readCustom(layer: LayerNode, given: StoredSettings, plugins: Plugins): StoredSettings {
  const plugin = plugins.get(String(given.type));
  if (!plugin) return given;
  try {
    const settings = plugin.read(given.settings as Settings, columnsOf(layer, given));
    const uuid = plugin.scaledBy?.(settings);
    const scaledBy = uuid === undefined ? undefined : (given.columns as Settings)[uuid];
    return { ...given, settings, ...(scaledBy !== undefined && { scaledBy }) };
  } catch (error) {
    throw wrongSettings("visualCustomSettings", { settings: error instanceof Error ? error.message : "" });
  }
}

function readVisual(layer: LayerNode, value: unknown): StoredSettings {
  const at = "visualSettings";
  const settings = check(visualSchema, value, at);
  const kind = kindOf(settings);
  const given = classesGiven(value);
  let classes = check(kind.schema, given, `${at}.classesSettings`) as Plain;
  if (kind.unclassed && settings.algorithm === undefined && settings.classesCount === undefined)
    classes = kind.unclassed(classes);
  const stored: Plain = byId(layer, settings, ["column", "columnCode"], at);
  if (kind.column && stored.column === undefined)
    throw wrongSettings(at, { column: "This type needs a column." });
  const built = layer.columns.find(({ id }) => id === stored.column);
  if (built && kind.column && !kind.column(built))
    throw wrongSettings(at, { column: "This type needs a column of numbers or timestamps." });
  const text = withByFill(settings.textSettings, (value as Settings).textSettings, labelColours);
  stored.textSettings = text;
  if (text.column !== undefined) {
    const { column: code, ...rest } = text;
    stored.textSettings = { ...rest, column: findColumn(layer, { code }, `${at}.textSettings.column`).id };
  }
  if (kind.hasRims)
    stored.borderSettings = withByFill(
      settings.borderSettings,
      (value as Settings).borderSettings,
      plainBorder,
    );
  stored.classesCount = settings.classesCount ?? defaultClasses;
  stored.algorithm = kind.hasBorders ? (settings.algorithm ?? unknownAlgorithm) : 1;
  const counted = kind.countOf?.(classes);
  if (counted !== undefined) {
    // Who asks for another number of classes wants others than were given.
    if (kind.hasBorders && (settings.classesCount ?? counted) !== counted)
      classes = { ...classes, breaks: undefined };
    else stored.classesCount = counted;
  }
  return {
    ...stored,
    classesSettings: kind.read?.(layer, classes, `${at}.classesSettings`, given) ?? classes,
  };
}

/**
 * Settings with `colorByFill`. What the request has of its own counts, as colours do beside a palette: a client changes it in an answer,
 * and sends it back.
 * @param usual what counts as not given
 */
function withByFill<S extends { colorByFill?: boolean | undefined }>(
  settings: S,
  given: unknown,
  usual: Settings,
): S {
  const own = Object.entries(usual);
  const isUsual = own.every(([name, value]) => (settings as Settings)[name] === value);
  const colorByFill = settings.colorByFill ?? own.every(([name]) => !isGiven(given ?? {}, name));
  return { ...settings, colorByFill: isUsual && colorByFill };
}

function check<S extends z.ZodType>(schema: S, value: unknown, at: string): z.output<S> {
  const parsed = schema.safeParse(value, { error: wrongValue });
  if (parsed.success) return parsed.data;
  const fields: Record<string, string> = Object.create(null);
  for (const issue of parsed.error.issues.slice(0, 50)) fields[excerptOf(issue.path)] = `It ${issue.message}`;
  throw wrongSettings(at, fields);
}

const maxDepth = 50;
const badText = /\0|\p{Surrogate}/u;

/** Removes nulls at all levels: null counts as absent. @throws Failure invalid_value for text that PostgreSQL cannot store */
function withoutNulls(value: unknown, at: string, depth: number): unknown {
  if (depth > maxDepth) throw wrongSettings(at, { "": "It is nested too deeply." });
  if (typeof value === "string" && badText.test(value))
    throw wrongSettings(at, { "": "A text cannot be stored." });
  if (value === null) return undefined;
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, at, depth + 1));
  const kept: Plain = Object.create(null);
  for (const [name, item] of Object.entries(value)) {
    if (badText.test(name)) throw wrongSettings(at, { "": "A name cannot be stored." });
    if (item !== null) kept[name] = withoutNulls(item, at, depth + 1);
  }
  return kept;
}

/** Of values that are not known: quantiles, which paint no map in one colour. */
const unknownAlgorithm = 2;

const isGiven = (given: unknown, name: string): boolean =>
  ((given as Settings)[name] ?? undefined) !== undefined;
const classesGiven = (given: unknown): Settings => ((given as Settings).classesSettings ?? {}) as Settings;

/** Whether the request leaves something to the server that depends on the values: the algorithm, or colours. */
export function wantsSuited(settings: StoredSettings, given: unknown): boolean {
  const { hasBorders, forBothSigns } = kindOf(settings);
  const classes = settings.classesSettings as Settings;
  return (
    hasBorders && (!isGiven(given, "algorithm") || forBothSigns?.(classes, classesGiven(given)) !== undefined)
  );
}

/** Settings with what suits the values, where the request has nothing of its own. */
export function withSuited(
  settings: StoredSettings,
  given: unknown,
  found: { readonly algorithm: number; readonly changesSign: boolean },
): StoredSettings {
  const isOwn = isGiven(given, "algorithm");
  const isEven = (isOwn ? settings.algorithm : found.algorithm) === 1;
  const classes = settings.classesSettings as Settings;
  // Of one width classes have no border at 0.
  const both =
    found.changesSign && !(isOwn && isEven)
      ? kindOf(settings).forBothSigns?.(classes, classesGiven(given))
      : undefined;
  const suited = both && isEven ? unknownAlgorithm : found.algorithm;
  return {
    ...settings,
    algorithm: isOwn ? settings.algorithm : suited,
    classesSettings: both ?? classes,
  };
}

/**
 * The column whose values are labels from a zoom on that the request leaves to the server; undefined = there is none, or no such zoom.
 * What is alone among clusters has room at all zooms, and labels that may lie over each other need none.
 */
export function labelWithoutZoom(layer: LayerNode, settings: StoredSettings): Column | undefined {
  const text = settings.textSettings as Settings;
  const { clusters, drawsNoLabels } = kindOf(settings);
  if (clusters || drawsNoLabels || text.allowOverlap === true || isGiven(text, "fromZoom")) return undefined;
  return labelColumn(layer, settings);
}

/** @param fromZoom undefined = not known: at all zooms */
export const withLabelZoom = (settings: StoredSettings, fromZoom: number | undefined): StoredSettings =>
  fromZoom === undefined
    ? settings
    : { ...settings, textSettings: { ...(settings.textSettings as Settings), fromZoom } };

/** How many of the commonest values of the column are to be classes, as the request leaves that to the server; 0 = none. */
export function commonWanted(settings: StoredSettings, given: unknown): number {
  const { ofCommon } = kindOf(settings);
  const classes = ((given as Settings).classesSettings ?? {}) as Settings;
  return ofCommon?.isWanted(classes) ? ofCommon.most : 0;
}

/** Settings with classes of these values. */
export function withCommon(settings: StoredSettings, values: readonly unknown[]): StoredSettings {
  const { ofCommon, countOf } = kindOf(settings);
  if (!ofCommon) return settings;
  const classesSettings = ofCommon.classes(settings.classesSettings as Settings, values);
  return { ...settings, classesSettings, ...(countOf && { classesCount: countOf(classesSettings) }) };
}

/**
 * Adds computed values to settings: the count of each category; `classesSettings.borders` and `classesSettings.counts`,
 * which are additions to the contract.
 */
export function withValues(settings: StoredSettings, values: VisualValues | undefined): StoredSettings {
  const added = values && kindOf(settings).withValues;
  return added
    ? { ...settings, classesSettings: added(settings.classesSettings as Settings, values) }
    : settings;
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
    const classes = settings.classesSettings as Settings;
    const titled = kindOf(settings).titled?.(layer, classes, titleOf) ?? classes;
    shown.visualSettings = { ...settings, classesSettings: titled };
  }
  if (layer.visualCustomSettings) {
    const { scaledBy: _, ...settings } = layer.visualCustomSettings;
    shown.visualCustomSettings = settings;
  }
  if (layer.vectorSettings)
    shown.vectorSettings = withCode(layer, layer.vectorSettings, ["popupColumn", "popupColumnCode"]);
  return shown;
}

/** As `shownSettings`, for `visualSettings` alone and without the titles of columns. */
export function shownVisual(layer: LayerNode, stored: StoredSettings, values?: VisualValues): Plain {
  const settings = withValues(stored, values);
  const text = settings.textSettings as Settings;
  const classes = settings.classesSettings as Settings;
  return {
    ...withCode(layer, settings, ["column", "columnCode"]),
    textSettings: { ...text, column: codeOf(layer, text.column), fromZoom: text.fromZoom ?? 0 },
    classesSettings: kindOf(settings).shown?.(layer, classes) ?? classes,
  };
}
