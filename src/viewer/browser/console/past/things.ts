import type { TextKey } from "../../texts.js";

/** What things of a project are called. */
export const thingTexts = {
  map: "thingMap",
  folder: "thingFolder",
  layer: "layerOfMap",
  column: "column",
} as const satisfies Readonly<Record<string, TextKey>>;
export type Thing = keyof typeof thingTexts;
