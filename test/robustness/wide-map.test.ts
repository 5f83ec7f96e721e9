import { setTimeout as pause } from "node:timers/promises";
import t from "tap";
import { makeLayers } from "../support/layers.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** A map of hundreds of layers is drawn cold, changed and deleted, while others look at their map and edit it. */

const count = 400;

const server = await startServer();
t.teardown(() => server.stop());
const { api, sql } = server;
const token = await server.token("admin");
await makeMap(server, "m");
await makeStyledLayer(server, "m", "l", "#l { polygon-fill: #f00; }");
await addObject(server, "l", square(0, 0, 40), { map: "m" });

const wide = await makeMap(server, "wide");
const layers = await makeLayers(sql, wide, count);
await sql.query(
  `update node set css_style = '#l { marker-width: ' || 4 + id % 20 || '; marker-fill: #' || lpad(to_hex(id % 4096), 3, '0')
     || '; marker-allow-overlap: true; marker-ignore-placement: true; }' where id = any($1::bigint[])`,
  [layers],
);
for (const [index, id] of layers.entries())
  await sql.query(`insert into layers.l${id} (geom) values (st_setsrid(st_point($1, 10), 4326))`, [
    (index / count) * 20,
  ]);
await server.nodes[0]!.services.changes.propagate();

const wideTile = (query = "") =>
  fetch(tileUrl(server, "wide", { lon: 10, lat: 10, z: 4 }, `&base=0${query}`)).then(async (answer) => ({
    status: answer.status,
    type: answer.headers.get("content-type"),
    picture: Buffer.from(await answer.arrayBuffer()).toString("base64"),
  }));

/** Others' new tiles and edits, one after the other, until `stop`. */
function startOthers() {
  let stopped = false;
  const failures: string[] = [];
  const answers = { tile: 0, write: 0 };
  const clients = [
    async (turn: number) => {
      const place = { lon: (turn * 7) % 40, lat: (turn * 3) % 40, z: 5 + (turn % 8) };
      const answer = await fetch(tileUrl(server, "m", place, "&base=0"));
      await answer.arrayBuffer();
      answers.tile++;
      if (answer.status !== 200) failures.push(`tile: ${answer.status}`);
    },
    async (turn: number) => {
      const body = { fields: {}, geom: square((turn % 30) - 15, (turn % 40) - 20, 1) };
      const { status, text } = await api("POST", "m/layers/l/objects/", { token, body });
      answers.write++;
      if (status !== 200) failures.push(`write: ${status} ${text}`);
    },
  ].map(async (request) => {
    for (let turn = 0; !stopped; turn++) {
      await request(turn);
      await pause(100);
    }
  });
  return {
    failures,
    answers,
    stop: async () => {
      stopped = true;
      await Promise.all(clients);
    },
  };
}

t.test("others go on, and each change of it is seen", async (t) => {
  const others = startOthers();
  const cold = await wideTile();
  t.match(cold, { status: 200, type: "image/png" });
  t.ok(others.answers.tile > 0 && others.answers.write > 0, "while it was drawn");

  let before = cold.picture;
  for (const [index, code] of (
    await sql.query("select code from node where id = any($1::bigint[]) order by id", [layers.slice(50, 53)])
  ).rows.entries()) {
    const path = `wide/layers/${code.code}/`;
    const body = { parent_id: wide, css_style: `#l { marker-width: ${30 + index}; marker-fill: #00f; }` };
    const changed = await api("PATCH", path, { token, body });
    t.equal(changed.status, 200, changed.text);
    const drawn = await wideTile();
    t.equal(drawn.status, 200);
    t.not(drawn.picture, before, "the change is seen");
    before = drawn.picture;
  }

  // Deleted while it is drawn at other scales and places.
  const drawing = [2, 3].flatMap((retina) => [
    wideTile(`&retina=${retina}`),
    wideTile(`&retina=${retina}&q=1`),
  ]);
  for (const { code } of (
    await sql.query("select code from node where id = any($1::bigint[]) order by id", [
      layers.slice(100, 110),
    ])
  ).rows)
    t.equal((await api("DELETE", `wide/layers/${code}/`, { token })).status, 200);
  for (const tile of await Promise.all(drawing)) t.equal(tile.status, 200);
  t.match(await wideTile(), { status: 200, type: "image/png" });

  await others.stop();
  t.same(others.failures, []);
  t.ok(others.answers.tile > 10 && others.answers.write > 10, JSON.stringify(others.answers));
});
