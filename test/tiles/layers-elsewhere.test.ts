import t from "tap";
import type { MetatileRequest } from "../../src/hosts/messages.js";
import type { RenderCalls } from "../../src/tile-path.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";

/** Layers are not drawn where they have no objects, and are from the first object on. */

const server = await startServer();
t.teardown(() => server.stop());

/** Names of layers that the render host was told to leave out, of the last metatile. */
let without: readonly string[] = [];
const { render } = server.nodes[0]!.services as unknown as { render: RenderCalls };
const call = render.call.bind(render) as (...args: unknown[]) => Promise<unknown>;
render.call = ((kind: string, request: MetatileRequest, options: unknown) => {
  if (kind === "metatile")
    without = request.parts.flatMap((part) => (part.kind === "map" ? (part.without ?? []) : []));
  return call(kind, request, options);
}) as RenderCalls["call"];

const here = { lon: 10, lat: 10, z: 8 };
const fill = (code: string, more = "") => `#${code} { polygon-fill: #f00; ${more} }`;
const look = async (map: string, place = here) => {
  const answer = await fetch(tileUrl(server, map, place, "&base=0"));
  t.equal(answer.status, 200);
  return (await picture(Buffer.from(await answer.arrayBuffer()))).painted;
};
const layer = (map: string, code: string, more = "") => makeStyledLayer(server, map, code, fill(code, more));

t.test("a layer is left out where it has no objects, until it gets one", async (t) => {
  await makeMap(server, "a");
  const full = await layer("a", "full");
  const empty = await layer("a", "empty");
  const far = await layer("a", "far");
  await addObject(server, "full", square(9, 9, 1), { map: "a" });
  await addObject(server, "far", square(100, 40, 1), { map: "a" });
  await look("a");
  t.same(new Set(without), new Set([`l${empty.id}`, `l${far.id}`]));
  t.notOk(without.includes(`l${full.id}`));

  const before = await look("a");
  await addObject(server, "empty", square(10.2, 10.2, 0.2), { map: "a" });
  t.ok((await look("a")) > before, "the first object is seen at once");
  t.same(without, [`l${far.id}`]);

  await server.sql.query(`update layers.l${far.id} set geom = st_setsrid(st_geomfromgeojson($1), 4326)`, [
    JSON.stringify(square(10.5, 10.2, 0.2)),
  ]);
  const waiting = Date.now() + 10_000;
  while (without.length > 0 && Date.now() < waiting) await look("a");
  t.same(without, [], "an object moved here by an SQL client is drawn");
});

t.test("a layer that is filled, emptied or replaced as a whole is drawn as it is then", async (t) => {
  await makeMap(server, "b");
  const one = await layer("b", "one");
  await look("b");
  t.same(without, [`l${one.id}`]);
  await server.sql.query(
    `insert into layers.l${one.id} (geom) select st_setsrid(st_geomfromgeojson($1), 4326) from generate_series(1, 2000)`,
    [JSON.stringify(square(9, 9, 2))],
  );
  const waiting = Date.now() + 10_000;
  while ((await look("b")) === 0 && Date.now() < waiting);
  t.ok((await look("b")) > 0);
  await server.sql.query(`truncate layers.l${one.id}`);
  while ((await look("b")) > 0 && Date.now() < waiting);
  t.equal(await look("b"), 0);
  t.same(without, [`l${one.id}`], "after a change of the whole layer its place is found again");
});

t.test("a layer whose style changes what is below it is not left out", async (t) => {
  await makeMap(server, "c");
  await layer("c", "below");
  await layer("c", "mask", "comp-op: dst-in;");
  await layer("c", "blurred", "image-filters: agg-stack-blur(2,2);");
  await addObject(server, "below", square(9, 9, 2), { map: "c" });
  await look("c");
  t.same(without, []);
});

t.test("views and layers across the antimeridian are not left out", async (t) => {
  await makeMap(server, "d");
  const source = await layer("d", "source");
  await addObject(server, "source", square(178, 40, 4), { map: "d" });
  const token = await server.token("editor");
  const made = await server.api("POST", "d/layers/source/virtual/", { token, body: { code: "view" } });
  t.comment(`${made.status}`);
  await look("d", { lon: 0, lat: 0, z: 8 });
  t.notOk(without.includes(`l${source.id}`));
  t.ok((await look("d", { lon: -179, lat: 41, z: 8 })) > 0);
});
