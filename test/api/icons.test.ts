import t from "tap";
import { layerSymbol } from "../../src/api/resources/layer-symbols.js";
import type { Slices } from "../../src/queues/slices.js";
import { toldCdn } from "../support/cdn.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer, waitFor } from "../support/server.js";

/** Icons of layers. */

const server = await startServer({ config: toldCdn });
t.teardown(() => server.stop());
await makeMap(server, "m");
const styles = {
  area: "#a { polygon-fill: #00ff00; line-color: #000000; line-width: 2; }",
  border: "#a { line-color: rgba(255, 0, 0, 1); line-width: 4; }",
  dot: "#a { marker-width: 6; marker-fill: #0000ff; marker-allow-overlap: true; }",
  disc: "#a { marker-width: 24; marker-fill: #0000ff; }",
  some: "#a { [zoom > 19] { polygon-fill: #ffff00; } [svc_id > 5] { polygon-fill: #112233; } polygon-fill: #123456; }",
  plain: "",
  pictured: "#a { marker-file: url(icon:square); marker-fill: #008000; marker-width: 20; }",
  hidden: "@unused: 1;",
  wide: "#a { line-width: [svc_id]; line-color: #ff00ff; }",
};
for (const [code, css] of Object.entries(styles)) await makeStyledLayer(server, "m", code, css);
await server.sql.query(`update layer set geometry_kind = case when n.code in ('area', 'some') then 'Polygon'
  when n.code in ('dot', 'disc', 'pictured') then 'Point' else 'LineString' end from node n where n.id = layer.id and n.code <> 'plain'`);
await server.nodes[0]!.services.changes.propagate();

const get = async (layer: string, query = "", headers: Record<string, string> = {}) => {
  const answer = await fetch(`${server.url}/api/2.8/p/m/layers/${layer}/icon/${query}`, { headers });
  return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
};
const icon = async (layer: string, query = "") => picture((await get(layer, query)).body);

t.test("an icon shows the kind and the colour of its layer", async (t) => {
  const area = await icon("area");
  t.match(area, { width: 32, height: 32 });
  t.same(area.at(16, 16), [0, 255, 0, 255]);
  t.ok(area.painted > 500);
  const border = await icon("border");
  t.ok(border.painted > 50 && border.painted < 400);
  t.same(border.at(8, 17).slice(0, 3), [255, 0, 0]);
  const [dot, disc] = [await icon("dot"), await icon("disc")];
  t.same(dot.at(16, 16), [0, 0, 255, 255]);
  t.ok(dot.painted < 80 && disc.painted > 300, `${dot.painted} ${disc.painted}`);
  t.same(
    (await icon("some")).at(16, 16),
    [0x12, 0x34, 0x56, 255],
    "what is drawn of most objects at most zooms",
  );
  t.ok((await icon("plain")).painted > 0);
  t.same((await icon("pictured")).at(8, 8), [0, 128, 0, 255], "the corner of a square");
  t.ok((await icon("hidden")).painted > 0, "nothing is drawn of it");
  t.ok((await icon("wide")).painted > 0, "a width that is told by the object");
});

t.test("an icon has the size that is asked for", async (t) => {
  for (const size of [1, 8, 33, 1024])
    t.match(await icon("area", `?size=${size}`), { width: size, height: size });
  for (const size of ["0", "1025", "-1", "1.5", "x", "1e9"]) {
    t.equal((await get("area", `?size=${size}`)).status, 400, size);
  }
});

t.test("icons take turns at the event loop, since those of large styles take long", async (t) => {
  const { services } = server.nodes[0]!;
  const map = await services.catalog.map("p", "m");
  const layer = map.layers.get("border")!;
  const waiting: (() => void)[] = [];
  const slices = Object.assign(Object.create(services.slices) as Slices, {
    whole: <T>(owner: string, work: () => T): Promise<T> => {
      t.equal(owner, `p${map.project.id}`);
      return new Promise((resolve) => waiting.push(() => resolve(work())));
    },
  });
  let made = 0;
  const symbols = [16, 32, 64].map(async (size) => {
    const symbol = await layerSymbol({ ...services, slices }, { map, layer }, size);
    made++;
    return symbol?.request.size;
  });
  await waitFor(() => waiting.length === 3);
  t.equal(made, 0);
  for (const next of waiting) next();
  t.same(await Promise.all(symbols), [16, 32, 64]);
});

t.test("an icon may be kept until the style changes", async (t) => {
  const first = await get("area");
  const etag = first.headers.get("etag")!;
  t.equal(first.headers.get("content-type"), "image/png");
  t.match(first.headers.get("cache-control"), /^public/);
  t.match(first.headers.get("surrogate-key"), /m\d+ l\d+/);
  t.equal((await get("area", "", { "if-none-match": etag })).status, 304);
  const token = await server.token("editor");
  t.equal((await get("area", "", { "x-token": token })).headers.get("cache-control"), "private, no-store");
  const css_style = "#x { polygon-fill: #0000ff; }";
  await server.api("PATCH", "m/layers/area/", { token, body: { parent_id: 0, css_style } });
  const changed = await get("area", "", { "if-none-match": etag });
  t.equal(changed.status, 200);
  t.same((await picture(changed.body)).at(16, 16), [0, 0, 255, 255]);
});

t.test("the path that a layer object names is the icon's", async (t) => {
  const { json: layer } = await server.api("GET", "m/layers/area/");
  const answer = await fetch(`${server.url}${layer.icon}`);
  t.equal(answer.status, 200);
  await answer.arrayBuffer();
  t.equal((await get("nope")).status, 404);
});

t.test("an icon whose style could not be compiled in time is kept by nobody", async (t) => {
  const hasty = await startServer({ config: { "style.deadlineMs": 2_000 } });
  t.teardown(() => hasty.stop());
  await makeMap(hasty, "m");
  const { id } = await makeStyledLayer(hasty, "m", "a", "#a { polygon-fill: #ff0000; }");
  const filters = Array.from({ length: 1_900 }, (_, n) => `#a[n!=${n}]{line-width:1}`).join("\n");
  await hasty.sql.query("update node set css_style = $1 where id = $2", [filters, id]);
  await hasty.nodes[0]!.services.changes.propagate();
  const answer = await fetch(`${hasty.url}/api/2.8/p/m/layers/a/icon/`);
  t.equal(answer.status, 200);
  await answer.arrayBuffer();
  t.equal(answer.headers.get("cache-control"), "no-store");
  t.equal(answer.headers.get("surrogate-key"), null);
});
