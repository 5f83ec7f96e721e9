import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, open, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t from "tap";
import { startFileSweep, sweepFiles } from "../../src/catalog/file-sweep.js";
import { compareStore, StoreWatch } from "../../src/catalog/installation.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { FolderBlobStore } from "../../src/storage/folder-blob-store.js";
import { quietLog } from "../support/log.js";
import { makeMap } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { makeFileLayer, makeObject, send } from "./files.support.js";

/** Files of objects, over HTTP. */

const server = await startServer();
t.teardown(() => server.stop());
const { db, blobs, config } = server.nodes[0]!.services;
await makeMap(server, "m");
await makeFileLayer(server, "a");
await makeFileLayer(server, "b");
const token = await server.token("editor");

/** Blobs that are found, and not those that are set aside. */
const stored = async () => {
  const all = await readdir(join(config.dataDir, "files")).catch(() => []);
  const folders = all.filter((name) => name.length === 2);
  const names = await Promise.all(folders.map((folder) => readdir(join(config.dataDir, "files", folder))));
  return names.flat();
};
const temporary = () => readdir(join(config.dataDir, "tmp")).catch(() => []);
const fieldsOf = async (object: string, query = "") =>
  (await server.api("GET", `m/layers/${object}/${query}`)).json.fields;
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, { headers });

t.test("a file that was attached is listed and comes back as it was", async (t) => {
  const id = await makeObject(server, "a");
  const bytes = new Uint8Array(600_000).map((_, i) => i * 7);
  const answer = await send(server, `a/objects/${id}`, { bytes, name: "x.bin" });
  t.equal(answer.status, 200, answer.text);
  const file = answer.json;
  t.same(Object.keys(file).sort(), ["id", "mime", "name", "path", "uuid"]);
  t.match(file, { name: "x.bin", mime: "application/octet-stream", id: Number });
  t.equal((await fieldsOf(`a/objects/${id}`)).files, String(file.id));
  const got = await get(file.path);
  t.equal(got.status, 200);
  t.same(new Uint8Array(await got.arrayBuffer()), bytes);
  t.equal(got.headers.get("content-disposition"), 'attachment; filename="x.bin"');
  t.equal(got.headers.get("x-content-type-options"), "nosniff");
  t.match(got.headers.get("content-security-policy"), /sandbox/);
  const again = await get(file.path, { "if-none-match": got.headers.get("etag")! });
  t.equal(again.status, 304);
  const byId = await get(file.path.replace(file.uuid, String(file.id)));
  t.equal(byId.status, 200);
  await byId.arrayBuffer();

  const second = await send(server, `a/objects/${id}`, { bytes: "two", tokenIn: "form" });
  t.equal(second.status, 200, second.text);
  t.equal((await fieldsOf(`a/objects/${id}`)).files, `${file.id},${second.json.id}`);
  t.equal(await (await get(second.json.path)).text(), "two");
  t.same(await temporary(), []);
});

/** How often a file is open. */
const opened = async (uuid: string) => {
  const links = (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ""));
  return (await Promise.all(links)).filter((target) => target.endsWith(uuid)).length;
};

t.test("what asks for the head of a large file leaves nothing open", async (t) => {
  const id = await makeObject(server, "a");
  const { json: file } = await send(server, `a/objects/${id}`, { bytes: new Uint8Array(600_000) });
  for (let i = 0; i < 3; i++)
    t.equal((await fetch(`${server.url}${file.path}`, { method: "HEAD" })).status, 200);
  t.equal(await opened(file.uuid), 0);
});

t.test("a client that leaves in the middle of a large file leaves nothing open", async (t) => {
  const id = await makeObject(server, "a");
  const { json: file } = await send(server, `a/objects/${id}`, { bytes: new Uint8Array(20_000_000) });
  const leaving = new AbortController();
  const answer = await fetch(`${server.url}${file.path}`, { signal: leaving.signal });
  await answer.body!.getReader().read();
  t.equal(await opened(file.uuid), 1, "more is to come than sockets hold");
  leaving.abort();
  await waitFor(async () => (await opened(file.uuid)) === 0);
});

