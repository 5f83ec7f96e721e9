/** What the reference pictures show: each symbolizer, on 128 × 128 pixels, one a unit of the data, centre at 0, 0. */

export interface ReferenceCase {
  readonly css: string;
  readonly data: "area" | "line" | "curve" | "points" | "image";
}

const label = "text-face-name: 'DejaVu Sans Book'; text-size: 14; text-fill: #223355;";
const halo = "text-halo-fill: #ffffff; text-halo-radius: 2;";

export const referenceCases: Readonly<Record<string, ReferenceCase>> = {
  line: {
    css: "#x { line-width: 6; line-color: #2a6fbb; line-join: round; line-cap: round; }",
    data: "line",
  },
  "line-dashes": {
    css: "#x { line-width: 4; line-color: #b0392b; line-dasharray: 12, 6, 2, 6; line-offset: 8; }",
    data: "line",
  },
  "line-instances": {
    css: "#x { casing/line-width: 12; casing/line-color: #555; fill/line-width: 8; fill/line-color: #fd8; }",
    data: "line",
  },
  "line-pattern": { css: "#x { line-pattern-file: url(pattern.svg); }", data: "line" },
  polygon: {
    css: "#x { polygon-fill: #7fb86b; polygon-opacity: 0.7; line-width: 2; line-color: darken(#7fb86b, 20%); }",
    data: "area",
  },
  "polygon-gamma": {
    css: "#x { polygon-fill: #8856a7; polygon-gamma: 0.3; polygon-smooth: 1; }",
    data: "area",
  },
  "polygon-pattern": { css: "#x { polygon-pattern-file: url(pattern.svg); }", data: "area" },
  "polygon-pattern-bitmap": {
    css: "#x { polygon-pattern-file: url(pattern.png); polygon-pattern-alignment: local; }",
    data: "area",
  },
  point: { css: "#x { point-file: url(icon:star); point-allow-overlap: true; }", data: "points" },
  marker: {
    css: "#x { marker-width: [size]; marker-fill: #e67e22; marker-line-color: #fff; marker-line-width: 3; marker-allow-overlap: true; }",
    data: "points",
  },
  "marker-arrows": {
    css: "#x { marker-type: arrow; marker-placement: line; marker-spacing: 40; marker-fill: #16a085; marker-width: 24; }",
    data: "line",
  },
  "marker-file": {
    css: "#x { marker-file: url(icon:pin); marker-width: [size]; marker-fill: #c0392b; marker-transform: rotate([turn]); marker-allow-overlap: true; }",
    data: "points",
  },
  text: {
    css: `#x { text-name: [name]; ${label} ${halo} text-dy: 10; text-allow-overlap: true; }`,
    data: "points",
  },
  "text-along-line": {
    css: `#x { text-name: "'Main Street'"; ${label} ${halo} text-placement: line; text-dy: 12; }`,
    data: "curve",
  },
  "text-wrapped": {
    css: `#x { text-name: "'Park of the four winds'"; ${label} text-wrap-width: 60; text-line-spacing: 2; text-placement: interior; }`,
    data: "area",
  },
  shield: {
    css: "#x { shield-file: url(plate.svg); shield-name: [ref]; shield-face-name: 'DejaVu Sans Bold'; shield-size: 12; shield-fill: #fff; shield-allow-overlap: true; }",
    data: "points",
  },
  building: { css: "#x { building-fill: #c9b8a5; building-height: 20; }", data: "area" },
  dot: { css: "#x { dot-fill: #d62728; dot-width: 8; dot-height: 8; }", data: "points" },
  debug: { css: "#x { marker-width: 20; debug-mode: collision; }", data: "points" },
  raster: { css: "#x { raster-scaling: bilinear; raster-opacity: 0.8; }", data: "image" },
  "attachment-blurred": {
    css: "#x::glow { line-width: 14; line-color: #f39c12; image-filters: agg-stack-blur(5, 5); opacity: 0.8; } #x { line-width: 3; line-color: #7a4b00; }",
    data: "line",
  },
  "attachment-multiplied": {
    css: "#x { polygon-fill: #6baed6; } #x::over { polygon-fill: #fdae6b; polygon-geometry-transform: translate(20, 12); comp-op: multiply; }",
    data: "area",
  },
  classes: {
    css: `@w: 6;
      #x { marker-width: 4; marker-fill: #999; marker-allow-overlap: true; marker-line-width: 0;
        [size > 20] { marker-width: @w * 2; marker-fill: mix(#ff0000, #0000ff, 50%); }
        [name = 'Ель'] { marker-width: 20; marker-fill: spin(#ff0000, 120); }
        [zoom >= 20] { marker-width: 100; } }`,
    data: "points",
  },
};
