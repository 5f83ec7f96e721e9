import { randomUUID } from "node:crypto";
import sharp from "sharp";
import t from "tap";
import { makeMap, square, tileUrl } from "../support/maps.js";
import { differsFromReference, mostDiffering } from "../support/reference.js";
import { startServer } from "../support/server.js";

/** Layers in their default styles, visualizations in their default settings, and their legends, as reference pictures. */

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const token = await server.token("editor");
await makeMap(server, "m");

type Geometry = { readonly type: string; readonly coordinates: unknown };
const must = async (method: string, path: string, body: unknown) => {
  const answer = await api(method, path, { token, body });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json;
};

/** Values that look like those of real objects: few large ones, many small ones. */
const sizeOf = (at: number) => Math.round(1000 / (1 + ((at * 7) % 16)));
const words = ["Oak", "Ash", "Lime", "Elm"];
const ids = new Map<string, number>();
const columns = new Map<string, number>();
async function layer(code: string, geometries: readonly Geometry[]) {
  const features = geometries.map((geometry, at) => ({
    type: "Feature",
    geometry,
    properties: {
      ...{ n: sizeOf(at), a: 10 + ((at * 13) % 40), b: 10 + ((at * 29) % 50), c: 5 + ((at * 17) % 30) },
      ...{ kind: words[(at * 3) % 5] ?? "Birch", turn: (at * 37) % 360 },
    },
  }));
  ids.set(code, (await must("POST", "m/layers/", { code })).id);
  await must("POST", `m/layers/${code}/import/`, { type: "FeatureCollection", features });
  for (const column of (await api("GET", `m/layers/${code}/structure/`)).json)
    columns.set(`${code}.${column.code}`, column.id);
}

/** The tile at zoom 5 from 0, 0 to 11.25, 11.18 degrees. */
const cells = Array.from(
  { length: 16 },
  (_, at) => [0.6 + (at % 4) * 2.6, 0.6 + Math.floor(at / 4) * 2.6] as const,
);
await layer(
  "areas",
  cells.map(([x, y]) => square(x, y, 2.6)),
);
await layer(
  "points",
  cells.map(([x, y], at) => ({
    type: "Point",
    coordinates: [x + 0.8 + ((at * 5) % 3) * 0.4, y + 0.8 + ((at * 7) % 3) * 0.4],
  })),
);
await layer(
  "lines",
  cells.slice(0, 8).map(([, y], at) => ({
    type: "LineString",
    coordinates: Array.from({ length: 20 }, (_, x) => [x * 0.6, 1 + at * 1.2 + Math.sin(x / 3 + y) * 0.5]),
  })),
);

async function tile(code: string) {
  const url = tileUrl(server, "m", { lon: 5, lat: 5, z: 5 }, `&base=0&q=1&layers=${ids.get(code)}`);
  const png = Buffer.from(await (await fetch(url)).arrayBuffer());
  return { pixels: await sharp(png).ensureAlpha().raw().toBuffer(), width: 256, height: 256 };
}

/** The symbols of a legend beside each other, up to eight. */
async function legend(code: string) {
  const { classificators } = (await api("GET", `m/layers/${code}/legend/?extended=1`)).json;
  const icons: { input: Buffer; left: number; top: number }[] = [];
  for (const [at, { icon }] of classificators.slice(0, 8).entries()) {
    const png = await (await fetch(`${server.url}${icon}&size=48`)).arrayBuffer();
    icons.push({ input: Buffer.from(png), left: 4 + at * 56, top: 4 });
  }
  const [width, height] = [56 * icons.length, 56];
  const background = { r: 255, g: 255, b: 255, alpha: 1 };
  const pixels = await sharp({ create: { width, height, channels: 4, background } })
    .composite(icons)
    .raw()
    .toBuffer();
  return { pixels, width, height };
}

const charted = ["a", "b", "c"].map((code) => ({ code }));
const kinds = [...words].map((value) => ({ value }));
const uuid = randomUUID();
const cases: Readonly<Record<string, { readonly of: string; readonly settings?: object }>> = {
  "default-areas": { of: "areas" },
  "default-points": { of: "points" },
  "default-lines": { of: "lines" },
  "visual-1-areas": { of: "areas", settings: { type: 1, columnCode: "n", algorithm: 2 } },
  "visual-1-points": { of: "points", settings: { type: 1, columnCode: "n", algorithm: 2 } },
  "visual-1-lines": {
    of: "lines",
    settings: { type: 1, columnCode: "n", algorithm: 3, classesSettings: { lineWidth: 4 } },
  },
  "visual-2-areas": {
    of: "areas",
    settings: { type: 2, columnCode: "kind", classesSettings: { classes: kinds } },
  },
  "visual-2-labels": {
    of: "points",
    settings: {
      ...{ type: 2, columnCode: "kind", classesSettings: { classes: kinds } },
      ...{ showText: true, textSettings: { textOffset: 12, offsetEnabled: true, fromZoom: 0 } },
    },
  },
  "visual-3": { of: "points", settings: { type: 3, columnCode: "n" } },
  "visual-4": { of: "points", settings: { type: 4, classesSettings: { columns: charted, sizeType: 2 } } },
  "visual-5": {
    of: "points",
    settings: { type: 5, classesSettings: { columns: charted, showScale: true } },
  },
  "visual-6": {
    of: "points",
    settings: { type: 6, classesSettings: { columns: charted, showScale: true } },
  },
  "visual-7": { of: "points", settings: { type: 7, classesSettings: { markerSize: 40 } } },
  "visual-arrows": {
    of: "points",
    settings: {
      type: "arrows",
      columns: { [uuid]: columns.get("points.turn") },
      settings: { direction: uuid, strength: uuid },
    },
  },
};

for (const [name, { of, settings }] of Object.entries(cases))
  t.test(`${name} is drawn as its reference picture, and its legend`, async (t) => {
    if (settings) await must("PUT", `m/layers/${of}/visualization/`, settings);
    for (const [file, drawn] of [
      [name, await tile(of)],
      [`${name}-legend`, await legend(of)],
    ] as const) {
      const permille = await differsFromReference(file, drawn);
      t.ok(permille <= mostDiffering, `${permille} of a thousand pixels of ${file} differ`);
    }
  });
