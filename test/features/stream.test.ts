import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { countObjects } from "../../src/features/count.js";
import { type ListRequest, listStatement } from "../../src/features/list.js";
import { readList } from "../../src/features/read.js";
import { failureOf, makeFeatures } from "./support.js";

const rows = 200_000;
const { db, table, layer, physical, close } = await makeFeatures([
  { code: "name", type: "string" },
  { code: "size", type: "number" },
]);
t.teardown(close);
await db.execute(
  `insert into ${table} (geom, ${physical("name")}, ${physical("size")})
   select st_setsrid(st_makepoint(i % 360 - 180, i % 170 - 85), 4326), 'object ' || i, i from generate_series(1, $1::int) i`,
  [rows],
);

const request: ListRequest = {
  fields: "all",
  sort: [],
  offset: 0,
  languages: { own: "en", main: "en" },
  form: "items",
};
const open = async (signal: AbortSignal, more: Partial<ListRequest> = {}) => {
  const statement = listStatement(layer, { ...request, ...more });
  const source = {
    statement,
    limit: undefined,
    hasGeometry: true,
    text: { opening: "[", closing: "]" },
    signal,
  };
  const chunks = await readList(db, source);
  if (typeof chunks === "string") throw new Error("expected a stream");
  return chunks;
};

/** Statements that run for this database, but for the one that asks. */
async function running(): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    "select count(*) as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and (state = 'active' or state like 'idle in%') and backend_type = 'client backend'",
  );
  return row?.n ?? 0;
}

async function settled(check: () => boolean | Promise<boolean>): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (await check()) return true;
    await sleep(50);
  }
  return false;
}
const released = () => settled(() => db.counts().idle === db.counts().total && db.counts().waiting === 0);

t.test("a long list comes whole, in chunks, in bounded memory", async (t) => {
  const chunks = await open(new AbortController().signal, { geom: { srid: 4326 } });
  let characters = 0;
  let objects = 0;
  let count = 0;
  let largest = 0;
  let memory = 0;
  let last = "";
  let before = 0;
  for await (const given of chunks) {
    const chunk = Buffer.from(given as string).toString();
    if (before === 0) before = process.memoryUsage().rss;
    characters += chunk.length;
    // A chunk may end anywhere in an object.
    const end = last.slice(-4);
    objects += (end + chunk).split('"id":').length - 1;
    count++;
    largest = Math.max(largest, chunk.length);
    memory = Math.max(memory, process.memoryUsage().rss - before);
    last = end + chunk;
  }
  t.equal(objects, rows);
  t.ok(last.endsWith("}]"));
  t.ok(characters > 20e6);
  t.ok(characters / count > 4 * 1024, `${count} chunks`);
  t.ok(largest <= 64 * 1024);
  t.ok(memory < 150e6, `${memory} bytes more`);
  t.ok(await released());
});

t.test("a consumer that stops gives the connection back", async (t) => {
  const chunks = await open(new AbortController().signal);
  await chunks.next();
  await chunks.return?.();
  t.ok(await released());
  t.equal(await running(), 0);
});

t.test("a reply that was never read is released when the client leaves", async (t) => {
  const leaving = new AbortController();
  await open(leaving.signal);
  leaving.abort();
  t.ok(await released());
  t.equal(await running(), 0);
});

t.test("abort in mid-stream ends the query", async (t) => {
  const leaving = new AbortController();
  const chunks = await open(leaving.signal);
  await chunks.next();
  leaving.abort();
  await failureOf(async () => {
    for await (const _ of chunks);
  });
  t.ok(await released());
  t.equal(await running(), 0);
});

t.test("abort cancels a statement that is still working", async (t) => {
  await db.execute(
    `create function slow(bigint) returns text language sql volatile as $$ select pg_sleep(60)::text $$`,
  );
  for (const short of [true, false]) {
    const leaving = new AbortController();
    const statement = { text: `select slow(svc_id) as o from ${table} limit 5`, values: [] };
    const work = readList(db, {
      statement,
      limit: short ? 5 : undefined,
      hasGeometry: false,
      text: { opening: "[", closing: "]" },
      signal: leaving.signal,
    });
    const failure = failureOf(async () => {
      const result = await work;
      if (typeof result !== "string") for await (const _ of result);
    });
    t.ok(await settled(async () => (await running()) === 1));
    leaving.abort();
    t.ok(await failure);
    t.ok(await released());
    t.equal(await running(), 0);
  }
});

t.test("abort cancels an exact count", async (t) => {
  const leaving = new AbortController();
  const blocker = await db.dedicated();
  await blocker.query(`begin; lock table ${table} in access exclusive mode`);
  const failure = failureOf(() => countObjects(db, layer.id, { precise: true, signal: leaving.signal }));
  t.ok(await settled(async () => (await running()) >= 1));
  leaving.abort();
  t.match(await failure, { code: "57014" });
  await blocker.query("rollback");
  await blocker.end();
  t.ok(await released());
});

t.test("an error in mid-stream is an error of the stream", async (t) => {
  const statement = {
    text: `select (1 / (150000 - svc_id))::text || repeat('x', 50) as o from ${table} order by svc_id`,
    values: [],
  };
  const chunks = await readList(db, {
    statement,
    limit: undefined,
    hasGeometry: false,
    text: { opening: "[", closing: "]" },
    signal: new AbortController().signal,
  });
  let read = 0;
  const failure = await failureOf(async () => {
    for await (const chunk of chunks) read += chunk.length;
  });
  t.ok(read > 1e6);
  t.match(failure, { code: "22012" });
  t.ok(await released());
});

t.test("slow readers leave connections to others, and lose theirs", async (t) => {
  const leaving = new AbortController();
  const readers = await Promise.all([open(leaving.signal), open(leaving.signal)]);
  const third = failureOf(() => open(leaving.signal));
  t.same(await db.query("select 1 as one"), [{ one: 1 }]);
  t.match(await third, { kind: "busy" });
  await Promise.all(readers.map((reader) => reader.return?.()));
  t.ok(await released());
  const stalled = db.stream<{ n: number }>("select generate_series(1, 1000) as n", [], {
    batch: 10,
    timeoutMs: 20,
  });
  await stalled.next();
  t.ok(await released());
  t.match(await failureOf(() => stalled.next()), { message: /stalled/ });
});

t.test("a connection that breaks in mid-stream fails the stream and nothing else", async (t) => {
  const chunks = await open(new AbortController().signal);
  await chunks.next();
  await db.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = current_user and pid <> pg_backend_pid()",
  );
  t.ok(
    await failureOf(async () => {
      for await (const _ of chunks);
    }),
  );
  t.same(await db.query("select 1 as one"), [{ one: 1 }]);
  t.ok(await settled(() => db.counts().idle === db.counts().total));
});
