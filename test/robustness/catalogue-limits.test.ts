import t from "tap";
import { createProject } from "../../src/catalog/projects.js";
import { maxElements } from "../../src/catalog/publication.js";
import { maxNodes } from "../../src/catalog/tree.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Trees, names and languages beyond any use: refused, while others change theirs. */

const server = await startServer();
t.teardown(() => server.stop());
const editor = await server.token("editor");
const neighbour = await server.token("editor");
const { services } = server.nodes[0]!;
const mapId = await makeMap(server, "m");
await makeMap(server, "other");
const { id: layer } = await makeStyledLayer(server, "m", "a", "#a { line-width: 1; }");

const refused = { status: 500, json: { code: "invalid_value" } };
/** Another editor's write, which goes on as before. */
const neighbourWrites = async () =>
  server.api("POST", "other/folders/", { token: neighbour, body: { name: "x" } });

t.test("a publication tree has a most", async (t) => {
  const publish = (count: number) =>
    server.api("POST", "m/publish/", {
      token: editor,
      body: Array.from({ length: count }, (_, i) => ({ id: i + 1, parent_id: 0, map_layer_id: layer })),
    });
  t.equal((await publish(maxElements)).json.length, maxElements);
  const [answer, other] = await Promise.all([publish(maxElements + 1), neighbourWrites()]);
  t.match(answer, refused);
  t.ok(answer.text.length < 500);
  t.equal(other.status, 200);
  // 250,000 of the smallest elements have more members than a body of this kind may have.
  const many = await publish(40_000);
  t.ok([400, 413].includes(many.status), many.text.slice(0, 200));
  const { rows } = await server.sql.query(
    "select json_array_length(publication::json) as count from map where id = $1",
    [mapId],
  );
  t.equal(Number(rows[0].count), maxElements, "the tree is as it was");
  t.equal((await publish(0)).status, 200);
});

t.test("a map has a most of folders and layers together, however they are made", async (t) => {
  await server.sql.query(
    `insert into node (id, map_id, type, code, name, localized_name, names, sort, json, style_mode)
     select nextval('container_id'), $1, 'folder', 'bulk' || n, '', false, '{}', n, '{}', 0
     from generate_series(1, $2::int - (select count(*)::int from node where map_id = $1) - 1) n`,
    [mapId, maxNodes],
  );
  const folder = () => server.api("POST", "m/folders/", { token: editor, body: { name: "x" } });
  t.equal((await folder()).status, 200, "the last one");
  t.match(await folder(), refused);
  t.match(
    await server.api("POST", "m/layers/", { token: editor, body: { geometry_type: "Point" } }),
    refused,
  );
  t.match(await server.api("POST", "m/layers/", { token: editor, body: {} }), refused);
  t.equal((await neighbourWrites()).status, 200);
});

t.test("a name and a project have a most of languages", async (t) => {
  const languages = (count: number) =>
    Array.from({ length: count }, (_, i) => `en-x${String(i).padStart(4, "0")}`);
  const named = (count: number) =>
    server.api("POST", "other/folders/", {
      token: editor,
      body: { code: "named", name: Object.fromEntries(languages(count).map((language) => [language, "x"])) },
    });
  const made = await named(100);
  t.equal(made.status, 200, made.text);
  t.match(await named(101), refused);
  const more = await server.api("PATCH", "other/folders/named/?lng=ru", {
    token: editor,
    body: { name: "one more", parent_id: 0 },
  });
  t.match(more, refused, "one after the other, too");
  await t.rejects(createProject(services.db, { code: "many", languages: languages(101) }), {
    code: "invalid_value",
  });
});
