import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { defaultStyle } from "../../src/style/default-style.js";
import {
  labelsOf,
  readForm,
  type SymbolField,
  withLabel,
  withSymbol,
  withZooms,
} from "../../src/viewer/browser/console/style-form.js";
import { compileStyle } from "../../workers/render/compile.js";

/** Styles that are written as text and set by the form in turn: neither loses what the other wrote. */

const file = (name: string) => readFileSync(join(process.cwd(), name), "utf8");
const label = { column: "name", fromZoom: 8, importance: { column: "pop", least: [16, 256] } };

/** As people write them, with what a form can set. */
const styles: Readonly<Record<string, string>> = {
  "a layer of CARTO": file("test/fixtures/style/carto-points.mss"),
  "new areas": defaultStyle("Polygon", { label }),
  "new points": defaultStyle("Point", { label, room: 9 }),
  "new lines": defaultStyle("LineString", { label }),
  "a new layer of all kinds": defaultStyle("Unknown", { label }),
  "spaces in filters": `#ways[ zoom >= 5 ][zoom<=18] {
  line-color: #ABC; // as on paper
  line-width: 2.5; [zoom < 10] { line-width: 1; }
}
#ways::ref[ zoom >= 5 ][zoom<=18][ref != ''] { text-name: "[ref]"; text-size: 9; text-face-name: 'DejaVu Sans Bold'; }
`,
  "comments everywhere": `/* { */ #a /* the layer */ {
  polygon-fill: /* brand; */ #ff8800 /* not #ff8801 } */;
  polygon-opacity: .5 /* half */; line-color: #112233; line-width: 1; // thin
  polygon-smooth: 0.1;
}
// labels: none;
`,
  "line ends of Windows": `#a {\r\n  marker-width: 10;\r\n  marker-fill: #ff0000;\r\n}\r\n#a::n {\r\n  text-name: [name];\r\n  text-face-name: "DejaVu Sans Book";\r\n}\r\n`,
  "one line":
    "#a{marker-width:6;marker-height:12;marker-fill:#f00;marker-file:url(icon:star)}#a::n{text-name:[name];text-size:9;text-face-name:'DejaVu Sans Book'}",
  "geometry types in other quotes": `#a {
  ["mapnik::geometry_type" = 2] { line-color: #112233; line-width: 2; line-dasharray: 4, 2; }
  [ 'mapnik::geometry_type' = 3 ] { polygon-fill: #445566; polygon-comp-op: multiply; }
}
`,
};
const others: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ...["arrows", "buildings", "carto-bubbles", "carto-choropleth", "four-layers", "heatmap", "labels-ru"],
    ...["osm-landuse", "osm-roads", "raster"],
  ].map((name) => [name, file(`test/fixtures/style/${name}.mss`)]),
);

const compiles = (layerStyle: string) =>
  compileStyle({ mapStyle: "", layerStyle, layerCode: "a", deadlineMs: 60_000 });
const fields: readonly SymbolField[] = ["fill", "stroke", "width", "size", "opacity"];
/** How much of a text is another in the next. */
function replacedLength(css: string, other: string): number {
  let start = 0;
  while (start < css.length && css[start] === other[start]) start++;
  let end = 0;
  while (end < css.length - start && css.at(-1 - end) === other.at(-1 - end)) end++;
  return css.length - start - end;
}

t.test("the form changes its value and nothing else", (t) => {
  for (const [name, css] of Object.entries(styles)) {
    const form = readForm(css);
    t.ok(form, `${name} has a form`);
    for (const symbol of form?.symbols ?? [])
      for (const field of fields) {
        const value = symbol[field];
        if (value === undefined) continue;
        const same = withSymbol(css, symbol.kind, field, value);
        const isWritten =
          css === same || typeof value === "string" || field === "opacity" || field === "width";
        t.ok(isWritten, `${name}: ${field} as it is`);
        const other = withSymbol(css, symbol.kind, field, typeof value === "number" ? 0.5 : "#010203");
        t.match(compiles(other), { ok: true }, `${name}: ${field}`);
        t.match(
          readForm(other)?.symbols.find(({ kind }) => kind === symbol.kind),
          { [field]: typeof value === "number" ? 0.5 : "#010203" },
          `${name}: ${field} is read back`,
        );
        const comments = (text: string) => text.match(/\/\*.*?\*\/|\/\/[^\n]*/g) ?? [];
        t.same(comments(other), comments(css), `${name}: comments`);
        if (typeof value === "string") t.ok(replacedLength(css, other) <= 7, `${name}: ${field} and no more`);
      }
  }
  t.end();
});

t.test("labels that are taken off come back as they were written", (t) => {
  for (const [name, css] of Object.entries(styles)) {
    if (readForm(css)?.label === null) continue;
    const known = labelsOf(css);
    const plain = withLabel(css, null);
    t.equal(readForm(plain)?.label, null, name);
    const again = withLabel(plain, "other", known);
    t.equal(readForm(again)?.label, "other", name);
    t.match(compiles(again), { ok: true }, name);
    const rules = (text: string) =>
      text
        .replace(/text-name:[^;]*/g, "")
        .replace(/\s/g, "")
        .split("}")
        .sort();
    t.same(rules(again), rules(css), `${name}: all but the column`);
    // Also when the zooms were changed meanwhile.
    const limited = withLabel(withZooms(plain, 2, 19), "other", known);
    t.match(readForm(limited), { minZoom: 2, maxZoom: 19, label: "other" });
    t.match(compiles(limited), { ok: true }, name);
  }
  t.end();
});

t.test("zooms that are limited and set free leave the style as it was", (t) => {
  for (const [name, css] of Object.entries(styles)) {
    const { minZoom, maxZoom } = readForm(css)!;
    const limited = withZooms(css, 3, 11);
    t.match(readForm(limited), { minZoom: 3, maxZoom: 11 }, name);
    t.match(compiles(limited), { ok: true }, name);
    const back = withZooms(limited, minZoom, maxZoom);
    const spaceless = (text: string) => text.replace(/\s/g, "");
    t.equal(spaceless(back), spaceless(css), name);
  }
  t.end();
});

t.test("what the form cannot show, it does not touch", (t) => {
  for (const [name, css] of Object.entries(others)) t.equal(readForm(css), undefined, name);
  t.end();
});
