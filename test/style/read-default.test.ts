import t from "tap";
import { readDefault } from "../../src/style/read-default.js";

/** Default styles that earlier versions wrote are known as untouched, too. */

const symbols = (blocks: string) => `#layer {\n${blocks.replaceAll(/^/gm, "  ")}\n}\n`;
const names = (scope: string, blocks: string) =>
  `#layer::names${scope} {\n${blocks.replaceAll(/^/gm, "  ")}\n}\n`;
const text = `text-name: [name];
text-face-name: "DejaVu Sans Book";
text-size: 10;
text-fill: #333333;
text-halo-fill: rgba(255, 255, 255, 0.85);
text-halo-radius: 1.5;`;
const besidePoints = `text-placement-type: simple;
text-placements: "E,W,N,S";
text-dx: 6;
text-dy: 6;
text-wrap-width: 100;`;

/** Of all kinds, without colours in turn. */
const blue = symbols(`['mapnik::geometry_type'=3] {
  polygon-fill: #2a6fbb;
  polygon-opacity: 0.35;
  line-color: #1f5690;
  line-width: 1;
  line-join: round;
}
['mapnik::geometry_type'=2] {
  line-color: #2a6fbb;
  line-width: 1.5;
  line-join: round;
  line-cap: round;
}
['mapnik::geometry_type'=1] {
  marker-width: 7;
  marker-fill: #2a6fbb;
  marker-line-color: #ffffff;
  marker-line-width: 1;
  marker-allow-overlap: true;
}`);
/** Of all kinds, very many, before their room was measured. */
const small = symbols(`['mapnik::geometry_type'=3] {
  polygon-fill: #0072b2;
  polygon-opacity: 0.25;
  line-color: #0072b2;
  line-width: 0.8;
  line-join: round;
  [zoom<13] { line-width: 0.3; }
}
['mapnik::geometry_type'=2] {
  line-color: #0072b2;
  line-width: 1.2;
  line-join: round;
  line-cap: round;
  [zoom<13] { line-width: 0.6; }
  [zoom<9] { line-width: 0.4; }
}
['mapnik::geometry_type'=1] {
  marker-width: 5;
  marker-fill: #0072b2;
  marker-line-color: #ffffff;
  marker-line-width: 0.5;
  marker-allow-overlap: true;
  marker-ignore-placement: true;
  [zoom<13] { marker-width: 3; marker-line-width: 0; }
  [zoom<8] { marker-width: 2; marker-line-width: 0; }
}`);
const line = symbols(`line-color: #0072b2;
line-width: 2;
line-join: round;
line-cap: round;
[zoom<10] { line-width: 1.5; }
[zoom<5] { line-width: 1; }`);
const point = (rules: string) => `marker-width: 8;
marker-fill: #0072b2;
marker-line-color: #ffffff;
marker-line-width: 1;
marker-allow-overlap: true;
${rules}`;
/** Names on points that kept nothing clear, twice on a screen. */
const named = `${symbols(
  point("[zoom<10] { marker-width: 6; }\n[zoom<5] { marker-width: 5; marker-line-width: 0.75; }"),
)}${names("[zoom>=7]", `${text}\n${besidePoints}`)}`;
/** Of very many points that kept no names clear, the greatest named first, and wrapped after the width. */
const denseStyle = `${symbols(
  point(`marker-ignore-placement: true;
[zoom<5] { marker-width: 6; marker-line-width: 0.75; }
[zoom<4] { marker-width: 4; marker-line-width: 0.5; }
[zoom<3] { marker-width: 3; marker-line-width: 0; }
[zoom<2] { marker-width: 2; marker-line-width: 0; }`),
)}${names(
  "1[zoom>=5][people>=100]",
  `${text}\ntext-repeat-distance: 100;\n${besidePoints}\n[zoom<7] { text-margin: 20; }`,
)}${names("[zoom>=7]", `${text}\ntext-repeat-distance: 100;\n${besidePoints}`)}`;

const label = { column: "name", fromZoom: 7 };
const earlier = [
  ["Unknown", blue, { hue: undefined, label: undefined }],
  ["Unknown", small, { hue: 2, dense: true, label: undefined }],
  ["LineString", line, { hue: 2, dense: false, label: undefined }],
  ["Point", named, { hue: 2, dense: false, label }],
  [
    "Point",
    denseStyle,
    { hue: 2, dense: true, room: 5, label: { ...label, importance: { column: "people", least: [100] } } },
  ],
] as const;

t.test("a default style of an earlier version is known, with its look", (t) => {
  for (const [kind, css, look] of earlier) t.match(readDefault(css, kind), look, css);
  t.end();
});

t.test("one of which somebody has changed a size, or left a line out, is none", (t) => {
  const width = /(marker|line)-width: /;
  for (const [kind, css] of earlier) {
    t.equal(readDefault(css.replace(width, "$&1"), kind), undefined);
    t.equal(readDefault(css.replace(/\n.*(line-join|marker-allow-overlap).*/, ""), kind), undefined);
  }
  for (const line of ["text-dx: 6;", "text-wrap-width: 100;", "text-repeat-distance: 100;"])
    t.equal(readDefault(denseStyle.replace(`  ${line}\n`, ""), "Point"), undefined, line);
  t.end();
});

t.test("what no version wrote together is none", (t) => {
  const mixed = named.replaceAll("  text-wrap-width: 100;", "$&\n  text-wrap-before: true;");
  t.equal(readDefault(mixed, "Point"), undefined);
  t.equal(readDefault(named.replace("text-dx", "text-repeat-distance: 100;\n  text-dx"), "Point"), undefined);
  t.end();
});