t.test("a file that is deleted is gone, and its bytes with it", async (t) => {
  const id = await makeObject(server, "a");
  const { json: file } = await send(server, `a/objects/${id}`, { bytes: "gone" });
  const address = `m/layers/a/objects/${id}/files/${file.id}/`;
  t.match((await server.api("DELETE", address, { token })).json, { code: "required_parameters" });
  t.match((await server.api("DELETE", `${address}?field=name`, { token })).json, {
    code: "file_column_required",
  });
  t.equal((await server.api("DELETE", `${address}?field=papers`, { token })).status, 404);
  const answer = await server.api("DELETE", `${address}?field=files`, { token });
  t.equal(answer.status, 200);
  t.equal(answer.text, "null");
  t.equal((await fieldsOf(`a/objects/${id}`)).files, null);
  t.equal((await get(file.path)).status, 404);
  t.notOk((await stored()).includes(file.uuid));
  t.equal((await server.api("DELETE", `${address}?field=files`, { token })).status, 404);
  t.equal((await server.api("DELETE", address, { token, body: { field: "files" } })).status, 404);
});

t.test("a localised column has files of each language", async (t) => {
  const id = await makeObject(server, "a");
  const place = `a/objects/${id}`;
  const english = (await send(server, place, { bytes: "en", field: "papers" })).json;
  const russian = (await send(server, place, { bytes: "ru", field: "papers", lng: "ru" })).json;
  t.equal((await fieldsOf(place)).papers, String(english.id));
  t.equal((await fieldsOf(place, "?lng=ru")).papers, String(russian.id));
  t.equal(await (await get(russian.path)).text(), "ru");
  const address = `m/layers/${place}/files/${russian.id}/?field=papers`;
  t.equal((await server.api("DELETE", address, { token })).status, 404, "the main language has it not");
  t.equal((await server.api("DELETE", `${address}&lng=ru`, { token })).text, "null");
  t.equal((await get(russian.path)).status, 404);
  t.equal((await fieldsOf(place, "?lng=ru")).papers, null);
  t.equal((await fieldsOf(place)).papers, String(english.id));
});

t.test("a request that lacks something is refused, and nothing stays", async (t) => {
  const id = await makeObject(server, "a");
  const before = (await stored()).length;
  const place = `a/objects/${id}`;
  const cases = [
    [await send(server, place, { bytes: "x", field: "name" }), 500, "file_column_required"],
    [await send(server, place, { bytes: "x", field: "nope" }), 500, "file_column_required"],
    [await send(server, place, { bytes: "x", field: "" }), 500, "required_parameters"],
    [await send(server, place, { bytes: "x", field: "papers", lng: "'; --" }), 500, "invalid_value"],
    [await send(server, "a/objects/999999", { bytes: "x" }), 404, undefined],
    [await send(server, "a/objects/x", { bytes: "x" }), 400, undefined],
    [await send(server, `nope/objects/${id}`, { bytes: "x" }), 404, undefined],
    [await send(server, place, { bytes: "x", token: undefined }), 401, undefined],
    [await send(server, place, { bytes: "x", token: "made-up" }), 401, undefined],
    [await send(server, place, { bytes: "x", token: await server.token("viewer") }), 403, undefined],
  ] as const;
  for (const [answer, status, code] of cases) {
    t.equal(answer.status, status, answer.text);
    if (code) t.equal(answer.json.code, code);
  }
  const none = await server.api("POST", `m/layers/${place}/files/`, { token, body: { field: "files" } });
  t.match(none.json, { code: "required_parameters", data: { required: ["file"] } });
  t.equal((await fieldsOf(place)).files, null);
  t.equal((await stored()).length, before);
  t.same(await temporary(), []);
});

t.test("an object lists its own files only", async (t) => {
  const one = await makeObject(server, "a");
  const other = await makeObject(server, "a");
  const { json: file } = await send(server, `a/objects/${one}`, { bytes: "mine" });
  const { json: spare } = await send(server, `a/objects/${one}`, { bytes: "mine too" });
  const put = (id: number, fields: unknown) =>
    server.api("PUT", `m/layers/a/objects/${id}/`, { token, body: { fields } });
  const foreign = await put(other, { files: String(file.id) });
  t.match(foreign.json, { code: "invalid_value", data: { columns: { files: String } } });
  t.equal((await put(one, { papers: String(file.id) })).json.code, "invalid_value", "nor in another column");
  t.equal((await put(999_999, { files: String(file.id) })).status, 404);
  const create = await server.api("POST", "m/layers/a/objects/", {
    token,
    body: { fields: { files: [file.id] } },
  });
  t.equal(create.json.code, "invalid_value");
  // The foreign file is deleted through no other object.
  for (const path of [`a/objects/${other}`, `b/objects/${one}`]) {
    const address = `m/layers/${path}/files/${file.id}/?field=files`;
    t.equal((await server.api("DELETE", address, { token })).status, 404);
  }
  t.equal(await (await get(file.path)).text(), "mine");
  t.equal((await get(file.path.replace(`/${one}/`, `/${other}/`))).status, 404);

  t.equal(
    (await put(one, { files: `${spare.id}, ${file.id},${spare.id}` })).json.fields.files,
    `${spare.id},${file.id}`,
  );
  t.equal((await put(one, { files: [file.id] })).json.fields.files, String(file.id));
  t.equal((await get(spare.path)).status, 404, "what the object no longer lists is not given out");
  t.equal((await put(one, { files: `${file.id},${spare.id}` })).status, 200, "but it can be listed again");
  t.equal((await get(spare.path)).status, 200);
});

