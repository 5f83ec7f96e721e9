import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { startServer } from "../support/server.js";

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const [admin, editor, viewer] = [
  await server.token("admin"),
  await server.token("editor"),
  await server.token("viewer"),
];

const as = (token: string) => async (method: string, path: string, body?: unknown) => {
  const { status, text, json } = await api(method, path, { token, body });
  if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
  return json;
};
const edit = as(editor);
const newest = async () => (await edit("GET", "bin/?limit=1")).entries[0];
const point = { type: "Point", coordinates: [10, 10] };
const red = "#l { marker-fill: #ff0000; marker-width: 40; marker-allow-overlap: true; }";
const tile = async (path = "/tms/p/m/5/16/15.png?base=0") => {
  const answer = await fetch(`${server.url}${path}`);
  return {
    status: answer.status,
    etag: answer.headers.get("etag"),
    body: Buffer.from(await answer.arrayBuffer()),
  };
};

await edit("POST", "", { code: "m" });
await edit("POST", "m/layers/", { code: "l", css_style: red });
await edit("POST", "m/layers/l/structure/", { code: "name", type: "string" });
await edit("POST", "m/layers/l/objects/", { fields: { name: "one" }, geom: point });

t.test("tiles are as fresh after a deletion, and after it was undone, as after any edit", async (t) => {
  const full = await tile();
  await edit("DELETE", "m/layers/l/");
  const without = await tile();
  t.notSame(without.body, full.body);
  const answers = await Promise.all([
    edit("GET", "m/layers/?type=full"),
    api("GET", "m/layers/l/", { token: editor }).then(({ status }) => status),
  ]);
  t.same(answers, [[], 404]);
  t.match(await edit("POST", `bin/${(await newest()).id}/restore/`), {
    kind: "layer",
    code: "l",
    map: "m",
    layer: null,
    notes: [],
  });
  t.same((await tile()).body, full.body, "as before");
  await as(admin)("DELETE", "m/");
  t.equal((await tile()).status, 404);
  await edit("POST", "", { code: "m" });
  t.notSame((await tile()).body, full.body, "another map of the same code");
  const { id } = await as(admin)("GET", "bin/?limit=1").then(({ entries }) => entries[0]);
  t.equal((await api("POST", `bin/${id}/restore/`, { token: admin, body: {} })).status, 409);
  const told = await fetch(`${server.url}/api/2.8/p/bin/${id}/restore/`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${admin}`,
      accept: "application/json",
      "content-type": "application/json",
    },
    body: "{}",
  });
  t.match(await told.json(), { status: 409, data: { code: "m" } }, "programs are told which code it is");
  await as(admin)("DELETE", "m/");
  await as(admin)("POST", `bin/${id}/restore/`);
  t.same((await tile()).body, full.body);
  const column = async () =>
    (await edit("GET", "m/layers/l/objects/?fields=*")).map((o: { fields: object }) => o.fields);
  const values = await column();
  await edit("DELETE", "m/layers/l/structure/name/");
  t.notSame(await column(), values);
  t.match(await edit("POST", `bin/${(await newest()).id}/restore/`), {
    kind: "column",
    layer: "l",
    map: "m",
  });
  t.same(await column(), values);
});

t.test("whoever may delete a thing sees it in the bin and may restore it", async (t) => {
  await edit("POST", "m/layers/", { code: "mine" });
  await edit("DELETE", "m/layers/mine/");
  const { id, ...entry } = await newest();
  t.match(entry, { kind: "layer", code: "mine", map: "m", deleted_by: "editor", bytes: Number });
  t.same((await as(viewer)("GET", "bin/")).entries, []);
  for (const method of ["POST", "DELETE"] as const) {
    const path = method === "POST" ? `bin/${id}/restore/` : `bin/${id}/`;
    t.equal((await api(method, path, { token: viewer })).status, 403);
    t.equal((await api(method, path, {})).status, 401);
  }
  t.equal((await api("DELETE", "bin/", { token: editor })).status, 403, "all of it is for administrators");
  t.equal(
    (await as(admin)("GET", "bin/")).entries.some((one: { id: number }) => one.id === id),
    true,
  );
  t.equal((await api("POST", "bin/999999/restore/", { token: admin })).status, 404);
  await edit("DELETE", `bin/${id}/`);
  t.equal((await api("POST", `bin/${id}/restore/`, { token: admin })).status, 404);
  await as(admin)("DELETE", "bin/");
  t.same(await as(admin)("GET", "bin/"), { bytes: 0, entries: [] });
});

t.test("what is in use is not said to be deleted for good", async (t) => {
  const { id: layer } = await edit("POST", "m/layers/", { code: "used" });
  await edit("POST", "m/layers/used/structure/", { code: "name", type: "string" });
  await edit("DELETE", "m/layers/used/structure/name/");
  const { id } = await newest();
  await server.sql.query("begin");
  await server.sql.query(`select 1 from layers.l${layer}`);
  t.match(await api("DELETE", `bin/${id}/`, { token: editor }), { status: 503 });
  t.match(await api("DELETE", "bin/", { token: admin }), { status: 503 });
  await server.sql.query("rollback");
  t.equal((await newest()).id, id);
  await edit("DELETE", `bin/${id}/`);
  t.equal((await as(admin)("GET", "bin/")).entries.length, 0);
});

t.test("what was in a map that is deleted is for administrators until the map is back", async (t) => {
  await edit("POST", "", { code: "hidden" });
  await edit("POST", "hidden/layers/", { code: "secret" });
  await edit("POST", "hidden/layers/secret/structure/", { code: "name", type: "string" });
  await setGrant(server.nodes[0]!.services.db, { project: "p", map: "hidden", login: "editor" }, 0);
  await as(admin)("DELETE", "hidden/layers/secret/structure/name/");
  await as(admin)("DELETE", "hidden/layers/secret/");
  const seen = async () =>
    (await edit("GET", "bin/")).entries.filter(({ map }: { map: string }) => map === "hidden");
  t.same(await seen(), []);
  await as(admin)("DELETE", "hidden/");
  t.same(await seen(), []);
  const { entries } = await as(admin)("GET", "bin/");
  t.equal(entries.length, 3);
  for (const { id } of entries) t.equal((await api("DELETE", `bin/${id}/`, { token: editor })).status, 403);
  await as(admin)("DELETE", "bin/");
});
