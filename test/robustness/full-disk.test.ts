import { randomBytes } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import t, { type Test } from "tap";
import { runCommand } from "../commands/support.js";
import { asSuperuser } from "../support/database.js";
import { pngOf } from "../support/png.js";
import { type ApiAnswer, startServer, type TestServer, waitFor } from "../support/server.js";
import { type SmallDisk, smallDisk } from "../support/small-disk.js";
import { collection, feature } from "../support/transfer.js";
import { zipOf } from "../support/zip.js";

/** Disks that are full: what is written fails with the reason, nothing of it stays, and reading goes on. */

const mb = 1024 ** 2;
const noRoom = { code: "internal", message: "There is no room on the server's disk for this now." };
const importNoRoom = { ...noRoom, code: "import_failed" };

/** A disk that is removed after the test; skips the test where none can be mounted. */
async function withDisk(
  t: Test,
  owner: { readonly uid: number; readonly gid: number } | undefined,
  work: (disk: SmallDisk) => Promise<void>,
): Promise<void> {
  const disk = smallDisk(24, owner);
  if (typeof disk === "string") return void t.pass("", { skip: disk });
  try {
    await work(disk);
  } finally {
    disk.remove();
  }
}

/** A map with the layer `l` of one object with files, and the layer `pictures`. */
async function prepare(server: TestServer): Promise<{ token: string; id: number }> {
  const token = await server.token("admin");
  const must = async (method: string, path: string, body?: unknown) => {
    const answer = await server.api(method, path, { token, body });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.json;
  };
  await must("POST", "", { code: "m" });
  for (const code of ["l", "pictures"]) await must("POST", "m/layers/", { code });
  await must("POST", "m/layers/l/structure/", { code: "text", type: "text" });
  await must("POST", "m/layers/l/structure/", { code: "files", type: "file" });
  const { id } = await must("POST", "m/layers/l/objects/", { fields: { text: "old" } });
  return { token, id };
}

const features = (bytes: number) =>
  Buffer.from(
    JSON.stringify(
      collection(
        ...Array.from({ length: Math.ceil(bytes / 20_000) }, () =>
          feature({ text: randomBytes(10_000).toString("hex") }),
        ),
      ),
    ),
  );

t.test("the disk of uploads, imports, exports and attachments", async (t) => {
  await withDisk(t, undefined, async (disk) => {
    // Else uploads would be refused before the disk is full.
    const config = { dataDir: disk.path, "receiving.freeBytes": 0 };
    const server = await startServer({ config });
    try {
      await fillData(t, server, disk);
    } finally {
      await server.stop();
    }
  });
});

async function fillData(t: Test, server: TestServer, disk: SmallDisk): Promise<void> {
  const { token, id } = await prepare(server);
  const send = async (path: string, name: string, body: Buffer): Promise<ApiAnswer> => {
    const answer = await fetch(`${server.url}/api/2.8/p/m/layers/${path}`, {
      method: "POST",
      headers: { "x-token": token, "x-filename": name },
      body: body as never,
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) };
  };
  const attach = async (bytes: number) => {
    const form = new FormData();
    form.append("field", "files");
    form.append("file", new Blob([randomBytes(bytes)]), "a.bin");
    const answer = await fetch(`${server.url}/api/2.8/p/m/layers/l/objects/${id}/files/`, {
      method: "POST",
      headers: { "x-token": token },
      body: form,
    });
    return { status: answer.status, json: (await answer.json()) as any };
  };
  const objects = async () => (await server.api("GET", "m/layers/l/objects/?fields=*", { token })).json;
  const before = await objects();
  const files = () =>
    readdirSync(disk.path, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && entry.name !== "filler")
      .map(({ parentPath, name }) => join(parentPath, name));
  const kept = files();
  const large = features(2 * mb);
  const random = Buffer.concat(
    Array.from({ length: 300 }, () => Buffer.concat([Buffer.of(0), randomBytes(900)])),
  );
  const picture = pngOf(300, 300, { pixels: deflateSync(random) });
  const archive = await zipOf({
    "a.geojson": JSON.stringify(collection(feature({ text: "x".repeat(3 * mb) }))),
  });

  const cases: readonly (readonly [string, number, () => Promise<{ status: number; json: any }>, object])[] =
    [
      ["an upload", mb, () => send("l/import/", "a.geojson", large), noRoom],
      ["an attachment", mb, () => attach(2 * mb), noRoom],
      ["an archive that is unpacked", mb, () => send("l/import/", "a.zip", archive), importNoRoom],
      [
        "an image that is processed",
        mb / 2,
        () => send("pictures/import/?raster_bbox=BOX(1 1,2 2)", "a.png", picture),
        importNoRoom,
      ],
    ];
  for (const [name, left, write, wanted] of cases) {
    disk.leave(left);
    t.match(await write(), { status: 500, json: wanted }, name);
    await waitFor(() => files().length === kept.length);
    t.same(files(), kept, `${name}: nothing is left`);
    t.same(await objects(), before, `${name}: the layer is as before`);
  }
  disk.leave(mb);
  for (const format of ["gpkg", "fgb", "shp"])
    t.match(await server.api("GET", `m/layers/l/export/?format=${format}`, { token }), {
      status: 503,
      json: { code: "busy", message: "There is no room for exported files now." },
    });
  t.equal((await server.api("GET", "m/layers/l/export/?format=csv", { token })).status, 200);
  t.equal((await fetch(`${server.url}/tms/p/m/?x=0&y=0&z=0`)).status, 200);
  t.same(readdirSync(join(disk.path, "exports")), []);

  disk.clear();
  t.equal((await attach(mb)).status, 200, "whole again when there is room");
  t.equal((await send("l/import/", "a.geojson", large)).status, 200);
  t.equal((await send("pictures/import/?raster_bbox=BOX(1 1,2 2)", "a.png", picture)).status, 200);
}

