import t from "tap";
import { lockWaiters } from "../support/locks.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { send } from "./files.support.js";

/** Required columns: once filled they stay so, whichever way objects are written. */

const server = await startServer();
t.teardown(() => server.stop());
await makeMap(server, "m");
const { id: layerId } = await makeStyledLayer(server, "m", "l", "#a { marker-width: 4; }");
const token = await server.token("editor");
const objects = "m/layers/l/objects/";

const column = async (method: string, code: string, body: object) => {
  const path = `m/layers/l/structure/${method === "POST" ? "" : `${code}/`}`;
  const answer = await server.api(method, path, { token, body: { code, ...body } });
  if (answer.status !== 200) throw new Error(`column ${code}: ${answer.text}`);
};
await column("POST", "note", { type: "text", localized_value: true, required: true });
await column("POST", "rank", { type: "number", localized_value: true, required: true });
await column("POST", "size", { type: "number" });
await column("POST", "papers", { type: "file", localized_value: true });
await column("POST", "files", { type: "file" });

const note = { en: "note", ru: "заметка" };
const make = async (fields: object = {}): Promise<number> => {
  const body = { fields: { note, rank: 1, ...fields } };
  const { json, text } = await server.api("POST", objects, { token, body });
  if (!json?.id) throw new Error(text);
  return json.id;
};
const put = (id: number, fields: object, query = "") =>
  server.api("PUT", `${objects}${id}/${query}`, { token, body: { fields } });
const get = async (id: number, query = "") =>
  (await server.api("GET", `${objects}${id}/${query}`)).json.fields;
const refused = (...codes: string[]) => ({
  status: 500,
  json: {
    code: "invalid_value",
    data: { columns: Object.fromEntries(codes.map((code) => [code, "This column must be filled."])) },
  },
});

t.test("a localised column keeps a value in some language", async (t) => {
  const id = await make();
  t.match(await put(id, { note: null }), { status: 200 }, "the other language is left");
  for (const empty of [null, "", {}, { ru: "" }, { en: null, ru: null, de: "" }])
    t.match(await put(id, { note: empty, size: 5 }, "?lng=ru"), refused("note"), JSON.stringify(empty));
  t.match(await put(id, { rank: "", note: null }, "?lng=ru"), refused("note"));
  t.match(await put(id, { rank: null, note: "да" }), refused("rank"));
  t.match(await get(id, "?lng=ru"), { note: "заметка", size: null }, "and nothing else is saved");
  t.match(await get(id), { rank: 1 });
  t.match(await put(id, { note: "again" }), { status: 200 });
  t.match(await put(id, { note: null }, "?lng=ru"), { status: 200, json: { fields: { size: null } } });
  t.equal((await put(999_999, { note: null })).status, 404);
});

t.test("a change for another state is told before what it would empty", async (t) => {
  const id = await make({ note: "one" });
  const body = { fields: { note: null } };
  const stale = { token, body, headers: { "if-match": '"1"' } };
  t.equal((await server.api("PUT", `${objects}${id}/`, stale)).status, 412);
});

t.test("of writers that each take the last but one value away, one is refused", async (t) => {
  const id = await make({ rank: { en: 1, ru: 2 } });
  const both = (await Promise.all(
    ["en", "ru"].map(
      async (lng) => (await send(server, `l/objects/${id}`, { bytes: lng, field: "papers", lng })).json.id,
    ),
  )) as [number, number];
  const files = (await Promise.all(
    ["1", "2"].map(async (bytes) => (await send(server, `l/objects/${id}`, { bytes })).json.id),
  )) as [number, number];
  for (const code of ["papers", "files"]) await column("PATCH", code, { type: "file", required: true });
  const detach = (file: number, query: string) =>
    server.api("DELETE", `${objects}${id}/files/${file}/?${query}`, { token });
  const pairs: Record<string, () => ReturnType<typeof put>[]> = {
    note: () => [put(id, { note: null }), put(id, { note: "" }, "?lng=ru")],
    rank: () => [put(id, { rank: null }), put(id, { rank: null }, "?lng=ru")],
    papers: () => [detach(both[0], "field=papers"), put(id, { papers: null }, "?lng=ru")],
    files: () => files.map((file) => detach(file, "field=files")),
  };
  for (const [code, write] of Object.entries(pairs)) {
    await server.sql.query(`begin; select from layers.l${layerId} where svc_id = ${id} for update`);
    const writers = write();
    await lockWaiters(server.sql, 2);
    await server.sql.query("commit");
    const answers = await Promise.all(writers);
    t.same(answers.map(({ status }) => status).sort(), [200, 500], code);
    t.match(
      answers.find(({ status }) => status === 500),
      refused(code),
    );
  }
  const [english, russian] = [await get(id), await get(id, "?lng=ru")];
  for (const code of Object.keys(pairs)) t.ok(english[code] ?? russian[code], code);
  for (const code of ["papers", "files"]) await column("PATCH", code, { type: "file", required: false });
});

