import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import {
  type AllowedProperty,
  allowedStyle,
  allowedSymbolizers,
  type ValueRule,
} from "../../src/style/allowed.js";
import { labelColumn } from "../../src/style/expression.js";
import { faces } from "../../src/style/fonts.js";
import { mapSource, xmlOf } from "../../src/style/mapnik-xml.js";
import type { CompiledStyle, Symbolizer, SymbolizerType } from "../../src/style/model.js";
import { compileStyle } from "../../workers/render/compile.js";

interface Image {
  data(): Buffer;
}
interface MapnikMap {
  fromStringSync(xml: string, options: { strict: boolean }): void;
  extent: number[];
  render(image: Image, options: object, done: (error: Error | null, image: Image) => void): void;
}
const mapnik = createRequire(import.meta.url)("mapnik") as {
  register_default_fonts(): void;
  register_default_input_plugins(): void;
  fonts(): string[];
  Map: new (width: number, height: number) => MapnikMap;
  Image: new (width: number, height: number) => Image;
};
mapnik.register_default_fonts();
mapnik.register_default_input_plugins();

const square = '{"type":"Polygon","coordinates":[[[-40,-40],[40,-40],[40,40],[-40,40],[-40,-40]]]}';
const line = '{"type":"LineString","coordinates":[[-100,0],[100,0]]}';
const point = '{"type":"Point","coordinates":[0,0]}';
const data = (geometry: string, properties: object = {}) => ({
  type: "geojson",
  inline: `{"type":"FeatureCollection","features":[{"type":"Feature","properties":${JSON.stringify(properties)},"geometry":${geometry}}]}`,
});

function compile(css: string): CompiledStyle {
  const result = compileStyle({ mapStyle: "", layerStyle: css, layerCode: "x", deadlineMs: 5_000 });
  if (!result.ok) throw new Error(result.error);
  return result.style;
}

function load(style: CompiledStyle, datasource: Record<string, string>, background?: string): MapnikMap {
  const map = new mapnik.Map(200, 200);
  const layers = [{ name: "one", style, datasource, srs: "epsg:3857" }];
  const properties = background === undefined ? {} : { backgroundColor: background };
  map.fromStringSync(xmlOf(mapSource({ properties, layers, bufferSize: style.bufferPixels })), {
    strict: true,
  });
  map.extent = [-100, -100, 100, 100];
  return map;
}

/** Colours, as RRGGBBAA, of 200 × 200 pixels, one a unit of the data. */
async function draw(
  style: CompiledStyle,
  datasource: Record<string, string>,
  background?: string,
): Promise<(x: number, y: number) => string> {
  const map = load(style, datasource, background);
  const image = await new Promise<Image>((resolve, reject) => {
    map.render(new mapnik.Image(200, 200), { scale_denominator: 1000 }, (error, done) =>
      error ? reject(error) : resolve(done),
    );
  });
  const bytes = image.data();
  return (x, y) => bytes.subarray((y * 200 + x) * 4, (y * 200 + x) * 4 + 4).toString("hex");
}

t.test("fills, lines and the background have the colours of the style", async (t) => {
  const at = await draw(
    compile("#x { polygon-fill: #ff0000; line-color: #00ff00; line-width: 6; }"),
    data(square),
    "#0000ff",
  );
  t.equal(at(100, 100), "ff0000ff");
  t.equal(at(60, 100), "00ff00ff");
  t.equal(at(5, 5), "0000ffff");
});

t.test("attachments are drawn one over the other, and filters choose", async (t) => {
  const style = compile(
    "#x::a { line-width: 20; line-color: #f00; } #x::b[kind = 'город'] { line-width: 6; line-color: #0f0; } #x::b[kind = 'село'] { line-width: 60; }",
  );
  const at = await draw(style, data(line, { kind: "город" }));
  t.equal(at(100, 100), "00ff00ff");
  t.equal(at(100, 93), "ff0000ff");
  t.equal(at(100, 80), "00000000");
});

t.test("zoom filters choose by scale", async (t) => {
  const at = await draw(
    compile("#x[zoom <= 10] { line-width: 40; } #x[zoom > 10] { line-width: 10; line-color: #f00; }"),
    data(line),
  );
  t.equal(at(100, 100), "ff0000ff");
  t.equal(at(100, 110), "00000000");
});

t.test("markers have the size that a column gives, within bounds", async (t) => {
  const style = compile(
    "#x { marker-width: [size]; marker-height: [size]; marker-line-width: 0; marker-fill: #f00; }",
  );
  const small = await draw(style, data(point, { size: 20 }));
  t.equal(small(105, 100), "ff0000ff");
  t.equal(small(115, 100), "00000000");
  const huge = await draw(style, data(point, { size: 1e9 }));
  t.equal(huge(190, 100), "ff0000ff");
  for (const size of ["many", null, -5, Number.MIN_SAFE_INTEGER]) await draw(style, data(point, { size }));
});

