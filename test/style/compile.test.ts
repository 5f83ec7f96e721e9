import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { CompileRequest, CompileResponse } from "../../src/hosts/messages.js";
import { defaultStyle } from "../../src/style/default-style.js";
import type { CompiledStyle } from "../../src/style/model.js";
import { compileStyle as compileWithin } from "../../workers/render/compile.js";

const compileStyle = (request: Omit<CompileRequest, "deadlineMs">, deadlineMs = 20_000): CompileResponse =>
  compileWithin({ ...request, deadlineMs });

const fixtures = join(process.cwd(), "test/fixtures/style");

function good(layerStyle: string, mapStyle = "", layerCode = "roads"): CompiledStyle {
  const result = compileStyle({ mapStyle, layerStyle, layerCode }, 120_000);
  if (!result.ok) throw new Error(result.error);
  return result.style;
}
function error(layerStyle: string, mapStyle = "", deadlineMs = 20_000): string {
  const result = compileStyle({ mapStyle, layerStyle, layerCode: "roads" }, deadlineMs);
  if (result.ok) throw new Error(`compiled: ${JSON.stringify(result.style)}`);
  return result.error;
}
const rules = (style: CompiledStyle) => style.styles.flatMap((one) => one.rules);
/** Attributes of the first symbolizer of the only rule. */
function only(style: CompiledStyle): Readonly<Record<string, string>> {
  const [rule, ...others] = rules(style);
  if (!rule || others.length > 0) throw new Error(`not one rule: ${JSON.stringify(style)}`);
  return rule.symbolizers[0]?.attributes ?? {};
}
const repeat = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => part(index)).join("");

t.test("styles as people write them compile", async (t) => {
  for (const file of readdirSync(fixtures)) {
    const css = readFileSync(join(fixtures, file), "utf8");
    const style = good(css, "", file);
    t.ok(rules(style).length > 0, `${file} as a layer's style`);
    t.ok(style.bufferPixels >= 1 && style.bufferPixels <= 256);
    t.match(compileStyle({ mapStyle: css }), { ok: true }, `${file} as a map's style`);
  }
});

t.test("the styles of new layers compile", async (t) => {
  for (const kind of ["Point", "LineString", "Polygon", "Unknown"] as const) {
    t.ok(good(defaultStyle(kind)).styles[0]?.rules[0]?.symbolizers[0], kind);
  }
});

t.test("no style draws nothing and is no error", async (t) => {
  const nothing = { styles: [], fields: [], bufferPixels: 1 };
  t.same(good(""), { ...nothing, classes: { classes: [], more: 0 } });
  t.same(compileStyle({ mapStyle: "" }), { ok: true, style: nothing, map: {} });
});

t.test("every id in a layer's style selects that layer", async (t) => {
  const style = good("#was_called_so { line-width: 2; #fff { line-color: #fff; } }\n#Реки { }", "", "now-so");
  t.same(only(style), { stroke: "#ffffff", "stroke-width": "2" });
});

t.test("colours, strings, filters and comments are not taken for ids", async (t) => {
  const style = good(
    `/* #a { */ #x[name = '#b{'] { line-color: #abc; text-name: "'#c'"; text-face-name: 'x'; } // #d {`,
  );
  t.equal(rules(style)[0]?.filter, "[name] = '#b{'");
  t.same(
    rules(style)[0]?.symbolizers.map((one) => one.attributes.stroke ?? one.text),
    ["#aabbcc", "'#c'"],
  );
});

t.test("classes and bare attachments select the layer too", async (t) => {
  const style = good(
    ".road { line-width: 1; } ::casing { line-width: 3; } [zoom >= 5]::top { line-width: 2; }",
  );
  t.same(
    style.styles.map((one) => [one.name, one.rules[0]?.symbolizers[0]?.attributes["stroke-width"]]),
    [
      ["", "1"],
      ["casing", "3"],
      ["top", "2"],
    ],
  );
  t.equal(style.styles[2]?.rules[0]?.maxScaleDenominator, 25_000_000);
});

