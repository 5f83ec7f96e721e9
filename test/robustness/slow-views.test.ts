import { Writable } from "node:stream";
import t from "tap";
import { createLog } from "../../src/log.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** A virtual layer whose filter takes too long is nobody else's matter. */

const deadlineMs = 3_000;
const logged: string[] = [];
const log = createLog(
  "warn",
  "test",
  new Writable({
    write(chunk, _encoding, done) {
      logged.push(String(chunk));
      done();
    },
  }),
);
const server = await startServer({
  config: { statementTimeoutMs: 1_000, "tiles.deadlineMs": deadlineMs },
  log,
});
t.teardown(() => server.stop());
const { api, sql } = server;

await makeMap(server, "m");
await makeStyledLayer(server, "m", "base", "#l { polygon-fill: #f00; }");
const [slow, quick] = [
  await addObject(server, "base", square(10, 10, 1), { map: "m" }),
  await addObject(server, "base", square(12, 10, 1), { map: "m" }),
];
const view = (
  await api("POST", "m/layers/", {
    token: await server.token("editor"),
    body: {
      code: "view",
      type: "virtual",
      source: { layer: "base" },
      css_style: "#l { polygon-fill: #00f; }",
    },
  })
).json.id;
const { definition } = (
  await sql.query(`select rtrim(pg_get_viewdef('layers.l${view}'::regclass), '; \n') as definition`)
).rows[0];
await sql.query(
  `create or replace view layers.l${view} as ${definition} where svc_id <> ${slow} or pg_sleep(60) is not null`,
);

t.test("an object is read while another one takes too long", async (t) => {
  const [late, found] = await Promise.all(
    [slow, quick].map((id) => api("GET", `m/layers/view/objects/${id}/`)),
  );
  t.match(late, { status: 503, json: { code: "busy" } });
  t.match(found, { status: 200, json: { id: quick } });
});

t.test("a tile that takes too long leaves the render host to the others", async (t) => {
  const { restarts } = server.nodes[0]!.services.render.counts();
  const tile = (query: string) => fetch(tileUrl(server, "m", { lon: 11, lat: 10.5, z: 6 }, query));
  const base = (await api("GET", "m/layers/")).json.find(({ code }: { code: string }) => code === "base").id;
  const [late, drawn] = await Promise.all([tile(`&layers=${view}`), tile(`&layers=${base}`)]);
  t.equal(late.status, 200);
  t.equal(late.headers.get("x-tile-incomplete"), "view");
  t.ok(
    logged.some((line) => line.includes(`"layer":"view"`) && line.includes("statement timeout")),
    "the log tells why",
  );
  t.equal(drawn.status, 200);
  t.equal(server.nodes[0]!.services.render.counts().restarts, restarts, "the host is the same");
});