t.test("the sweep takes what nobody lists any more, and nothing else", async (t) => {
  const kept = await makeObject(server, "a");
  const gone = await makeObject(server, "a");
  const { json: file } = await send(server, `a/objects/${kept}`, { bytes: "kept" });
  const { json: paper } = await send(server, `a/objects/${kept}`, {
    bytes: "kept",
    field: "papers",
    lng: "ru",
  });
  const { json: lost } = await send(server, `a/objects/${gone}`, { bytes: "lost" });
  t.equal((await server.api("DELETE", `m/layers/a/objects/${gone}/`, { token })).status, 200);
  t.equal((await get(lost.path)).status, 404, "at once");
  await sweepFiles(db, blobs);
  t.ok((await stored()).includes(lost.uuid), "not while it is young");
  await sweepFiles(db, blobs, { ageMs: 0 });
  const left = await stored();
  t.notOk(left.includes(lost.uuid));
  t.ok(left.includes(file.uuid) && left.includes(paper.uuid));
  t.equal((await get(paper.path)).status, 200);
  const rows = await server.sql.query("select from file where uuid = $1", [lost.uuid]);
  t.equal(rows.rowCount, 0);
  t.equal((await server.api("DELETE", "m/layers/b/", { token })).status, 200);
  t.equal(await sweepFiles(db, blobs, { ageMs: 0 }), 0);
});

t.test("a store that is not the one of the database is told from it, and is never swept", async (t) => {
  const id = await makeObject(server, "a");
  const { json: file } = await send(server, `a/objects/${id}`, { bytes: "here" });
  const { rows } = await server.sql.query("select id from installation");
  t.equal(await blobs.mark(), rows[0].id, "both were marked at the start");
  t.equal(await compareStore(db, blobs), "ours");
  const base = await mkdtemp(join(tmpdir(), "mapwright-store-"));
  t.teardown(() => rm(base, { recursive: true, force: true }));
  const other = new FolderBlobStore(join(base, "files"));
  t.equal(await compareStore(db, other), "missing", "an empty folder, when there are files");
  await other.setMark(randomUUID());
  t.equal(await compareStore(db, other), "another's");
  const watch = new StoreWatch({ db, blobs: other, log: quietLog });
  t.notOk(await watch.isOurs());
  await mkdir(join(base, "files/aside"));
  await writeFile(join(base, "files/aside", file.uuid), "a sweep would put it back");
  const aside = async () => {
    for await (const keys of other.aside(0)) return keys;
    return [];
  };
  let asked = 0;
  const store = { isOurs: () => watch.isOurs().finally(() => asked++) };
  const sweeping = startFileSweep(db, other, { store, log: quietLog });
  t.teardown(() => sweeping.stop());
  await waitFor(() => asked > 0);
  t.same(await aside(), [file.uuid]);

  await server.sql.query("begin; delete from installation");
  try {
    const tx = { query: async (text: string) => (await server.sql.query(text)).rows };
    t.equal(
      await compareStore(tx, blobs),
      "unmarked",
      "a backup from before there were marks, with its files",
    );
    t.equal(await compareStore(tx, other), "another's");
    await server.sql.query("delete from file");
    t.equal(await compareStore(tx, blobs), "another's", "a new database beside files of another one");
    await server.sql.query("insert into installation (id) values (gen_random_uuid())");
    t.equal(
      await compareStore(tx, new FolderBlobStore(join(base, "new"))),
      "missing",
      "a second machine without the shared folder, before there are files",
    );
    await server.sql.query("delete from installation");
    t.equal(
      await compareStore(tx, new FolderBlobStore(join(base, "new"))),
      "unmarked",
      "a new one with a new one",
    );
  } finally {
    await server.sql.query("rollback");
  }
  t.equal(await (await get(file.path)).text(), "here");
});