t.test("the map's style is the base under its layers'", async (t) => {
  const map =
    "@c: #111111; Map { background-color: @c; } #roads { line-width: 3; line-color: @c; } #other { line-cap: round; }";
  t.same(only(good("#x { line-color: #f00; }", map)), { stroke: "#ff0000", "stroke-width": "3" });
  t.same(only(good("#x { line-opacity: 0.5; }", map, "elsewhere")), { "stroke-opacity": "0.5" });
  t.same(only(good("@c: #222222; #x { line-opacity: 1; }", map)), {
    stroke: "#222222",
    "stroke-opacity": "1",
    "stroke-width": "3",
  });
  t.same(only(good("#x { polygon-fill: @c; }", "@c: #010203;")), { fill: "#010203" });
  const compiled = compileStyle({
    mapStyle: map,
    layerStyle: "@c: #222222; Map { background-color: red }",
    layerCode: "roads",
  });
  t.match(
    compiled,
    { ok: true, map: { backgroundColor: "#111111" } },
    "a layer does not change the map's properties",
  );
  t.match(compileStyle({ mapStyle: map }), {
    ok: true,
    style: { styles: [] },
    map: { backgroundColor: "#111111" },
  });
});

t.test("a layer's rules win over the map's even where those select more narrowly", async (t) => {
  const [first] = rules(
    good("#x { line-color: #f00; }", "#roads[class = 1] { line-color: #00f; line-width: 9; }"),
  );
  t.same(first?.symbolizers[0]?.attributes, { stroke: "#ff0000", "stroke-width": "9" });
});

t.test("what the map's style draws lies under what the layer's draws", async (t) => {
  const [rule] = rules(good("#x { line-width: 1; }", "#roads { polygon-fill: red; }"));
  t.same(
    rule?.symbolizers.map((one) => one.type),
    ["PolygonSymbolizer", "LineSymbolizer"],
  );
});

t.test("the columns that filters, texts and numbers read are listed", async (t) => {
  const style = good(
    `#x[a > 1] { text-name: [b] + ' ' + [c]; text-size: [d] * 2; text-face-name: x; [e = 'f'] { marker-width: [g]; } }
     #x { marker-transform: rotate([h]); } #x["mapnik::geometry_type" = point] { line-width: 1; }`,
  );
  t.same(style.fields, ["a", "d", "e", "g", "h"]);
  t.same(style.labelFields, ["b", "c"]);
});

t.test("labels show columns as texts, and calculate with numbers", async (t) => {
  const label = (text: string) => {
    const { styles, fields, labelFields } = good(`#x { text-name: ${text}; text-face-name: x; }`);
    return [styles[0]?.rules[0]?.symbolizers[0]?.text, fields, labelFields ?? []];
  };
  t.same(label("[a]"), ["[a$label]", [], ["a"]]);
  t.same(label("[svc_id]"), ["[svc_id]", ["svc_id"], []]);
  t.same(label("'no. ' + [a]"), ["'no. ' + [a$label]", [], ["a"]]);
  t.same(label("[a] + ': ' + [a] * 2"), ["[a$label] + ': ' + ([a] * 2)", ["a"], ["a"]]);
  t.same(label("[a] + [b] + ' km'"), ["[a] + [b] + ' km'", ["a", "b"], []]);
  t.same(label("[a] + ' ' + [b]"), ["[a$label] + ' ' + [b$label]", [], ["a", "b"]]);
});

t.test("numbers from columns are kept in their range", async (t) => {
  t.equal(
    only(good("#x { marker-width: [population] / 1000; }")).width,
    "min(256,max(0,[population] / 1000))",
  );
  t.equal(only(good("#x { line-opacity: [a] / [b]; }"))["stroke-opacity"], "min(1,max(0,([a] * 1.0) / [b]))");
});

