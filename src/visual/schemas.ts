import { z } from "zod";
import { languagePattern } from "../catalog/codes.js";

/**
 * Schemas of visualization settings. Unknown fields are dropped; absent ones get defaults. Columns are given by id or code;
 * `settings.ts` resolves them. What only one kind of visualization has is in its file in `kinds`.
 */

export const colour = z.string().regex(/^#[0-9A-Fa-f]{6}$/, "must be a colour such as #2a6fbb");
export const opacity = z.number().min(0).max(1);
export const size = z.number().min(0).max(10_000);
export const name = z.string().max(500);
export const path = z.string().max(1_000);
export const flag = (value: boolean) => z.boolean().default(value);
/** Clients define the names of patterns. */
export const pattern = z.union([z.string().max(100), z.number()]);
export const columnId = z.number().int().positive();
export const columnCode = z.string().max(44);
const zoom = z.number().int().min(0).max(22);
const language = z.string().regex(languagePattern, "must be a language code");
const jsonObject = z.record(z.string(), z.unknown());

/** Colours of classes and columns that are given none: the colour-blind can tell them apart. */
const palette = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"] as const;
export const paletteSize = palette.length;
export const paletteColor = (at: number): string => palette[at % palette.length]!;

/** Of lines in the colour of their class: thinner ones do not show it. */
export const defaultLineWidth = 2;

/** Of one visualization. */
export const maxClasses = 1_000;

export const defaultClasses = 5;

/** Of labels. */
export const labelColours = { fontColor: "#000000", haloColor: "#ffffff" } as const;

/** Of borders. */
export const plainBorder = { width: 1, color: "#ffffff" } as const;

/** Settings that all kinds of visualizations have. */
export const commonSchema = z.object({
  type: z.number().int(),
  column: columnId.optional(),
  columnCode: columnCode.optional(),
  /** Absent: the one that suits the values (`withSuited`). */
  algorithm: z.number().int().min(1).max(3).optional(),
  classesCount: z.number().int().min(1).max(maxClasses).optional(),
  pointSettings: z
    .object({ size: size.default(10), allowOverlap: flag(true), sizeEnabled: flag(false) })
    .prefault({}),
  showBorder: flag(true),
  borderSettings: z
    .object({
      opacity: opacity.default(1),
      pattern: pattern.default(""),
      width: size.default(plainBorder.width),
      color: colour.default(plainBorder.color),
      /** Whether rims of bubbles suit their fills and sizes. Absent: where neither width nor colour is given. An addition to the contract. */
      colorByFill: z.boolean().optional(),
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
      haloColor: colour.default(labelColours.haloColor),
      column: columnCode.optional(),
      fontColor: colour.default(labelColours.fontColor),
      /** Whether labels of areas are light on dark fills. Absent: where no colours are given. An addition to the contract. */
      colorByFill: z.boolean().optional(),
      textOffset: z.number().min(-10_000).max(10_000).default(0),
      offsetEnabled: flag(false),
      /** The first zoom with labels. Absent: from where on there is room for them (`withLabelZoom`). An addition to the contract. */
      fromZoom: zoom.optional(),
    })
    .prefault({}),
  showLegend: flag(true),
  showLegendName: flag(true),
  legendName: name.default(""),
  legendNames: z
    .array(
      z.record(language, name).refine((names) => Object.keys(names).length === 1, "must have one language"),
    )
    .max(100)
    .default([]),
  showValues: flag(true),
});

export const customSchema = z.object({
  type: z.string().min(1).max(200),
  columns: z.record(z.uuid(), columnId).default({}),
  icons: z.record(z.uuid(), path).default({}),
  settings: jsonObject.default({}),
});

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