t.test("what a standby names that has taken over without the last changes is put back at once", async (t) => {
  const id = await makeObject(server, "a");
  const { json: file } = await send(server, `a/objects/${id}`, { bytes: "taken away on the server before" });
  await blobs.setAside(file.uuid);
  t.notOk((await stored()).includes(file.uuid));
  // As what makes another history of the database does.
  await server.sql.query("update epoch set token = $1", [randomUUID()]);
  await waitFor(async () => (await stored()).includes(file.uuid));
  t.equal((await get(file.path)).status, 200);
});

t.test("a store is marked whose first mark was not committed", async (t) => {
  const { sql } = server;
  const { rows } = await sql.query("select id from installation");
  await sql.query("create table kept_files as select * from file");
  await sql.query(`
    delete from installation; delete from file;
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
    create constraint trigger refuse after insert on installation deferrable initially deferred
      for each row execute function refuse()`);
  const base = await mkdtemp(join(tmpdir(), "mapwright-store-"));
  t.teardown(() => rm(base, { recursive: true, force: true }));
  const store = new FolderBlobStore(base);
  const watch = new StoreWatch({ db, blobs: store, log: quietLog }, 0);
  await watch.isOurs();
  t.type(await store.mark(), "string");
  t.equal(await compareStore(db, store), "another's", "by all that others know");
  await sql.query("drop trigger refuse on installation");
  t.equal(await watch.isOurs(), true);
  t.equal(await compareStore(db, store), "ours");
  await sql.query("update installation set id = $1", [rows[0].id]);
  await sql.query("insert into file overriding system value select * from kept_files; drop table kept_files");
});

t.test("a store that does not answer is asked once, however often somebody wants to know", async (t) => {
  let asked = 0;
  let answer = () => {};
  const silent = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const late: BlobStore = Object.create(blobs, {
    mark: {
      value: async () => {
        asked++;
        await silent;
        return blobs.mark();
      },
    },
  });
  const clock = { ms: 0, now: () => clock.ms };
  const watch = new StoreWatch({ db, blobs: late, log: quietLog }, 1_000, clock);
  const answers = [watch.isOurs()];
  for (clock.ms = 5_000; clock.ms < 60_000; clock.ms += 5_000) answers.push(watch.isOurs());
  t.equal(asked, 1);
  answer();
  t.same(new Set(await Promise.all(answers)), new Set([true]));
  clock.ms += 5_000;
  t.ok(await watch.isOurs());
  t.equal(asked, 2);
});

t.test("a server starts beside a disk that does not answer, and says so", async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "mapwright-test-"));
  const mark = join(dataDir, "files", "installation");
  await mkdir(dirname(mark));
  // Reading it waits for somebody who writes, without end.
  execFileSync("mkfifo", [mark]);
  const hung = await startServer({ config: { dataDir } });
  t.teardown(async () => {
    const writer = await open(mark, "w");
    await rm(mark);
    await writer.close();
    await hung.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  t.equal((await hung.api("GET", "maps/available/", { token: await hung.token("admin") })).status, 200);
  const health = await fetch(`${hung.url}/health/ready`);
  t.match(await health.json(), { status: "degraded", checks: { database: true, files: false } });
});

t.test("an older state of the database finds its files again", async (t) => {
  const id = await makeObject(server, "a");
  const { json: file } = await send(server, `a/objects/${id}`, { bytes: "of yesterday" });
  const row = (await server.sql.query("select * from file where uuid = $1", [file.uuid])).rows[0];
  const field = (await server.api("GET", `m/layers/a/objects/${id}/`, { token })).json.fields.files;
  t.equal(
    (await server.api("DELETE", `m/layers/a/objects/${id}/files/${file.id}/?field=files`, { token })).status,
    200,
  );
  t.notOk((await stored()).includes(file.uuid));
  await sweepFiles(db, blobs, { ageMs: 0 });

  // As a restored backup has them.
  await server.sql.query(
    "insert into file overriding system value select * from json_populate_record(null::file, $1)",
    [JSON.stringify(row)],
  );
  const fields = { files: String(field) };
  const listed = await server.api("PUT", `m/layers/a/objects/${id}/`, { token, body: { fields } });
  t.equal(listed.status, 200, listed.text);
  await sweepFiles(db, blobs);
  t.equal(await (await get(file.path)).text(), "of yesterday");

  t.equal(
    (await server.api("DELETE", `m/layers/a/objects/${id}/files/${file.id}/?field=files`, { token })).status,
    200,
  );
  await sweepFiles(db, blobs, { ageMs: 0, keptMs: 0 });
  for await (const keys of blobs.aside(0)) t.notOk(keys.includes(file.uuid), "in the end it is deleted");
});

