import type { TextKey } from "../texts.js";

const words: Readonly<Record<string, TextKey>> = {
  Point: "geometryPoint",
  LineString: "geometryLine",
  Polygon: "geometryArea",
};

/** What a type of geometry is called, such as `MultiPoint` of GeoJSON. */
export const geometryWord = (type: string): TextKey => words[type.replace(/^Multi/, "")] ?? "geometryMixed";
