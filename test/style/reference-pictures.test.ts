import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import t from "tap";
import type { StoredPicture } from "../../src/catalog/state.js";
import { labelColumn } from "../../src/style/expression.js";
import { mapSource, xmlOf } from "../../src/style/mapnik-xml.js";
import type { CompiledStyle } from "../../src/style/model.js";
import { illustrate, picturesOf } from "../../src/style/pictures.js";
import { compileStyle } from "../../workers/render/compile.js";
import { loadMapnik } from "../../workers/render/mapnik.js";
import { differing, differsFromReference, mostDiffering } from "../support/reference.js";
import { type ReferenceCase, referenceCases } from "./reference-cases.support.js";

/** Each symbolizer as it is drawn, compared with reference pictures. */

const side = 128;

const mapnik = loadMapnik();
const require = createRequire(import.meta.url);
const { settings } = require("mapnik") as { settings: { paths: { input_plugins: string } } };
for (const plugin of ["geojson", "raster"])
  mapnik.registerDatasource(join(settings.paths.input_plugins, `${plugin}.input`));

const folder = mkdtempSync(join(tmpdir(), "mapwright-reference-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

const pattern =
  '<svg xmlns="http://www.w3.org/2000/svg" width="12" height="12"><path d="M0 12L12 0" stroke="#2c7fb8" stroke-width="2"/><circle cx="6" cy="6" r="2" fill="#d95f0e"/></svg>';
const files: Readonly<Record<string, Buffer>> = {
  "pattern.svg": Buffer.from(pattern),
  "pattern.png": await sharp(Buffer.from(pattern)).png().toBuffer(),
  "plate.svg": Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="20"><rect width="32" height="20" rx="4" fill="#1b6e3c"/></svg>',
  ),
  ...Object.fromEntries(
    ["star", "pin"].map((icon) => [
      `icon:${icon}`,
      readFileSync(join(process.cwd(), `src/style/icons/${icon}.svg`)),
    ]),
  ),
};
const stored = new Map<string, StoredPicture>();
for (const [name, content] of Object.entries(files)) {
  const digest = createHash("sha256").update(content).digest("hex");
  const format = name.endsWith(".png") ? "png" : "svg";
  const { width = 0, height = 0 } = await sharp(content).metadata();
  stored.set(name, { blob: "b", digest, format, width, height, bytes: content.length });
  writeFileSync(join(folder, `${digest}.${format}`), content);
  if (format === "png")
    writeFileSync(
      join(folder, `${digest}@2x.png`),
      await sharp(content)
        .resize(width * 2, height * 2, { fit: "fill" })
        .toBuffer(),
    );
}
const pictures = picturesOf({ pictures: stored, fonts: new Map() }, new Map());

const photo = Buffer.from(Array.from({ length: 8 * 8 }, (_, at) => [32 * (at % 8), 4 * at, 160]).flat());
await sharp(photo, { raw: { width: 8, height: 8, channels: 3 } })
  .png()
  .toFile(join(folder, "photo.png"));

const points = [
  { at: [-38, 30], name: "Oak", ref: "A 7", size: 18, turn: 0 },
  { at: [30, 24], name: "Ель", ref: "B 12", size: 26, turn: 45 },
  { at: [-6, -34], name: "Elm & Ash", ref: "9", size: 34, turn: 180 },
];
const features = {
  area: [
    {
      type: "Polygon",
      coordinates: [
        [
          [-50, -40],
          [45, -50],
          [52, 30],
          [0, 52],
          [-48, 36],
          [-50, -40],
        ],
        [
          [-10, -10],
          [16, -8],
          [4, 18],
          [-10, -10],
        ],
      ],
    },
  ],
  curve: [
    {
      type: "LineString",
      coordinates: Array.from({ length: 25 }, (_, index) => [5 * index - 60, 20 * Math.sin(index / 8) - 10]),
    },
  ],
  line: [
    {
      type: "LineString",
      coordinates: [
        [-56, -44],
        [-20, 34],
        [14, -10],
        [54, 44],
      ],
    },
  ],
};

function datasourceOf(data: ReferenceCase["data"]): Record<string, string> {
  if (data === "image") {
    const box = { lox: "-48", loy: "-48", hix: "48", hiy: "48" };
    return { type: "raster", file: join(folder, "photo.png"), ...box };
  }
  const list =
    data === "points"
      ? points.map(({ at, ...values }) => ({
          geometry: { type: "Point", coordinates: at },
          properties: {
            ...values,
            ...Object.fromEntries(
              Object.entries(values).map(([code, value]) => [labelColumn(code), String(value)]),
            ),
          },
        }))
      : features[data].map((geometry) => ({ geometry, properties: {} }));
  const inline = { type: "FeatureCollection", features: list.map((one) => ({ type: "Feature", ...one })) };
  return { type: "geojson", inline: JSON.stringify(inline) };
}

async function draw({ css, data }: ReferenceCase, scale: number): Promise<Buffer> {
  const compiled = compileStyle({ mapStyle: "", layerStyle: css, layerCode: "x", deadlineMs: 20_000 });
  if (!compiled.ok) throw new Error(compiled.error);
  const style: CompiledStyle = illustrate(compiled.style, pictures, scale).style;
  const map = new mapnik.Map(side * scale, side * scale);
  const layers = [{ name: "one", style, datasource: datasourceOf(data), srs: "epsg:3857" }];
  const bufferSize = style.bufferPixels * scale;
  map.fromStringSync(xmlOf(mapSource({ properties: {}, layers, bufferSize })), {
    strict: true,
    base: folder,
  });
  map.loadFonts();
  map.extent = [-side / 2, -side / 2, side / 2, side / 2];
  const image = new mapnik.Image(side * scale, side * scale);
  return new Promise((resolve, reject) =>
    map.render(image, { scale, buffer_size: bufferSize }, (error, drawn) =>
      error ? reject(error) : resolve(Buffer.from(drawn.data())),
    ),
  );
}

for (const [name, one] of Object.entries(referenceCases)) {
  t.test(`${name} is drawn as its reference picture, for retina too`, async (t) => {
    for (const scale of [1, 2]) {
      const drawn = { pixels: await draw(one, scale), width: side * scale, height: side * scale };
      const permille = await differsFromReference(`${name}${scale === 1 ? "" : "@2x"}`, drawn);
      t.ok(permille <= mostDiffering, `${permille} of a thousand pixels differ at scale ${scale}`);
    }
  });
}

t.test("the tolerance catches a wrong colour and a shifted label", async (t) => {
  const change = async (name: string, from: string, to: string) => {
    const one = referenceCases[name]!;
    const changed = one.css.replace(from, to);
    if (changed === one.css) throw new Error(`${name} has no ${from}`);
    return differing(await draw(one, 1), await draw({ ...one, css: changed }, 1));
  };
  t.ok((await change("polygon", "#7fb86b", "#8bb86b")) > mostDiffering, "a colour 12 of 255 off");
  t.ok((await change("line", "#2a6fbb", "#2a7bbb")) > mostDiffering);
  t.ok((await change("text", "text-dy: 10", "text-dy: 11")) > mostDiffering, "a label one pixel lower");
  t.ok((await change("text", "#223355", "#335522")) > mostDiffering);
  t.ok((await change("marker", "marker-line-width: 3", "marker-line-width: 2")) > mostDiffering);
});

t.test("an icon has its opacity in its fill, a picture of several shapes as a whole", async (t) => {
  const attributesOf = (css: string) => {
    const compiled = compileStyle({ mapStyle: "", layerStyle: css, layerCode: "x", deadlineMs: 20_000 });
    if (!compiled.ok) throw new Error(compiled.error);
    return illustrate(compiled.style, pictures, 1).style.styles[0]?.rules[0]?.symbolizers[0]?.attributes;
  };
  t.match(
    attributesOf("#x { marker-file: url(icon:star); marker-opacity: 0.5; marker-fill-opacity: 0.5; }"),
    {
      opacity: undefined,
      "fill-opacity": "0.25",
      "stroke-opacity": "0.5",
    },
  );
  t.match(attributesOf("#x { marker-file: url(plate.svg); marker-opacity: 0.5; }"), {
    opacity: "0.5",
    "fill-opacity": undefined,
  });
});