t.test("labels are drawn with any face name and any letters", async (t) => {
  const style = compile(
    `#x { text-name: 'г. ' + [name]; text-face-name: "Open Sans Regular"; text-size: 30; text-fill: #f00; }`,
  );
  const at = await draw(style, data(point, { [labelColumn("name")]: "Ωμ — Москва & <b> \"'\\" }));
  let red = 0;
  for (let x = 0; x < 200; x++) for (let y = 80; y < 120; y++) if (at(x, y) === "ff0000ff") red++;
  t.ok(red > 100, `${red} red pixels`);
});

t.test("arrows are drawn as such", async (t) => {
  const at = await draw(
    compile(
      "#x { marker-type: arrow; marker-fill: #f00; marker-line-width: 0; marker-transform: scale(4); }",
    ),
    data(point),
  );
  t.equal(at(100, 100), "ff0000ff");
});

t.test(
  "the opacity of a shape is that of its fill and its line, for which Mapnik needs no canvas for each object",
  async (t) => {
    const attributesOf = (css: string) => compile(css).styles[0]?.rules[0]?.symbolizers[0]?.attributes;
    t.match(attributesOf("#x { marker-fill: #f00; marker-opacity: 0.5; marker-line-opacity: 0.5; }"), {
      opacity: undefined,
      "fill-opacity": "0.5",
      "stroke-opacity": "0.25",
    });
    t.match(attributesOf("#x { marker-fill: #f00; marker-fill-opacity: 0.5; marker-opacity: [value]; }"), {
      opacity: undefined,
      "fill-opacity": "(0.5) * (min(1,max(0,[value])))",
      "stroke-opacity": "min(1,max(0,[value]))",
    });
    const at = await draw(
      compile("#x { marker-width: 20; marker-fill: #f00; marker-line-width: 0; marker-opacity: 0.5; }"),
      data(point),
    );
    t.match(at(100, 100), /^ff00007f$|^ff000080$/);
  },
);

t.test("a pattern of dashes with lengths of nothing comes to its end", async (t) => {
  for (const dashes of ["0, 1", "1, 0", "0, 0, 0, 1", "1"]) {
    await t.resolves(
      draw(compile(`#x { line-width: 10; line-dasharray: ${dashes}; line-cap: round; }`), data(line)),
      dashes,
    );
  }
});

t.test("what a field or a text holds cannot leave its place in the XML", async (t) => {
  const nasty = `a"/><Layer name='x'>&amp;]]>\n\t<![CDATA[`;
  const xml = xmlOf(
    mapSource({
      properties: {},
      bufferSize: 1,
      layers: [
        {
          name: nasty,
          style: {
            styles: [
              {
                name: nasty,
                attributes: { "comp-op": "src" },
                rules: [{ filter: `[a] < '${nasty.replaceAll("'", "\\'")}'`, symbolizers: [] }],
              },
            ],
            fields: [],
            bufferPixels: 1,
          },
          datasource: { type: "csv", inline: "x,y\n0,0", note: nasty },
        },
      ],
    }),
  );
  t.equal(xml.match(/<Layer /g)?.length, 1);
  t.equal(xml.includes("CDATA["), true);
  t.notMatch(xml, "<![CDATA[");
  new mapnik.Map(1, 1).fromStringSync(xml, { strict: true });
});