t.test("labels are drawn in a face that exists", async (t) => {
  const face = (names: string) => only(good(`#x { text-name: [n]; text-face-name: ${names}; }`))["face-name"];
  t.equal(face('"Nowhere Sans", "DejaVu Serif Bold"'), "DejaVu Serif Bold");
  t.equal(face('"Open Sans Regular"'), "DejaVu Sans Book");
  t.equal(face('"Open Sans Semibold Italic"'), "DejaVu Sans Bold Oblique");
  t.equal(face('"Times New Roman Bold"'), "DejaVu Serif Bold");
  t.equal(face('"Courier New"'), "DejaVu Sans Mono Book");
  t.equal(only(good("#x { text-name: [n]; }"))["face-name"], "DejaVu Sans Book");
});

t.test("quotes in strings reach Mapnik as they were meant", async (t) => {
  const filter = (text: string) => rules(good(`#x[n = ${text}] { line-width: 1; }`))[0]?.filter;
  t.equal(filter(`'he\\'s'`), "[n] = 'he\\'s'");
  t.equal(filter(`"he's"`), "[n] = 'he\\'s'");
  t.equal(filter(`'a "b"'`), `[n] = 'a "b"'`);
  t.equal(filter(`'it\\'s "b"'`), `[n] = 'it\\'s "b"'`);
  t.equal(filter(`'a & b < c > d &amp; e'`), "[n] = 'a & b < c > d &amp; e'");
  t.equal(filter(`'back\\\\slash'`), "[n] = 'back\\\\slash'");
});

t.test("the reach covers what is drawn beside an object", async (t) => {
  t.equal(good("#x { polygon-fill: red; }").bufferPixels, 1);
  t.ok(good("#x { line-width: 20; line-join: round; line-offset: -30; }").bufferPixels >= 40);
  t.ok(good("#x { marker-width: 40; }").bufferPixels >= 20);
  t.ok(good("#x { text-name: [n]; text-face-name: x; text-size: 20; }").bufferPixels >= 100);
  t.equal(good("#x { marker-width: [n]; }").bufferPixels > 100, true);
});

t.test("a style's author is told what is wrong and where", async (t) => {
  t.equal(
    error("#x {\n  line-widht: 2;\n}"),
    "Line 2, column 3: There is no property line-widht; did you mean line-width?",
  );
  t.equal(
    error("#x {\n\n  line-width: 999; }"),
    "Line 3, column 3: line-width must be a number from 0 to 256, not 999.",
  );
  t.equal(error("#x { line-color: @nothing; }"), "Line 1, column 18: variable @nothing is undefined.");
  t.equal(error("#x {\n line-width: 1", ""), "Line 2, column 14: A block is not closed with }.");
  t.equal(error("#x { line-width: 1 }\n}", ""), "Line 2, column 1: There is a } without its {.");
  t.equal(
    error("#x { }", "#roads {\nline-color: 3px; }"),
    "In the map's style, line 2, column 1: line-color must be a color such as #aabbcc or rgba(10, 20, 30, 0.5), not 3.",
  );
  t.match(error("#x {\n line-color: red\n line-width: 2 }"), "Line 3, column 12: A ; is missing");
  t.match(error("line-color: red;"), "outside of a block");
  t.match(error("#x { line-width: 2 'a'; }"), "Line 1, column 6: ");
});

t.test("messages name the place in the style as it was written", async (t) => {
  t.equal(
    error("#a_long_name[x = 1] { line-color: @nothing; }"),
    "Line 1, column 35: variable @nothing is undefined.",
    "after an id that is replaced",
  );
  t.equal(
    error("#x { line-color: @nothing; }", "@a: red; #roads { line-width: 1; }"),
    "Line 1, column 18: variable @nothing is undefined.",
    "under a map's style",
  );
  t.equal(
    error("#x { }", "#roads {\n  line-color: red;\n  line-width: @nothing; }"),
    "In the map's style, line 3, column 15: variable @nothing is undefined.",
  );
  t.equal(
    error("#x {\n line-width: 1; [a = 1] { line-width: 2; }\n  [b = 2] { line-width: 999; } }"),
    "Line 3, column 13: line-width must be a number from 0 to 256, not 999.",
    "of several the one with the value",
  );
  t.match(error("/* a\nb */ #x { @a }"), "Line 2, column 11: ");
});

