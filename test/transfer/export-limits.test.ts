import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import t from "tap";
import { startServer, waitFor } from "../support/server.js";

/** Bounds on exports: on the process that writes them, on the files of one, and on those of all. */

const mb = 1024 ** 2;
const limits = { fileBytes: 24 * mb, totalBytes: 40 * mb };
const server = await startServer({ config: { exports: limits } });
t.teardown(() => server.stop());
const token = await server.token("admin");
const { files } = server.nodes[0]!.services;
const path = (layer: string, format = "fgb") => `m/layers/${layer}/export/?format=${format}`;

await server.api("POST", "", { token, body: { code: "m" } });
/** Makes a layer of objects whose text has 20,000 bytes each. */
async function layer(code: string, objects: number): Promise<void> {
  const { json } = await server.api("POST", "m/layers/", { token, body: { code } });
  await server.api("POST", `m/layers/${code}/structure/`, { token, body: { code: "text", type: "text" } });
  const columns = await server.sql.query(
    "select attname from pg_attribute where attrelid = $1::regclass and attname ~ '^c[0-9]+$'",
    [`layers.l${json.id}`],
  );
  await server.sql.query(
    `insert into layers.l${json.id} (geom, ${columns.rows[0].attname})
     select st_setsrid(st_makepoint(n % 100, n % 80), 4326), repeat('x', 20000) from generate_series(1, $1) n`,
    [objects],
  );
}
await layer("small", 10);
await layer("large", 1_000);
await layer("beyond", 2_000);

/** What `read` gives, or `otherwise` where it reads what an export that ends has just removed. */
function unlessRemoved<Value>(otherwise: Value, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return otherwise;
    throw error;
  }
}

/** Folders of exports that are there now, with the size of their files. */
const held = () =>
  readdirSync(files.folder).map((folder) =>
    unlessRemoved([], () => readdirSync(join(files.folder, folder))).reduce(
      (sum, name) => sum + unlessRemoved(0, () => statSync(join(files.folder, folder, name)).size),
      0,
    ),
  );
const total = () => held().reduce((sum, bytes) => sum + bytes, 0);

/** Asks for an export without reading the answer. */
function unread(): Socket {
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.pause();
  socket.on("error", () => undefined);
  socket.write(`GET /api/2.8/p/${path("large")} HTTP/1.1\r\nHost: x\r\n\r\n`);
  t.teardown(() => socket.destroy());
  return socket;
}

t.test("the process has the drivers of its formats only, and the limits of the configuration", async (t) => {
  for (const format of ["fgb", "gpkg", "shp", "tab"])
    t.equal((await server.api("GET", path("small", format))).status, 200, format);
  const { pid } = files.host;
  const of = readFileSync(`/proc/${pid}/limits`, "utf8");
  const soft = (name: string) => Number(new RegExp(`^${name}\\s+(\\d+)\\s+\\1\\s`, "m").exec(of)?.[1]);
  t.equal(soft("Max data size"), files.limits.memoryBytes + 512 * mb);
  t.equal(soft("Max file size"), limits.fileBytes + 64 * mb);
  t.equal(soft("Max open files"), 512);
  t.equal(soft("Max core file size"), 0);
  const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
  for (const driver of ["GTiff", "GML", "SXF", "OGR_VRT", "PostgreSQL", "WFS"])
    t.match(environment, new RegExp(`OGR_SKIP=[^\\0]*\\b${driver}\\b`), driver);
});

t.test("an export that would be too large is refused, and others go on", async (t) => {
  for (const format of ["fgb", "gpkg"]) {
    const [beyond, small] = await Promise.all([
      server.api("GET", path("beyond", format)),
      server.api("GET", path("small", format)),
    ]);
    t.match(beyond, {
      status: 500,
      json: {
        code: "invalid_value",
        message: `The files would be larger than ${limits.fileBytes} bytes. Choose fewer objects.`,
      },
    });
    t.equal(small.status, 200);
  }
  await waitFor(() => held().length === 0);
  t.equal(files.host.counts().restarts, 0);
  const open = `/proc/${files.host.pid}/fd`;
  const targets = readdirSync(open).map((name) => unlessRemoved("", () => readlinkSync(join(open, name))));
  t.same(
    targets.filter((path) => path.includes("/export-")),
    [],
    "removed files take no room",
  );
});

t.test("files that nobody takes hold their place until their readers leave", async (t) => {
  const reader = unread();
  await waitFor(() => files.host.counts().running === 0 && total() > 18 * mb);
  const refused = await server.api("GET", path("small"));
  t.match(refused, { status: 503, json: { code: "busy", message: /still being sent/ } });
  t.ok(Number(refused.headers.get("retry-after")) >= 1);
  t.equal((await server.api("GET", path("small", "geojson"))).status, 200, "what needs no file is exported");
  reader.destroy();
  await waitFor(() => held().length === 0);
  t.equal((await server.api("GET", path("large"))).status, 200);
});

t.test("exports that begin at once have no more room than those that come one by one", async (t) => {
  const readers = Array.from({ length: 6 }, unread);
  let most = 0;
  await waitFor(() => files.host.counts().running === 1);
  await waitFor(() => {
    most = Math.max(most, total());
    return files.host.counts().running === 0;
  });
  t.ok(most > 18 * mb, "some were written");
  t.ok(most < limits.totalBytes + 8 * mb, `${most} bytes`);
  for (const reader of readers) reader.destroy();
  await waitFor(() => held().length === 0);
  // One that waited for its turn may still find out that its reader has left.
  await waitFor(async () => (await server.api("GET", path("large"))).status === 200);
});
