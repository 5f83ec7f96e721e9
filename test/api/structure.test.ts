import t from "tap";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** The columns of a layer over HTTP. */

const server = await startServer();
t.teardown(() => server.stop());
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "a", "#a { marker-width: 4; }");
await server.sql.query(
  `insert into layer_column (layer_id, code, name, localized_name, names, type, required, sort)
     values ($1, 'kind', 'Kind', true, '{"en": "Kind", "ru": "Вид"}', 'string', true, 3)`,
  [layer.id],
);
await server.nodes[0]!.services.changes.propagate();

t.test("every layer has its columns svc_id and geom, and its own in their order", async (t) => {
  const answer = await server.api("GET", "m/layers/a/structure/");
  t.equal(answer.status, 200);
  t.match(answer.json, [
    { code: "svc_id", type: "number" },
    { code: "geom", type: "geom" },
    {
      code: "kind",
      name: "Kind",
      type: "string",
      required: true,
      parent_id: 0,
      sort: 3,
      localized_name: true,
      localized_value: false,
    },
  ]);
  t.type(answer.json[2].id, "number");
});

t.test("titles of columns follow the language", async (t) => {
  const answer = await server.api("GET", "m/layers/a/structure?lng=ru");
  t.equal(answer.json[2].name, "Вид");
});

t.test("the columns of a layer that does not exist are not found", async (t) => {
  t.equal((await server.api("GET", "m/layers/none/structure/")).status, 404);
});

t.test("the columns of a private map are for who may read it", async (t) => {
  await server.sql.query("update map set has_publication = false");
  // Another SQL client's change arrives when the node hears of it.
  await waitFor(async () => (await server.api("GET", "m/layers/a/structure/")).status === 403);
  t.equal((await server.api("GET", "m/layers/none/structure/")).status, 403);
  const token = await server.token("viewer");
  const answer = await server.api("GET", "m/layers/a/structure/", { token });
  t.equal(answer.status, 200);
  t.equal(answer.headers.get("cache-control"), "private, no-store");
});