t.test("rules for other layers are not compiled", async (t) => {
  const map = repeat(3_000, (index) => `#other${index}[a = ${index}] { line-width: ${index % 9}; }`);
  const started = performance.now();
  t.equal(
    only(good("#x { line-color: red; }", `${map} #roads, #other1 { line-width: 7; }`))["stroke-width"],
    "7",
  );
  t.ok(performance.now() - started < 5_000);
});

t.test("pictures are taken by their path, with their place and the columns in their names", async (t) => {
  const style = good(
    `#x {\n marker-file: url('./symbols/a.svg');\n [z = 1] { marker-file: url("s/[kind]_[n].png"); }\n` +
      " [z = 2] { marker-file: url(icon:star); } [z = 3] { marker-file: none; } }",
  );
  t.same(
    style.pictures,
    [
      { name: "symbols/a.svg", place: "Line 2, column 2", patternGrowth: 0 },
      { name: "s/[kind]_[n].png", place: "Line 3, column 12", patternGrowth: 0 },
      { name: "icon:star", place: "Line 4, column 12", patternGrowth: 0 },
    ].sort(
      (one, other) =>
        style.pictures!.findIndex(({ name }) => name === one.name) -
        style.pictures!.findIndex(({ name }) => name === other.name),
    ),
  );
  t.same(style.pictureFields, ["kind", "n"]);
  t.same(style.fields, ["kind", "n", "z"]);
});

t.test("properties without effect are told of", async (t) => {
  const compiled = compileStyle({ mapStyle: 'Map { font-directory: url("./fonts"); }' });
  t.match(compiled, { ok: true, style: { notices: [/^Line 1, column 7: font-directory is ignored/] } });
});

t.test("a column that no layer can have is never set", async (t) => {
  t.equal(rules(good('#x["tower:type" != null] { line-width: 1; }'))[0]?.filter, "null != null");
});

const explosive = [
  "line-width:1",
  "line-color:red",
  "line-opacity:.5",
  "line-cap:round",
  "line-join:round",
  "polygon-fill:red",
  "polygon-opacity:.3",
  "marker-width:3",
  "marker-fill:red",
  "marker-opacity:.3",
  "line-gamma:.5",
  "marker-height:3",
];

