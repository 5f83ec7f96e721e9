import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { loadPlugins } from "../../src/visual/plugins.js";
import { makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";

/** Custom visualizations by plug-ins: the shipped one, one of a module, and some that fail. */

const folder = mkdtempSync(join(tmpdir(), "mapwright-plugins-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
function module(name: string, text: string): string {
  const path = join(folder, `${name}.mjs`);
  writeFileSync(path, text);
  return path;
}
const dots = module(
  "dots",
  `export default {
    name: "dots",
    read: (settings, columns) => {
      if (!columns.has(settings.by)) throw new Error("by must be a column.");
      return { color: "#ff0000", ...settings };
    },
    scaledBy: ({ by }) => by,
    style: ({ by, color }, columns, range) =>
      "#any { marker-width: 20; marker-line-width: 0; marker-allow-overlap: true; marker-fill: #000000; [" +
      columns.get(by).code + " = " + range[1] + "] { marker-fill: " + color + "; } }",
  };`,
);
const failing = module(
  "failing",
  `export default { name: "failing", read: (settings) => settings, style: ({ css }) => {
    if (css === undefined) throw new Error("broken");
    return css;
  } };`,
);
const broken = module("broken", "throw new Error('cannot be loaded');");
const nameless = module("nameless", "export default { read: () => ({}), style: () => '' };");
const visualPlugins = ["arrows", dots, failing, broken, nameless, join(folder, "none.mjs"), "unknown", dots];

const server = await startServer({ config: { visualPlugins } });
t.teardown(() => server.stop());
const { api } = server;
const token = await server.token("editor");
await makeMap(server, "m");

const ids = new Map<string, number>();
async function layer(code: string, rows: readonly { a: number | null; lon: number; lat: number }[]) {
  const { id } = await makeStyledLayer(server, "m", code, "#a { marker-width: 20; marker-fill: #00ff00; }");
  ids.set(code, id);
  const column = await api("POST", `m/layers/${code}/structure/`, {
    token,
    body: { code: "a", type: "number" },
  });
  for (const { a, lon, lat } of rows) await add(code, a, lon, lat);
  return column.json.id as number;
}
const add = (code: string, a: number | null, lon: number, lat: number) =>
  api("POST", `m/layers/${code}/objects/`, {
    token,
    body: { fields: { a }, geom: { type: "Point", coordinates: [lon, lat] } },
  });
const show = (code: string, visualCustomSettings: object) =>
  api("PUT", `m/layers/${code}/visualization/`, { token, body: { visualCustomSettings } });
/** The colour in the middle of the tile at zoom 3 around 22.5, 20.6 shifted by pixels; that is 128, 128. */
async function draw(code: string) {
  const url = tileUrl(server, "m", { lon: 22.5, lat: 10, z: 3 }, `&base=0&layers=${ids.get(code)}`);
  return picture(await (await fetch(url)).arrayBuffer());
}
const place = { lon: 22.5, lat: 21.943 };
const legend = async (code: string) => (await api("GET", `m/layers/${code}/legend/?extended=1`)).json;

t.test("a module draws its layers by its settings and the values of the objects", async (t) => {
  const column = await layer("dots", [
    { a: 5, ...place },
    { a: 1, lon: 2, lat: 2 },
  ]);
  const by = randomUUID();
  const saved = await show("dots", { type: "dots", columns: { [by]: column }, settings: { by } });
  t.match(saved, { status: 200, json: { style_mode: 4 } }, saved.text);
  t.same(saved.json.visualCustomSettings, {
    id: saved.json.visualCustomSettings.id,
    ...{ type: "dots", columns: { [by]: column }, icons: {}, settings: { by, color: "#ff0000" } },
  });
  t.same((await draw("dots")).at(128, 128), [255, 0, 0, 255]);
  t.match(await legend("dots"), {
    type: "dots",
    classificators: [
      { value: null, fill: "#000000" },
      { value: "a = 5", fill: "#ff0000" },
    ],
  });
  const icon = await fetch(`${server.url}/api/2.8/p/m/layers/dots/icon/?class=1&size=64`);
  t.same((await picture(await icon.arrayBuffer())).at(32, 32), [255, 0, 0, 255]);
  await add("dots", 9, 3, 3);
  t.same((await draw("dots")).at(128, 128), [0, 0, 0, 255], "another object has the greatest value now");
  const refused = await show("dots", { type: "dots", settings: { by } });
  t.match(refused.json, { code: "invalid_value", data: { fields: { settings: "by must be a column." } } });
});

t.test("one that fails costs its own layers their picture, and nothing else", async (t) => {
  await layer("lost", [{ a: 1, ...place }]);
  await layer("other", [{ a: 1, ...place }]);
  const kept = async (path: string) => {
    const { status, headers } = await fetch(`${server.url}/api/2.8/p/m/layers/lost/${path}`);
    return [status, headers.get("cache-control"), headers.get("etag")];
  };
  for (const settings of [{}, { css: "#a { nonsense }" }, { css: 7 }]) {
    t.equal((await show("lost", { type: "failing", settings })).status, 200);
    t.equal((await draw("lost")).painted, 0, JSON.stringify(settings));
    t.equal((await legend("lost")).classificators.length, 0);
    t.same(await kept("legend/?extended=1"), [200, "no-store", null], "it may be well again");
    t.same(await kept("icon/"), [200, "no-store", null]);
    t.equal((await kept("icon/?class=0"))[0], 503);
    t.same((await draw("other")).at(128, 128), [0, 255, 0, 255]);
  }
  t.equal((await show("lost", { type: "failing", settings: { css: "" } })).status, 200);
  for (const path of ["legend/?extended=1", "icon/"]) t.match(await kept(path), [200, /public/, /./], path);
  t.equal((await show("lost", { type: "elsewhere", settings: {} })).status, 200);
  t.same(
    (await draw("lost")).at(128, 128),
    [0, 255, 0, 255],
    "without a plug-in clients draw it, tiles the style",
  );
});

t.test("arrows point where their column says, larger and darker by strength", async (t) => {
  const column = await layer("winds", [
    { a: 90, ...place },
    { a: null, lon: 30, lat: 30 },
  ]);
  const uuid = randomUUID();
  const settings = {
    direction: uuid,
    from: false,
    sizeMin: 60,
    sizeMax: 60,
    colors: Array(5).fill("#0000ff"),
  };
  t.equal((await show("winds", { type: "arrows", columns: { [uuid]: column }, settings })).status, 200);
  const east = await draw("winds");
  // The head is wide, the shaft is narrow.
  const height = (image: typeof east, dx: number) =>
    Array.from({ length: 80 }, (_, at) => image.at(128 + dx, 88 + at)[3]! > 128).filter(Boolean).length;
  t.ok(height(east, 12) > height(east, -12) + 5, `${height(east, 12)} ${height(east, -12)}`);
  await show("winds", { type: "arrows", columns: { [uuid]: column }, settings: { ...settings, from: true } });
  const west = await draw("winds");
  t.ok(height(west, -12) > height(west, 12) + 5, "a wind from the east blows to the west");
  await show("winds", {
    ...{ type: "arrows", columns: { [uuid]: column } },
    settings: { direction: uuid, strength: uuid },
  });
  await add("winds", 190, 20, 1);
  const { classificators } = await legend("winds");
  t.same(
    classificators.map(({ value }: { value: string }) => value),
    ["a", "a ≥ 110", "a ≥ 130", "a ≥ 150", "a ≥ 170"],
  );
  for (const settings of [
    {},
    { direction: "x" },
    { direction: uuid, sizeMin: 1 },
    { direction: uuid, colors: [] },
  ])
    t.match(await show("winds", { type: "arrows", columns: { [uuid]: column }, settings }), {
      json: { code: "invalid_value" },
    });
});

t.test("what cannot be loaded is told, and the rest is there", async (t) => {
  const { plugins, problems } = await loadPlugins(visualPlugins);
  t.same([...plugins.keys()], ["arrows", "dots", "failing"]);
  t.same(
    problems.map(({ entry }) => entry),
    visualPlugins.slice(3),
  );
  t.match(problems[0]!.reason, /cannot be loaded/);
  t.match(problems.at(-1)!.reason, /another plug-in/);
});