t.test("what is left of a damaged style is refused or drawn, thousands of times", async (t) => {
  const folder = join(process.cwd(), "test/fixtures/style");
  const texts = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
  const pieces = (text: string) => text.match(/[\w@#.-]+|\s+|"[^"\n]*"|'[^'\n]*'|./gs) ?? [];
  const others = [
    ...pieces(texts.join("")),
    "1e9",
    "-1",
    "NaN",
    "null",
    "none",
    "url(",
    "\\",
    "/*",
    "//",
    "&amp;",
    "!bbox!",
  ];
  // The same damage in each run.
  let seed = 1;
  const below = (limit: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % limit;
  };
  let drawn = 0;
  for (let count = 0; count < 1_500; count++) {
    const damaged = pieces(texts[below(texts.length)] ?? "");
    const place = below(damaged.length);
    damaged.splice(
      place,
      below(3),
      ...Array.from({ length: below(3) }, () => others[below(others.length)] ?? ""),
    );
    const result = compileStyle({
      mapStyle: "",
      layerStyle: damaged.join(""),
      layerCode: "x",
      deadlineMs: 5_000,
    });
    if (!result.ok || /RasterSymbolizer/.test(JSON.stringify(result.style))) continue;
    const values = Object.fromEntries(
      [...result.style.fields, ...(result.style.labelFields ?? []).map(labelColumn)].map((field) => [
        field,
        [1, "я", null, true, -5, 1e12][below(6)],
      ]),
    );
    await draw(result.style, data(square, values));
    drawn++;
  }
  t.ok(drawn > 150, `${drawn} of 1500 drawn`);
});

t.test("Mapnik has every face that labels may be drawn with", async (t) => {
  for (const face of faces) t.ok(mapnik.fonts().includes(face), face);
});

/** Values at the edges of each kind, as they stand in a checked style. */
function samples(rule: ValueRule): string[] {
  switch (rule.kind) {
    case "number":
      return [
        String(rule.min),
        String(rule.max),
        ...(rule.expression ? [`min(${rule.max},max(${rule.min},[a] * 2))`] : []),
      ];
    case "keyword":
      return [...rule.values];
    case "boolean":
      return ["true", "false"];
    case "color":
      return ["#abc", "#aabbcc", "#aabbccdd", "rgba(1,2,3,0.5)"];
    case "dashes":
      return ["2,3", "1,2,3", "5"];
    case "transform":
      return [
        "rotate([a]) scale(2,3)",
        "matrix(1,0,0,1,3,4)",
        "translate(1,2) skewX(3) skewY(-4) rotate(3,4,5)",
      ];
    case "placements":
      return ["N,S,10", "X"];
    case "character":
      return [",", " ", "'", '"', "["];
    case "imageFilters":
      return [
        "agg-stack-blur(2,3) gray invert",
        "scale-hsla(0,1,0,1,0,1,0,1)",
        "colorize-alpha(#aabbcc,rgba(1,2,3,0.5)) color-to-alpha(#ffffff)",
        "emboss blur sobel edge-detect x-gradient y-gradient sharpen",
        "color-blind-protanope color-blind-deuteranope color-blind-tritanope",
      ];
    case "featureSettings":
      return ["kern 1, liga 0", "smcp"];
    case "picture":
    case "face":
    case "text":
    case "stops":
    case "ignored":
      return [];
  }
}

const folder = mkdtempSync(join(tmpdir(), "mapwright-icons-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const icon = join(folder, "icon.svg");
writeFileSync(
  icon,
  '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><path d="M0 0h8v8H0z" fill="#f00"/></svg>',
);

/** What a symbolizer needs besides the attribute that is tried. */
const needed: Partial<Record<SymbolizerType, { attributes?: Record<string, string>; text?: string }>> = {
  TextSymbolizer: {
    attributes: { "face-name": "DejaVu Sans Book", "placement-type": "simple" },
    text: "'one, two'",
  },
  ShieldSymbolizer: {
    attributes: { "face-name": "DejaVu Serif Bold", "placement-type": "simple", file: icon },
    text: "[a]",
  },
  LinePatternSymbolizer: { attributes: { file: icon } },
  PolygonPatternSymbolizer: { attributes: { file: icon } },
  PointSymbolizer: { attributes: { file: icon } },
};

t.test("Mapnik reads every allowed property with its smallest, largest and other values", async (t) => {
  const entries = (properties: Readonly<Record<string, AllowedProperty>>) =>
    Object.entries(properties).flatMap(([name, { attribute, value }]) =>
      samples(value).map((text) => ({ name: `${name}: ${text}`, attribute, text })),
    );
  const style = (symbolizer: Symbolizer, attributes: Record<string, string> = {}): CompiledStyle => ({
    styles: [
      {
        name: "",
        attributes: { "filter-mode": "first", ...attributes },
        rules: [{ symbolizers: [symbolizer] }],
      },
    ],
    fields: ["a"],
    bufferPixels: 1,
  });
  for (const type of Object.keys(allowedSymbolizers) as SymbolizerType[]) {
    const { attributes, ...text } = needed[type] ?? {};
    const geometry = type.startsWith("Polygon") || type === "BuildingSymbolizer" ? square : line;
    for (const { name, attribute, text: value } of entries(allowedSymbolizers[type])) {
      // Written as a file of Mapnik's own.
      if (attribute === "marker-type") continue;
      const symbolizer = { type, attributes: { ...attributes, [attribute]: value }, ...text };
      // Drawing a raster needs one.
      if (type === "RasterSymbolizer") load(style(symbolizer), data(geometry));
      else await t.resolves(draw(style(symbolizer), data(geometry, { a: 3 })), name);
    }
  }
  load(
    style({
      type: "RasterSymbolizer",
      attributes: { "default-mode": "exact" },
      stops: [
        { value: "0", color: "#ffffff" },
        { value: "1", color: "rgba(1,2,3,0.5)", mode: "discrete" },
      ],
    }),
    data(square),
  );
  for (const { name, attribute, text } of entries(allowedStyle)) {
    await t.resolves(
      draw(style({ type: "LineSymbolizer", attributes: {} }, { [attribute]: text }), data(line)),
      name,
    );
  }
});