t.test("hostile styles are refused", async (t) => {
  const hostile: Record<string, string> = {
    "XML in a file name": `#x { marker-file: url('x"/><Layer name="y"><Datasource>'); }`,
    "end of character data in a text": `#x { text-name: "]]><Layer/>"; text-face-name: 'x'; }`,
    "markup in a text": `#x { text-name: "</TextSymbolizer><Layer/>"; text-face-name: 'x'; }`,
    "file of the machine": "#x { marker-file: url(/etc/passwd); }",
    "file above": "#x { marker-file: url(icons/../../x.svg); }",
    "file without a picture's ending": "#x { marker-file: url(icons/none.txt); }",
    "hidden file": "#x { marker-file: url(icons/.none.svg); }",
    "icon that is a path": "#x { marker-file: url(icon:../x); }",
    "shape as a file": "#x { marker-file: url(shape://ellipse); }",
    "address elsewhere": "#x { marker-file: url(http://127.0.0.1/x.svg); }",
    "address without scheme": "#x { polygon-pattern-file: url(//127.0.0.1/x.png); }",
    "file from a column": "#x { marker-file: url([field].svg); }",
    "file from columns in a row": "#x { marker-file: url(x[a][b].svg); }",
    "file from many columns": "#x { marker-file: url(x[a]-[b]-[c].svg); }",
    "file from a quoted column": `#x { marker-file: "[field]"; }`,
    "file from an expression": "#x { marker-file: [field]; }",
    "file of a line pattern": "#x { line-pattern-file: url(/dev/zero); }",
    "file of a point": "#x { point-file: url(/dev/zero); }",
    "file of a shield": "#x { shield-name: [a]; shield-file: url(/dev/zero); shield-face-name: x; }",
    "inline SVG": "#x { marker-file: '<svg/>'; }",
    base: 'Map { base: "/etc"; }',
    "background image": "Map { background-image: url(/etc/passwd); }",
    "reference system": 'Map { srs: "+init=/etc/passwd:1"; }',
    "buffer of 1e8": "Map { buffer-size: 1e8; }",
    "blur of 1e4": "#x { line-width: 1; image-filters: agg-stack-blur(10000, 10000); }",
    "blur in a string": "#x { line-width: 1; image-filters: 'agg-stack-blur(10000,1)'; }",
    "many blurs": `#x { line-width: 1; image-filters: ${repeat(40, () => "agg-stack-blur(32,32),")}gray(); }`,
    "spacing 0": "#x { marker-placement: line; marker-spacing: 0; }",
    "spacing 0 of texts": "#x { text-name: [a]; text-face-name: x; text-placement: line; text-spacing: 0; }",
    "marker of 1e9": "#x { marker-width: 1e9; }",
    "marker below nothing": "#x { marker-width: -1; }",
    "line of 1e308": "#x { line-width: 1e308; }",
    "line of 1e999": "#x { line-width: 1e999; }",
    "dashes of nothing": "#x { line-dasharray: 0, 0; }",
    "dashes below nothing": "#x { line-dasharray: 4, -4; }",
    "dashes without end": `#x { line-dasharray: ${repeat(500, () => "1,")}1; }`,
    "text of 1e5": "#x { text-name: [a]; text-face-name: x; text-size: 100000; }",
    "placements without end": `#x { text-name: [a]; text-face-name: x; text-placement-type: simple; text-placements: "${repeat(99, () => "N,")}S"; }`,
    "enlarged 1e6 times": "#x { marker-width: 4; marker-transform: scale(1000000); }",
    "enlarged by steps": "#x { marker-width: 4; marker-transform: 'scale(8) scale(8)'; }",
    "singular matrix": "#x { marker-width: 4; marker-transform: matrix(0,0,0,0,0,0); }",
    "regular expression in a filter": '#x[a =~ "(a+)+$"] { line-width: 1; }',
    "regular expression in a text": `#x { text-name: "[a].match('(a+)+$')"; text-face-name: x; }`,
    "replacement in a text": `#x { text-name: "[a].replace('(a+)+$','b')"; text-face-name: x; }`,
    "division by zero with %": "#x { text-name: [a] % 0; text-face-name: x; }",
    "division by a column with %": "#x { marker-width: [a] % [b]; }",
    "2000 brackets": `#x ${"[".repeat(2000)}`,
    "2000 round brackets": `#x { line-width: ${"(".repeat(2000)}1${")".repeat(2000)}; }`,
    "2000 blocks": `${"#x{".repeat(2000)}${"}".repeat(2000)}`,
    "2000 brackets in a text": `#x { text-name: "${"(".repeat(950)}1${")".repeat(950)}"; text-face-name: x; }`,
    "over 1 MB": `#x { line-width: 1; }${" ".repeat(1_048_576)}`,
    "over 1 MB of characters that count more": "я".repeat(600_000),
    "variables that double": `@v0: 1;${repeat(60, (index) => `@v${index + 1}: @v${index} + @v${index};`)}#x { line-width: @v60; }`,
    "variable of itself": "@a: @b; @b: @a; #x { line-width: @a; }",
    "selectors that multiply": `${"[a=1],[b=1],[c=1],[d=1]{".repeat(12)}line-width:1${"}".repeat(12)}`,
    "filters that multiply": `#x{${explosive.map((one, index) => `[f${index}=1]{${one}}`).join("")}}`,
    "filters that multiply by inequality": `#x{${explosive.map((one, index) => `[f!=${index}]{${one}}`).join("")}}`,
    "lists of filters that multiply": `#x{${explosive.map((one, index) => `[a${index}=1],[b${index}=1]{${one}}`).join("")}}`,
    "many selectors of many properties": `${"#a,".repeat(1900)}#a{${"line-width:1;".repeat(3900)}}`,
    "errors without number": `#x{${"line-width:x;".repeat(3900)}}`,
    import: '@import "/etc/passwd"; #x { line-width: 1; }',
    "import by address": "@import url(http://127.0.0.1/);",
    "control character": "#x { line-width: 1; \u0000 }",
    "escape character in a string": '#x { text-name: "\u001b[31m"; text-face-name: x; }',
    "half of a character": '#x[a="\ud800"] { line-width: 1; }',
    "property of every object": "#x { constructor: 1; }",
    prototype: "#x { __proto__: 1; }",
    "function of every object": '#x { line-color: __defineGetter__("a", 1); }',
    "function without a name": "#x { line-color: %('a'); }",
    "column with quotes": `#x["a'] = 1 or [b" = 1] { line-width: 1; }`,
    "column of Mapnik's": `#x["mapnik::other" = 1] { line-width: 1; }`,
    "column longer than can be": `#x[${"a".repeat(60)} = 1] { line-width: 1; }`,
    "stops out of order": "#x { raster-colorizer-stops: stop(2, red) stop(1, blue); }",
    "rest that cannot be read": "#x { line-width: 1; } garbage",
    "value that cannot be read": "#x { line-width: 1 ! 2; }",
    "variable inside": "#x { @a: 1; line-width: @a; }",
    "code in backquotes": "#x { line-width: `1+1`; }",
  };
  for (const [name, css] of Object.entries(hostile)) {
    // What multiplies would take hours.
    const multiplies = /multipl|many/.test(name);
    const message = error(css, "", multiplies ? 400 : 20_000);
    t.ok(message.length > 10 && message.length < 500, `${name}: ${message}`);
    t.notMatch(
      message,
      /\/work|node_modules|\bat .*:\d+|undefined\b(?! ?\.)/,
      "no inside of the program shows",
    );
    if (!multiplies) t.equal(compileStyle({ mapStyle: css }).ok, false, `${name}, in a map's style`);
  }
});

