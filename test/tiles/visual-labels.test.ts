import t from "tap";
import { makeMap, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";

/** Labels of visualizations: their lines, and the zoom from which they are drawn. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("editor");
await makeMap(server, "m");

const must = async (method: string, path: string, body?: unknown) => {
  const answer = await server.api(method, `m/layers/${path}`, { token, body });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json;
};

interface Row {
  readonly name: string;
  readonly geom: unknown;
}
const ids = new Map<string, number>();
async function layerOf(code: string, rows: readonly Row[]): Promise<void> {
  ids.set(code, (await must("POST", "", { code })).id);
  if (rows.length > 0) await add(code, rows);
}
const add = (code: string, rows: readonly Row[]) =>
  must("POST", `${code}/import/`, {
    type: "FeatureCollection",
    features: rows.map(({ name, geom }) => ({ type: "Feature", geometry: geom, properties: { name, n: 1 } })),
  });

const point = (lon: number, lat: number) => ({ type: "Point", coordinates: [lon, lat] });

interface TextSettings {
  readonly column?: string | null;
  readonly fromZoom?: number | null;
  readonly fontSize?: number;
  readonly allowOverlap?: boolean;
}
/** Labels in red, which nothing else is. */
async function show(code: string, kind: object, textSettings: TextSettings = {}) {
  const text = { column: "name", fontColor: "#ff0000", halo: false, ...textSettings };
  const visualSettings = { showBorder: false, ...kind, showText: true, textSettings: text };
  return (await must("PUT", `${code}/visualization/`, { visualSettings })).visualSettings;
}

/** The columns and rows of the letters on a tile, and how many pixels they are. */
async function letters(code: string, place: { lon: number; lat: number; z: number }) {
  const answer = await fetch(tileUrl(server, "m", place, `&base=0&layers=${ids.get(code)}`));
  const tile = await picture(await answer.arrayBuffer());
  const [columns, rows] = [new Set<number>(), new Set<number>()];
  let pixels = 0;
  for (let y = 0; y < tile.height; y++)
    for (let x = 0; x < tile.width; x++) {
      const [red, green, blue, alpha] = tile.at(x, y);
      if (red < 150 || green > 90 || blue > 90 || alpha < 100) continue;
      columns.add(x);
      rows.add(y);
      pixels++;
    }
  const span = (at: ReadonlySet<number>) => (at.size === 0 ? 0 : Math.max(...at) - Math.min(...at) + 1);
  return { width: span(columns), height: span(rows), pixels };
}

const place = { lon: 5.6, lat: 5.6, z: 5 };
const blue = { color: "#0000ff" };
const charts = { columns: [{ code: "n", ...blue }] };
const kinds = {
  "a thematic map": { type: 1, columnCode: "n" },
  categories: { type: 2, columnCode: "n" },
  bubbles: { type: 3, columnCode: "n", classesSettings: { ...blue, pointSizeMin: 12, pointSizeMax: 12 } },
  pies: { type: 4, classesSettings: charts },
  clusters: { type: 8, classesSettings: blue },
};

t.test("long labels have several lines, as wide as those of layers in their default style", async (t) => {
  const name = "Mmm Mmm Mmm Mmm Mmm Mmm";
  await layerOf("areas", [{ name, geom: square(3.6, 3.6, 4) }]);
  await layerOf("points", [{ name, geom: point(5.6, 5.6) }]);
  for (const code of ["areas", "points"])
    for (const [kind, settings] of Object.entries(kinds)) {
      await show(code, settings, { fromZoom: 0 });
      const drawn = await letters(code, place);
      t.ok(drawn.width > 40 && drawn.width <= 120, `${code}, ${kind}: ${drawn.width} pixels wide`);
      t.ok(drawn.height > 18, `${code}, ${kind}: ${drawn.height} pixels high`);
    }
  const widthOf = async (fontSize: number) => {
    await show("areas", kinds.categories, { fromZoom: 0, fontSize });
    return (await letters("areas", place)).width;
  };
  const [small, large] = [await widthOf(12), await widthOf(20)];
  t.ok(large > 1.5 * small, `lines of a large font are as much wider: ${small}, ${large}`);
});

const grid = Array.from({ length: 900 }, (_, at) => ({
  name: `Mm${at}`,
  geom: square((at % 30) * 1.5, Math.floor(at / 30) * 1.5, 1.5),
}));

t.test("labels begin where there is room for them, as those of the default style do", async (t) => {
  await layerOf("grid", grid);
  const [, first = ""] = /^#layer::names\[zoom>=(\d+)\]/m.exec((await must("GET", "grid/")).css_style) ?? [];
  const z = Number(first);
  t.ok(z > 2 && z < 8, first);
  for (const [kind, settings] of Object.entries(kinds)) {
    if (kind === "clusters") continue;
    t.equal((await show("grid", settings)).textSettings.fromZoom, z, kind);
    t.equal((await letters("grid", { ...place, z: z - 1 })).pixels, 0, `${kind}: none below`);
  }
  await show("grid", kinds.categories);
  t.ok((await letters("grid", { ...place, z })).pixels > 100);
  t.equal((await show("grid", kinds.clusters)).textSettings.fromZoom, 0, "what is alone has room");
});

t.test("objects without a text need no room for it", async (t) => {
  const fromZoomOf = async (code: string, name: (at: number) => string) => {
    await layerOf(
      code,
      grid.map((row, at) => ({ ...row, name: name(at) })),
    );
    return (await show(code, kinds.categories)).textSettings.fromZoom;
  };
  const all = await fromZoomOf("named", (at) => `Mm${at}`);
  t.equal(await fromZoomOf("some", (at) => (at % 16 === 0 ? `Mm${at}` : "")), all - 2);
  t.equal(await fromZoomOf("none", () => ""), 0);
});

t.test("where no labels are drawn, nobody looks for a zoom that has room for them", async (t) => {
  const heat = { type: 7 };
  t.equal((await show("grid", heat)).textSettings.fromZoom, 0, "a heat map has none");
  t.equal((await letters("grid", { ...place, z: 8 })).pixels, 0);
  t.equal(
    (await show("grid", kinds.pies, { column: null })).textSettings.fromZoom,
    0,
    "nor charts without a column of texts",
  );
  t.ok(
    (await show("grid", kinds.bubbles, { column: null })).textSettings.fromZoom > 1,
    "bubbles show their values",
  );
});

t.test("the first zoom of labels can be set, and what is answered can be sent back", async (t) => {
  const own = await show("grid", kinds.categories, { fromZoom: 1 });
  t.equal(own.textSettings.fromZoom, 1);
  t.ok((await letters("grid", { ...place, z: 1 })).pixels > 0);
  t.equal((await show("grid", own, own.textSettings)).textSettings.fromZoom, 1);
  const found = await show("grid", kinds.categories, { fromZoom: null });
  t.ok(found.textSettings.fromZoom > 1, "null is as if it were not given");
  const over = await show("grid", kinds.categories, { allowOverlap: true });
  t.equal(over.textSettings.fromZoom, 0, "labels that may lie over each other need no room");
});

t.test("few objects have room at all zooms, however near to each other they are", async (t) => {
  await layerOf("one", [{ name: "Mmmm", geom: square(5, 5, 1) }]);
  t.equal((await show("one", kinds.categories)).textSettings.fromZoom, 0);
  t.match((await must("GET", "one/")).css_style, "#layer::names[zoom>=0]");
  const street = [5, 5.0001, 5.0002].map((lon) => ({ name: "Mmmm", geom: point(lon, 5) }));
  await layerOf("street", street);
  t.equal((await show("street", kinds.categories)).textSettings.fromZoom, 0);
  await layerOf("dot", [{ name: "Mmmm", geom: point(5, 5) }]);
  const tile = tileUrl(server, "m", place, `&base=0&layers=${ids.get("dot")}`);
  t.ok((await picture(await (await fetch(tile)).arrayBuffer())).painted > 100, "in the default style");
});

t.test("below their first zoom labels change nothing of what is drawn", async (t) => {
  const crowd = Array.from({ length: 400 }, (_, at) => ({
    name: `Mm${at}`,
    geom: point(5 + (at % 20) * 0.017, 5 + Math.floor(at / 20) * 0.017),
  }));
  await layerOf("crowd", crowd);
  const drawn = async (showText: boolean) => {
    const text = { column: "name", fromZoom: 7 };
    const visualSettings = { ...kinds.categories, showText, textSettings: text };
    await must("PUT", "crowd/visualization/", { visualSettings });
    const tile = (density: string) =>
      tileUrl(server, "m", { ...place, z: 4 }, `&base=0&layers=${ids.get("crowd")}${density}`);
    const bytes = async (density = "") => Buffer.from(await (await fetch(tile(density))).arrayBuffer());
    return { tile: await bytes(), dense: await bytes("&retina=2") };
  };
  const [bare, labelled] = [await drawn(false), await drawn(true)];
  t.ok((await picture(bare.tile)).painted > 50);
  t.ok(bare.tile.equals(labelled.tile), "points that fall on one pixel are thinned all the same");
  t.ok(bare.dense.equals(labelled.dense), "on dense screens too");
});

t.test("labels show the beginning of very long texts", async (t) => {
  const css = `text-name: [name]; text-face-name: "DejaVu Sans Book"; text-size: 4; text-wrap-width: 100`;
  const drawn: Record<string, string[]> = {};
  for (const [code, name] of Object.entries({
    short: "i".repeat(9).concat(" ").repeat(50),
    long: "i".repeat(9).concat(" ").repeat(200),
    huge: "i".repeat(9).concat(" ").repeat(1_000_000),
  })) {
    await layerOf(code, [{ name, geom: point(5.6, 5.6) }]);
    await must("PATCH", `${code}/`, { parent_id: 0, css_style: `#layer { ${css} }` });
    const tile = async () => {
      const answer = await fetch(tileUrl(server, "m", place, `&base=0&layers=${ids.get(code)}`));
      t.equal(answer.headers.get("X-Tile-Incomplete"), null, code);
      return Buffer.from(await answer.arrayBuffer()).toString("base64");
    };
    const styled = await tile();
    await show(code, kinds.categories, { fromZoom: 0, fontSize: 4 });
    drawn[code] = [styled, await tile()];
  }
  const painted = async (tile: string) => (await picture(Buffer.from(tile, "base64"))).painted;
  for (const tile of drawn.long!) t.ok((await painted(tile)) > 300, "text, besides the symbol");
  t.strictSame(drawn.long, drawn.huge, "no more than a thousand");
  for (const at of [0, 1]) t.not(drawn.short![at], drawn.long![at], "hundreds of characters");
});

t.test("of a layer without objects nobody knows the room: its labels are drawn at all zooms", async (t) => {
  await layerOf("empty", []);
  await must("POST", "empty/structure/", { code: "n", type: "number" });
  await must("POST", "empty/structure/", { code: "name", type: "string" });
  t.equal((await show("empty", kinds.categories)).textSettings.fromZoom, 0);
});

t.test("labels of a view begin where there is room for those of its objects", async (t) => {
  const zoomOf = async (code: string, filter: string) => {
    const source = { layer: "grid", filter };
    ids.set(code, (await must("POST", "", { code, type: "virtual", source })).id);
    return (await show(code, kinds.categories)).textSettings.fromZoom;
  };
  const all = (await show("grid", kinds.categories)).textSettings.fromZoom;
  t.equal(await zoomOf("many", "name != 'Mm1'"), all);
  t.equal(await zoomOf("few", "name = 'Mm1'"), 0);
  t.equal(await zoomOf("nothing", "name = 'none'"), 0);
});