t.test("the sweep holds one layer at a time", async (t) => {
  for (const code of ["swept", "held"]) await makeFileLayer(server, code);
  const lost: Record<string, string> = {};
  for (const code of ["swept", "held"]) {
    const id = await makeObject(server, code);
    lost[code] = (await send(server, `${code}/objects/${id}`, { bytes: code })).json.uuid;
    t.equal((await server.api("DELETE", `m/layers/${code}/objects/${id}/`, { token })).status, 200);
  }
  const { id: held } = (await server.api("GET", "m/layers/held/")).json;
  const rows = async (code: string) =>
    (await server.sql.query("select from file where uuid = $1", [lost[code]])).rowCount;
  const other = await db.dedicated();
  t.teardown(() => other.end());
  await other.query(`begin; lock table layers.l${held} in access exclusive mode`);
  const sweep = sweepFiles(db, blobs, { ageMs: 0 });
  await waitFor(async () => (await rows("swept")) === 0);
  t.equal(await rows("held"), 1);
  await other.query("rollback");
  await sweep;
  t.equal(await rows("held"), 0);
});

t.test("a hostile name stays one header and no path", async (t) => {
  const id = await makeObject(server, "a");
  const names: [string, string][] = [
    ['a".html\r\nSet-Cookie: x=1', "a_22.html_0D_0ASet-Cookie: x=1"],
    ["../../etc/passwd", "passwd"],
    ["C:\\temp\\план.txt", "%D0%BF"],
    ["я".repeat(2_000), "%D1%8F"],
  ];
  for (const [name, shown] of names) {
    const answer = await send(server, `a/objects/${id}`, { bytes: "<script>alert(1)</script>", name });
    t.equal(answer.status, 200, answer.text);
    t.ok(answer.json.name.length <= 255);
    const got = await get(answer.json.path);
    t.equal(got.headers.get("set-cookie"), null);
    t.ok(got.headers.get("content-disposition")!.includes(shown), got.headers.get("content-disposition")!);
    t.equal(got.headers.get("content-type"), "text/plain; charset=utf-8", "told by content");
    await got.text();
  }
});

t.test("files follow the rights of their layer", async (t) => {
  const id = await makeObject(server, "a");
  const { json: file } = await send(server, `a/objects/${id}`, { bytes: "secret" });
  t.equal((await get(file.path)).headers.get("cache-control"), "no-cache");
  await server.sql.query("update map set has_publication = false where code = 'm'");
  await server.nodes[0]!.services.changes.propagate();
  t.equal((await get(file.path)).status, 403);
  const own = await get(file.path, { "x-token": await server.token("viewer") });
  t.equal(own.status, 200);
  t.equal(own.headers.get("cache-control"), "private, no-store");
  t.equal(await own.text(), "secret");
  await server.sql.query("update map set has_publication = true where code = 'm'");
});

t.test("the files that an object lists are told with their sizes", async (t) => {
  const id = await makeObject(server, "a");
  const list = async () => (await server.api("GET", `m/layers/a/objects/${id}/files/`)).json;
  t.same(await list(), []);
  const { json: one } = await send(server, `a/objects/${id}`, { bytes: "12345", name: "one.txt" });
  const { json: other } = await send(server, `a/objects/${id}`, {
    ...{ bytes: "1", name: "other.txt", field: "papers", lng: "ru" },
  });
  t.same(await list(), [
    { ...one, size: 5 },
    { ...other, size: 1 },
  ]);
  await server.api("PUT", `m/layers/a/objects/${id}/`, { token, body: { fields: { files: "" } } });
  t.same(
    (await list()).map((file: { id: number }) => file.id),
    [other.id],
    "what the object does not list any more is not told",
  );
  t.equal((await server.api("GET", "m/layers/a/objects/999999999/files/")).status, 404);
});
