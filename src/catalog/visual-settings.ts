import { z } from "zod";
import { languagePattern } from "./codes.js";

/**
 * Schemas of visualization settings. Unknown fields are dropped; absent ones get defaults. Columns are given by id or code;
 * `visualization.ts` resolves them.
 */

const colour = z.string().regex(/^#[0-9A-Fa-f]{6}$/, "a colour such as #2a6fbb");
const opacity = z.number().min(0).max(1);
const size = z.number().min(0).max(10_000);
const name = z.string().max(500);
const path = z.string().max(1_000);
const flag = (value: boolean) => z.boolean().default(value);
/** Clients define the names of patterns. */
const pattern = z.union([z.string().max(100), z.number()]);
const columnId = z.number().int().positive();
const columnCode = z.string().max(44);
const language = z.string().regex(languagePattern, "a language code");
const jsonObject = z.record(z.string(), z.unknown());

/** Of one visualization. */
const maxClasses = 1_000;

const common = z.object({
  type: z.number().int().min(1).max(7),
  column: columnId.optional(),
  columnCode: columnCode.optional(),
  algorithm: z.number().int().min(1).max(3).default(1),
  classesCount: z.number().int().min(1).max(maxClasses).default(5),
  pointSettings: z
    .object({ size: size.default(10), allowOverlap: flag(true), sizeEnabled: flag(false) })
    .prefault({}),
  showBorder: flag(true),
  borderSettings: z
    .object({
      opacity: opacity.default(1),
      pattern: pattern.default(""),
      width: size.default(1),
      color: colour.default("#ffffff"),
    })
    .prefault({}),
  showText: flag(false),
  textSettings: z
    .object({
      fontSize: size.default(12),
      halo: flag(true),
      haloOpacity: opacity.default(1),
      fontOpacity: opacity.default(1),
      fontFamily: name.default(""),
      allowOverlap: flag(false),
      haloWidth: size.default(1),
      haloColor: colour.default("#ffffff"),
      column: columnCode.optional(),
      fontColor: colour.default("#000000"),
      textOffset: z.number().min(-10_000).max(10_000).default(0),
      offsetEnabled: flag(false),
    })
    .prefault({}),
  showLegend: flag(true),
  showLegendName: flag(true),
  legendName: name.default(""),
  legendNames: z
    .array(z.record(language, name).refine((names) => Object.keys(names).length === 1, "one language each"))
    .max(100)
    .default([]),
  showValues: flag(true),
});

const classItem = z.object({
  count: z.number().int().min(0).default(0),
  // Bounded: answers with the map's tree contain all values.
  value: z.union([z.string().max(1_000), z.number(), z.boolean()]).optional(),
  icon: path.default(""),
  checked: flag(true),
  useIcon: flag(false),
  color: colour.default("#2a6fbb"),
});

const gradient = z.object({
  opacity: opacity.default(1),
  lineWidth: size.default(1),
  midColor: colour.default("#ffffbf"),
  minColor: colour.default("#2c7bb6"),
  maxColor: colour.default("#d7191c"),
  linePattern: pattern.default(""),
});
const categories = z.object({
  opacity: opacity.default(1),
  linePattern: pattern.default(""),
  lineWidth: size.default(1),
  defaultClass: classItem.prefault({}),
  classes: z.array(classItem).max(maxClasses).default([]),
});
const bubbles = z.object({
  pointSizeMin: size.default(5),
  pointSizeMax: size.default(50),
  icon: path.default(""),
  useIcon: flag(false),
  opacity: opacity.default(1),
  color: colour.default("#2a6fbb"),
});
const charts = z.object({
  sizeFrom: size.default(20),
  sizeTo: size.default(60),
  showScale: flag(false),
  sizeColumnCode: columnCode.optional(),
  sizeColumn: columnId.optional(),
  sizeValue: size.default(40),
  sizeType: z.number().int().min(1).max(3).default(1),
  allowOverlap: flag(false),
  opacity: opacity.default(1),
  columns: z
    .array(
      z.object({
        code: columnCode.optional(),
        id: columnId.optional(),
        color: colour.default("#2a6fbb"),
        label: name.optional(),
      }),
    )
    .min(1)
    .max(100),
});
const heat = z.object({
  markerSizeMin: size.default(5),
  markerSizeMax: size.default(50),
  markerSize: size.default(20),
  markerSizeType: z.enum(["fixed", "field"]).default("fixed"),
  markerSizeField: columnId.optional(),
  layerOpacity: opacity.default(1),
  markerOpacity: opacity.default(1),
  weightNormalize: flag(false),
  weightNormalizeMin: z.number().default(0),
  weightNormalizeMax: z.number().default(1),
  useWeight: flag(false),
  useWeightField: columnId.optional(),
  linkToScale: flag(false),
  linkToScaleZoom: z.number().min(0).max(22).default(0),
  colors: z.array(colour).min(2).max(100).default(["#0000ff", "#00ff00", "#ffff00", "#ff0000"]),
});

export type VisualType = 1 | 2 | 3 | 4 | 5 | 6 | 7;

/** Settings that all types of visualizations have. */
export const visualSchema = common;
/** `classesSettings` of each type. */
export const classesSchemas = {
  1: gradient.prefault({}),
  2: categories.prefault({}),
  3: bubbles.prefault({}),
  4: charts,
  5: charts,
  6: charts,
  7: heat.prefault({}),
} as const;

export const customSchema = z.object({
  type: z.string().min(1).max(200),
  columns: z.record(z.uuid(), columnId).default({}),
  icons: z.record(z.uuid(), path).default({}),
  settings: jsonObject.default({}),
});

const zoom = z.number().int().min(0).max(22);
const offset = z.number().min(-10_000).max(10_000).default(0);

export const vectorSchema = z.object({
  stylesPolygon: jsonObject.default({}),
  stylesText: jsonObject.default({}),
  stylesLine: jsonObject.default({}),
  stylesPoint: z
    .object({ icon: path.default(""), iconDx: offset, iconDy: offset, iconOffsetEnabled: flag(false) })
    .prefault({}),
  minZoom: zoom.default(0),
  maxZoom: zoom.default(22),
  zoomsEnabled: flag(false),
  showPopup: flag(false),
  popupColumn: columnId.optional(),
  popupColumnCode: columnCode.optional(),
  clusteringEnabled: flag(false),
  clusterSettings: z
    .object({
      objectsCountDx: offset,
      objectsCountDy: offset,
      icon: path.default(""),
      showObjectsCount: flag(true),
      iconSizeMin: size.default(20),
      iconSizeMax: size.default(60),
      iconSizeEnabled: flag(false),
      radius: size.default(40),
      iconDx: offset,
      iconDy: offset,
      iconEnabled: flag(false),
      iconOffsetEnabled: flag(false),
      clusteringType: name.default(""),
      maxZoom: zoom.default(22),
      maxZoomEnabled: flag(false),
      splitByCategories: flag(false),
    })
    .prefault({}),
});

const schemaOf = (schema: z.ZodType) => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input" });
  return rest;
};

/** JSON Schemas of the settings in requests. */
export const settingsJsonSchemas = {
  visualSettings: {
    allOf: [
      schemaOf(common),
      {
        properties: {
          classesSettings: { anyOf: [gradient, categories, bubbles, charts, heat].map(schemaOf) },
        },
      },
    ],
  },
  visualCustomSettings: schemaOf(customSchema),
  vectorSettings: schemaOf(vectorSchema),
} as const;
