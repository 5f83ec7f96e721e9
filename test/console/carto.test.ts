import t from "tap";
import { allowedProperties } from "../../src/style/allowed.js";
import { expectedAt } from "../../src/viewer/browser/console/carto/expected.js";
import {
  properties,
  rangeOf,
  takesColumns,
  valuesOf,
} from "../../src/viewer/browser/console/carto/vocabulary.js";

/** What the editor of CartoCSS proposes, by what the server takes. */

/** What can stand at the `|` of a style, and what is written of it. */
function at(css: string): Record<string, unknown> | undefined {
  const place = css.indexOf("|");
  const found = expectedAt(css.replace("|", ""), place);
  if (!found) return undefined;
  const { from, ...rest } = found;
  return { ...rest, written: css.slice(from, place) };
}

t.test("the place in a style tells what can stand there", (t) => {
  for (const [css, expected] of [
    ["#la|", { kind: "selector", written: "#la" }],
    ["#a { line-w| }", { kind: "property", written: "line-w" }],
    ["#a { line-width: 2; | }", { kind: "property", written: "" }],
    ["#a { a/line-w| }", { kind: "property", written: "line-w" }],
    ["#a { [zoom>3] { marker-| } }", { kind: "property", written: "marker-" }],
    ["#a { line-join: ro| }", { kind: "value", property: "line-join", written: "ro" }],
    ["#a { line-join:|", { kind: "value", property: "line-join", written: "" }],
    ["#a { b/line-join: |;", { kind: "value", property: "line-join", written: "" }],
    ['#a { text-face-name: "Dej|', { kind: "value", property: "text-face-name", written: '"Dej' }],
    ["#a { line-color: #f0|; }", { kind: "value", property: "line-color", written: "#f0" }],
    ["#a { text-name: [na|]; }", { kind: "column", written: "na" }],
    ["#a { text-name: [name] + ' ' + [|", { kind: "column", written: "" }],
    ["#a[po|]", { kind: "filter", written: "po" }],
    ["#a { [po| > 3] { } }", { kind: "filter", written: "po" }],
    ["#a { line-color: @ro|; }", { kind: "variable", written: "@ro" }],
    ["#a { line-color: @|", { kind: "variable", written: "@" }],
    ["@road: #f|", { kind: "value", property: "@road", written: "#f" }],
    ["#a { line-color: darken(@r|", { kind: "variable", written: "@r" }],
    ["#a { line-color: mix(#f|", { kind: "argument", written: "#f" }],
    ["#a { text-name: 'x' } #b { mark|", { kind: "property", written: "mark" }],
    ["#a { text-name: 'open\n; line-|", { kind: "property", written: "line-" }],
  ] as const)
    t.same(at(css), expected, css);
  for (const css of [
    "/* line-|",
    "// line-|",
    "#a { /* x */ /* line-| } */",
    "#a[kind = |]",
    "#a ::|",
    "#a { ::b| }",
  ])
    t.equal(at(css), undefined, css);
  t.end();
});

t.test("properties and their values are those that the server checks", (t) => {
  t.ok(properties.every((name) => allowedProperties.has(name)));
  t.ok(properties.includes("line-join") && properties.includes("line"));
  t.notOk(properties.includes("buffer-size"), "not what only a map has");
  const texts = (property: string) => valuesOf(property).map(({ text }) => text);
  t.same(texts("line-join"), ["miter", "miter-revert", "round", "bevel"]);
  t.same(texts("text-avoid-edges"), ["true", "false"]);
  t.ok(texts("line-color").includes("darken") && !texts("line-color").includes("rotate"));
  t.ok(texts("marker-transform").includes("rotate"));
  t.ok(texts("text-face-name").includes('"DejaVu Sans Book"'));
  t.same(texts("line"), ["none"]);
  t.same(texts("line-colour"), []);
  t.equal(rangeOf("line-opacity"), "0 – 1");
  t.equal(rangeOf("line-color"), "");
  t.ok(takesColumns("text-name") && takesColumns("marker-width") && !takesColumns("line-join"));
  t.end();
});
