import type { GeometryKind } from "../geo/wkb.js";

/** The CartoCSS of a new layer. */

const point = `  marker-width: 7;
  marker-fill: #2a6fbb;
  marker-line-color: #ffffff;
  marker-line-width: 1;
  marker-allow-overlap: true;`;
const line = `  line-color: #2a6fbb;
  line-width: 1.5;
  line-join: round;
  line-cap: round;`;
const polygon = `  polygon-fill: #2a6fbb;
  polygon-opacity: 0.35;
  line-color: #1f5690;
  line-width: 1;
  line-join: round;`;

const indent = (block: string): string => block.replaceAll(/^/gm, "  ");
const ofGeometryType = (mapnikType: 1 | 2 | 3, block: string): string =>
  `  ['mapnik::geometry_type'=${mapnikType}] {\n${indent(block)}\n  }`;

const bodies: Readonly<Record<GeometryKind, string>> = {
  Point: point,
  LineString: line,
  Polygon: polygon,
  Unknown: [ofGeometryType(3, polygon), ofGeometryType(2, line), ofGeometryType(1, point)].join("\n"),
};

/** In a layer's own style every `#id` selects that layer, so all layers can have the same text. */
export const defaultStyle = (kind: GeometryKind): string => `#layer {\n${bodies[kind]}\n}\n`;