t.test("a map's style with hundreds of layers is checked for each", async (t) => {
  const map = repeat(400, (index) => `#l${index}{line-width:1;[a=${index}]{line-width:2}}`);
  t.match(compileStyle({ mapStyle: map }), { ok: true });
  t.match(compileStyle({ mapStyle: `${map}#last[a=1]{line-width:1000}` }), {
    ok: false,
    error: /line-width must be a number from 0 to 256, not 1000/,
  });
});

t.test("two thousand rules are not too many", async (t) => {
  const styles: Record<string, string> = {
    "classes by number": repeat(2000, (index) => `#x[kind=${index}]{line-width:${index % 20};}`),
    "classes by word": repeat(2000, (index) => `#x[kind='k${index}']{line-width:${index % 20};}`),
    "classes by two columns": repeat(
      100,
      (index) =>
        `#x[a='k${index}']{line-width:1;${repeat(19, (inner) => `[b='v${inner}']{line-width:${inner};}`)}}`,
    ),
    "classes with zooms": repeat(
      500,
      (index) =>
        `#x[a='k${index}']{line-width:1;[zoom>=9]{line-width:2;}[zoom>=12]{line-width:3;}[zoom>=15]{line-width:5;}}`,
    ),
  };
  for (const [name, css] of Object.entries(styles)) t.equal(rules(good(css)).length, 2000, name);
});

t.test("filters are told apart by their values as before, however these are written", async (t) => {
  const filters = (css: string) => rules(good(css)).map(({ filter }) => filter);
  t.same(filters("#x[a=5]{line-width:1} #x[a=5.0]{line-cap:round}").length, 1);
  t.same(filters("#x[a='5']{line-width:1} #x[a='x'][a!='y']{line-cap:round}"), [
    "([a] = 'x') and ([a] != 'y')",
    "[a] = '5'",
  ]);
  t.same(filters("#x[a!='x']{line-width:1} #x[a='x']{line-cap:round}"), ["[a] = 'x'", "[a] != 'x'"]);
});
