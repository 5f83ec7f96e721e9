import pg from "pg";
import t from "tap";
import { lockWaiters } from "../support/locks.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";

/** Objects beyond ±180° of longitude. */

const server = await startServer();
t.teardown(() => server.stop());
const editor = await server.token("editor");
await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #ff0000; line-color: #ff0000; }");

/** The colour of the tile at zoom 3 (45° wide), in its middle. */
async function middle(lon: number): Promise<readonly number[]> {
  const answer = await fetch(tileUrl(server, "m", { lon, lat: 10, z: 3 }, "&base=0"));
  const image = await picture(await answer.arrayBuffer());
  return image.at(128, 128);
}
const red = [255, 0, 0, 255];
/** Longitudes of the middles of tiles at zoom 3. */
const [east, west, centre] = [157.5, -157.5, 22.5];
const list = async (query: string) =>
  (await server.api("GET", `m/layers/a/objects/?${query}`, { token: editor })).json;

t.test("a polygon from 150 to 210 degrees is drawn on both sides, and nowhere else", async (t) => {
  t.equal((await middle(east))[3], 0);
  const wide = await addObject(server, "a", square(150, 0, 60), { map: "m" });
  t.same(await middle(east), red);
  t.same(await middle(west), red, "the tile on the other side is drawn again");
  t.equal((await middle(centre))[3], 0, "no band around the rest of the world");
  const token = editor;
  const geom = square(-210, 0, 60);
  await server.api("PUT", `m/layers/a/objects/${wide}/`, { token, body: { fields: {}, geom } });
  t.same(await middle(east), red);
  t.same(await middle(west), red);
  await server.api("DELETE", `m/layers/a/objects/${wide}/`, { token });
  t.equal((await middle(west))[3], 0, "it is gone on both sides");
  t.equal((await middle(east))[3], 0);
});

t.test("its geometry, its box and the layer's have one place in both reference systems", async (t) => {
  const id = await addObject(server, "a", square(170, 0, 20), { map: "m" });
  const shown = async (query: string) =>
    (await server.api("GET", `m/layers/a/objects/${id}/?${query}`, { token: editor })).json;
  const degrees = (x: number) => Math.round(x / 111_319.490793);
  const metres = await shown("returnGeom=1&geomSR=3857&returnBbox=1&bboxSR=3857");
  t.same(
    metres.geom.coordinates[0].map(([x]: number[]) => degrees(x!)),
    [170, 190, 190, 170, 170],
  );
  t.same([degrees(metres.bbox.sw[1]), degrees(metres.bbox.ne[1])], [170, 190]);
  const simple = await shown("returnGeom=1&geomZoom=8");
  t.same(Math.max(...simple.geom.coordinates[0].map(([x]: number[]) => Math.round(x!))), 190);
  const layer = (await server.api("GET", "m/layers/a/bbox/?bboxSR=3857", { token: editor })).json;
  t.match(JSON.stringify(layer), /21150703\./);
});

t.test("a filter by box finds it from either side", async (t) => {
  for (const [box, count] of [
    ["-1,175,1,176", 1],
    ["-1,-175,1,-174", 1],
    ["-1,185,1,186", 1],
    ["-1,545,1,546", 1],
    ["-1,-165,1,-160", 0],
    ["-1,179,1,-179", 1],
    ["-1,0,1,1", 0],
  ] as const)
    t.equal((await list(`fbbox=${box}`)).length, count, box);
});

t.test("the polar ends of such an object are cut, not lost", async (t) => {
  await addObject(
    server,
    "a",
    {
      type: "LineString",
      coordinates: [
        [200, -89],
        [200, 89],
      ],
    },
    { map: "m" },
  );
  const answer = await fetch(tileUrl(server, "m", { lon: -160, lat: 80, z: 4 }, "&base=0"));
  t.ok((await picture(await answer.arrayBuffer())).painted > 100);
});

t.test(
  "the first object beyond 180 degrees and a new virtual layer do not wait for each other",
  async (t) => {
    await makeStyledLayer(server, "m", "b", "#b { polygon-fill: #00ff00; }");
    const id = Number((await server.api("GET", "m/layers/b/", { token: editor })).json.id);
    const structure = new pg.Client({ connectionString: server.database.url });
    await structure.connect();
    t.teardown(() => structure.end());
    // As whoever makes a layer over another one does: the map's row, then that of the source.
    await structure.query("begin");
    await structure.query("select id from mapwright.map where code = 'm' for update");
    const added = addObject(server, "b", square(170, 0, 20), { map: "m" });
    await lockWaiters(server.sql);
    await structure.query("update mapwright.layer set changed_at = changed_at where id = $1", [id]);
    await structure.query("commit");
    t.type(await added, "number");
    const { rows } = await server.sql.query(
      "select deadlocks::int from pg_stat_database where datname = current_database()",
    );
    t.same(rows, [{ deadlocks: 0 }]);
  },
);
