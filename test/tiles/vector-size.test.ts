import t from "tap";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { vectorUrl } from "../support/vector-tiles.js";

/** Vector tiles that are too large are refused before they are received. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "a", "#a { marker-width: 4; }");
await server.api("POST", "m/layers/a/structure/", {
  token,
  body: { code: "name", type: "text", localized_value: false },
});
const { rows } = await server.sql.query(
  "select id from mapwright.layer_column where layer_id = $1 and code = 'name'",
  [layer.id],
);
await server.sql.query(
  `insert into layers.l${layer.id} (geom, c${rows[0].id})
   select st_setsrid(st_makepoint(n % 170, n % 80), 4326), lpad(n::text, 240, 'x') from generate_series(1, 75000) n`,
);

t.test("a tile of more bytes than are taken is refused, and the server goes on", async (t) => {
  const all = await fetch(vectorUrl(server, "m", { lon: 1, lat: 1, z: 0 }, ""));
  t.equal(all.status, 500);
  t.match(await all.text(), /too many objects/);
  const part = await fetch(vectorUrl(server, "m", { lon: 1, lat: 1, z: 6 }, ""));
  t.equal(part.status, 200);
  t.ok((await part.arrayBuffer()).byteLength > 100);
});