t.test("the last file of a column stays, and is still given out", async (t) => {
  const id = await make();
  const attach = async (field: string, lng = "en") =>
    (await send(server, `l/objects/${id}`, { bytes: field, field, lng })).json;
  const [file, paper, russian] = [
    await attach("files"),
    await attach("papers"),
    await attach("papers", "ru"),
  ];
  for (const code of ["papers", "files"]) await column("PATCH", code, { type: "file", required: true });
  const detach = (one: { id: number }, query: string) =>
    server.api("DELETE", `${objects}${id}/files/${one.id}/?${query}`, { token });
  t.match(await detach(file, "field=files"), refused("files"));
  t.match(await put(id, { files: "" }), refused("files"));
  t.equal((await detach(paper, "field=papers")).text, "null", "another language has a file");
  t.match(await detach(russian, "field=papers&lng=ru"), refused("papers"));
  t.match(await put(id, { papers: [] }, "?lng=ru"), refused("papers"));
  t.equal((await detach(paper, "field=papers&lng=ru")).status, 404, "what is not there is still not there");
  for (const kept of [file, russian]) {
    const answer = await fetch(`${server.url}${kept.path}`);
    t.equal(answer.status, 200);
    await answer.arrayBuffer();
  }
  for (const code of ["papers", "files"]) await column("PATCH", code, { type: "file", required: false });
});

t.test("an import empties none either", async (t) => {
  const id = await make();
  const merge = (properties: object) =>
    server.api("POST", "m/layers/l/import/", {
      token,
      body: { type: "Feature", geometry: null, properties: { svc_id: id, ...properties } },
    });
  const columns = { note: "This column must be filled." };
  t.match(await merge({ note_en: null, note_ru: null }), {
    status: 500,
    json: { code: "import_failed", data: { columns } },
  });
  t.equal((await merge({ note_en: null, size: 3 })).status, 200);
  t.match(await merge({ note_ru: "" }), { status: 500, json: { code: "import_failed", data: { columns } } });
  t.match(await get(id, "?lng=ru"), { note: note.ru, size: 3 });
});

t.test("a required geometry is there in every object that is saved", async (t) => {
  const point = { type: "Point", coordinates: [1, 2] };
  const bare = await make();
  await column("PATCH", "geom", { type: "geom", required: true });
  const write = (method: string, path: string, body: unknown) =>
    server.api(method, `${objects}${path}`, { token, body });
  const fields = { note, rank: 1 };
  const { json: made } = await write("POST", "", { fields, geom: point });
  t.match(await write("POST", "", { fields }), refused("geom"));
  t.match(await write("POST", "", { fields, geom: null }), refused("geom"));
  t.match(await write("PUT", `${made.id}/`, { geom: null }), refused("geom"));
  t.match(await write("PUT", `${made.id}/geom/`, null), refused("geom"));
  t.equal((await write("PUT", "999999/geom/", point)).status, 404);
  t.equal((await write("PUT", `${bare}/`, { fields: { size: 1 } })).status, 200, "what is not changed stays");
  t.same((await write("PUT", `${made.id}/geom/`, point)).json, point);
  const feature = (geometry: object | null, properties: object) =>
    server.api("POST", "m/layers/l/import/", { token, body: { type: "Feature", geometry, properties } });
  for (const properties of [{ svc_id: made.id }, { note: "new", rank: 1 }])
    t.match(await feature(null, properties), { json: { code: "import_failed", data: { column: "geom" } } });
  t.equal((await feature(point, { note: "new", rank: 1 })).status, 200);
  const read = await server.api("GET", `${objects}${made.id}/geom/`, { token });
  t.same(read.json, point);
});