t.test("the disk of the database", async (t) => {
  const account = await asSuperuser("postgres", async (client) => {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    return statSync(`/proc/${rows[0]!.pid}`);
  });
  await withDisk(t, account, async (disk) => {
    const name = `full_${process.pid}`;
    await asSuperuser("postgres", (client) =>
      client.query(`create tablespace ${name} location '${disk.path}'`),
    );
    const server = await startServer();
    try {
      await fillDatabase(t, server, name);
    } finally {
      await server.stop();
      await asSuperuser("postgres", (client) => client.query(`drop tablespace ${name}`));
    }
  });
});

async function fillDatabase(t: Test, server: TestServer, tablespace: string): Promise<void> {
  const { token } = await prepare(server);
  const database = new URL(server.database.url).pathname.slice(1);
  await asSuperuser(database, async (client) => {
    await client.query(`grant create on tablespace ${tablespace} to public`);
    await client.query(`alter role ${database} set default_tablespace = ${tablespace}`);
    // Connections that begin later have their new tables there.
    await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename <> current_user",
    );
  });
  await waitFor(
    async () => (await server.api("POST", "m/layers/", { token, body: { code: "small" } })).status === 200,
  );
  await server.api("POST", "m/layers/small/structure/", { token, body: { code: "text", type: "text" } });
  const objects = async () => (await server.api("GET", "m/layers/small/objects/?fields=*", { token })).json;
  const send = (bytes: number, query = "") =>
    fetch(`${server.url}/api/2.8/p/m/layers/small/import/${query}`, {
      method: "POST",
      headers: { "x-token": token },
      body: features(bytes) as never,
    }).then(async (answer) => ({ status: answer.status, json: (await answer.json()) as any }));
  const staged = () =>
    asSuperuser(database, (client) =>
      client.query("select from pg_class where relnamespace = 'staging'::regnamespace and relkind = 'r'"),
    );

  // There is room for the staging table of the second, and none for the objects.
  for (const [name, bytes] of [
    ["while the file is read", 30 * mb],
    ["while objects are written", 14 * mb],
  ] as const) {
    t.match(await send(bytes), { status: 500, json: importNoRoom }, name);
    t.same(await objects(), [], `${name}: the layer is as before`);
    await waitFor(async () => (await staged()).rowCount === 0);
  }
  const body = { fields: { text: randomBytes(400_000).toString("hex") } };
  let made = 0;
  let answer: ApiAnswer;
  do {
    answer = await server.api("POST", "m/layers/small/objects/", { token, body });
    if (answer.status === 200) made++;
  } while (answer.status === 200 && made < 100);
  t.match(answer, { status: 500, json: { ...noRoom, data: { request: String } } });
  t.equal((await objects()).length, made, "what was answered is there, and nothing else");
  t.equal((await fetch(`${server.url}/tms/p/m/?x=0&y=0&z=0`)).status, 200);
  const other = await server.api("POST", "m/layers/l/objects/", { token, body: { fields: { text: "new" } } });
  t.equal(other.status, 200, "other layers have room");
  t.equal((await server.api("DELETE", "m/layers/small/", { token })).status, 200);
}

t.test("the doctor says that no raster layer is drawn from a full disk, and why", async (t) => {
  await withDisk(t, undefined, async (disk) => {
    disk.leave(0);
    const nowhere = { DATABASE_URL: "postgresql://127.0.0.1:1/none", REDIS_URL: "redis://127.0.0.1:1/0" };
    const told = await runCommand(["doctor", "--json"], {
      variables: { ...nowhere, MAPWRIGHT_DATA_DIR: disk.path },
    });
    const checks: { name: string }[] = JSON.parse(told.stdout);
    t.match(
      checks.find(({ name }) => name === "raster layers"),
      { ok: false, found: /cannot be drawn: .*no space/i, advice: /room/ },
    );
  });
});
