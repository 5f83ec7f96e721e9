import t from "tap";
import { speak, statusOf } from "../http/harness.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { watchSafety } from "../support/safe.js";
import { startServer, waitFor } from "../support/server.js";

/** Hostile parameters of requests that only read: they are values, or they are refused. */

const server = await startServer({ config: { databaseConnections: 8 } });
t.teardown(() => server.stop());
const token = await server.token("editor");
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "l", "#l { polygon-fill: #f00; }");
for (const column of [
  { code: "name", type: "string" },
  { code: "size", type: "number" },
  { code: "at", type: "datetime" },
  { code: "data", type: "json" },
]) {
  const made = await server.api("POST", "m/layers/l/structure/", { token, body: column });
  if (made.status !== 200) throw new Error(made.text);
}
for (let i = 0; i < 3; i++) await addObject(server, "l", square(i, i, 1), { map: "m" });
await server.api("POST", "m/layers/l/objects/", { token, body: { fields: { name: "lake", size: 5 } } });

const layers = "/api/2.8/p/m/layers";
const objects = `${layers}/l/objects/`;
const safe = await watchSafety(t, server, objects);
const encode = encodeURIComponent;
const post = (path: string, fields: Record<string, string>) =>
  safe.ask(path, { method: "POST", body: new URLSearchParams(fields) });

/** Process ids of the server's connections that run a statement about the layer's table. */
async function working(): Promise<number[]> {
  // Within a transaction the activity would be seen as it was at the first look.
  await server.sql.query("select pg_stat_clear_snapshot()");
  return connections("state = 'active' and query like $1", [`%layers.l${layer.id}%`]);
}

/** Process ids of the server's connections to its database. */
async function connections(condition = "true", values: readonly unknown[] = []): Promise<number[]> {
  const { rows } = await server.sql.query(
    `select pid from pg_stat_activity
     where datname = current_database() and application_name = 'mapwright' and ${condition}`,
    [...values],
  );
  return rows.map(({ pid }: { pid: number }) => pid);
}

/** While it runs, a statement about the layer takes for ever. */
async function withEndlessLayer(work: () => Promise<void>): Promise<void> {
  await server.sql.query(`begin; lock table layers.l${layer.id} in access exclusive mode`);
  try {
    await work();
  } finally {
    await server.sql.query("rollback");
  }
}

t.test("the value of a filter is a value, whatever it holds", async (t) => {
  for (const value of [
    "' OR 1=1--",
    "pg_sleep(9)",
    "'; select pg_sleep(9); --",
    "') or pg_sleep(9) is null or ('",
    "1); drop table project; --",
    "$1",
    "\\'; select 1 --",
    `'||(select pg_read_file('${safe.canaryFile}'))||'`,
    "null",
    "NaN",
    "1e400",
    "Infinity",
    "x".repeat(2_000),
  ]) {
    for (const column of ["name", "size", "at", "data", "svc_id"]) {
      const query = { fields: "*", fcode: column, fval: value };
      const got = await safe.ask(`${objects}?${new URLSearchParams(query)}`);
      // Only an honest JSON null is a value of a JSON column, and none of the objects has it.
      t.same([got.status, got.text], [200, "[]"], `${column} = ${value.slice(0, 40)}`);
      const sent = await post(`${layers}/l/filter/`, query);
      t.same([sent.status, sent.text], [200, "[]"], `${column} = ${value.slice(0, 40)}, in a body`);
    }
  }
  await safe.holds(t, "hostile values");
});

t.test("columns are looked up among the layer's own, never put into SQL", async (t) => {
  for (const text of [
    "name;drop table project",
    "(select pg_sleep(9))",
    'name" from pg_authid --',
    "name::int",
    "1",
    "ctid",
    "xmin",
    "tableoid",
    "geom_3857",
    "c1",
    "pg_read_file('/etc/passwd')",
    "__proto__",
    "constructor",
    "toString",
    "NAME",
  ]) {
    for (const query of [
      { sort: text },
      { sort: `name|${text},d` },
      { fields: text },
      { fields: `name,${text}` },
      { fields: "*", fcode: text, fval: "1" },
    ]) {
      for (const answer of [
        await safe.ask(`${objects}?${new URLSearchParams(query as Record<string, string>)}`),
        await post(`${layers}/l/filter/`, query as Record<string, string>),
      ]) {
        t.equal(answer.status, 500, JSON.stringify(query));
        t.match(answer.json, { error: "error", code: "unknown_column", data: { columns: Object } });
      }
    }
  }
  await safe.holds(t, "hostile columns");
});

t.test("numbers and boxes that are none are refused", async (t) => {
  for (const query of [
    "fbbox=NaN,0,1,1",
    "fbbox=0,0,1e400,1",
    "fbbox=1,2,3,4,5",
    "fbbox=1,2,3",
    "fbbox=0,0,Infinity,1",
    "fbbox=0,0,1,1);select%201",
    "bboxSR=0",
    "bboxSR=-1",
    "bboxSR=900913",
    "bboxSR=4326%20or%201",
    "geomSR=0&returnGeom=1",
    "returnGeom=yes",
    "geomZoom=1e9&returnGeom=1",
    "limit=-1",
    "limit=1e400",
    "limit=1.5",
    "offset=-1",
    "offset=NaN",
    "sort=name,drop",
  ]) {
    const fields = Object.fromEntries(new URLSearchParams(query));
    for (const answer of [await safe.ask(`${objects}?${query}`), await post(`${layers}/l/filter/`, fields)]) {
      t.equal(answer.status, 400, query);
      t.match(answer.headers.get("content-type"), /^text\/html/);
    }
  }
  for (const id of ["1.5", "1e3", "x", "1%20or%201=1", "99999999999999999999", "0x1", "%00", "-"]) {
    t.equal((await safe.ask(`${objects}${id}/`)).status, 400, id);
  }
  t.equal((await safe.ask(`${layers}/l/bbox/?bboxSR=0`)).status, 400);
  t.equal((await safe.ask(`${layers}/l/count/?precise=perhaps`)).status, 400);
  await safe.holds(t, "hostile numbers");
});

t.test("enormous limits and offsets ask for no more than there is", async (t) => {
  const whole = await safe.ask(`${objects}?limit=1e12&fields=name`);
  t.equal(whole.status, 200);
  t.equal(whole.json.length, 4);
  for (const query of [
    "offset=1e9",
    "limit=1e12&offset=1000000000",
    "limit=9007199254740991&offset=9007199254740991",
  ]) {
    const answer = await safe.ask(`${objects}?${query}`);
    t.same([answer.status, answer.text], [200, "[]"], query);
  }
  t.equal((await safe.ask(`${layers}/l/count/?precise=true`)).text, "4");
  await safe.holds(t, "enormous limits");
});

t.test("what takes longer than a statement may is given up, with word when to come again", async (t) => {
  const hasty = await startServer({ config: { statementTimeoutMs: 2_000 } });
  t.teardown(() => hasty.stop());
  await makeMap(hasty, "m");
  const { id } = await makeStyledLayer(hasty, "m", "l", "#l { polygon-fill: #f00; }");
  const held = await watchSafety(t, hasty, "/api/2.8/p/m/");
  await hasty.sql.query(`begin; lock table layers.l${id} in access exclusive mode`);
  for (const path of [
    `${layers}/l/count/?precise=true`,
    `${objects}?limit=1e12&offset=1e9`,
    `${objects}?limit=10&fields=*`,
  ]) {
    const answer = await held.ask(path);
    t.equal(answer.status, 503, path);
    t.match(answer.json, { error: "error", code: "busy", data: {} });
    t.match(answer.headers.get("retry-after"), /^[1-9]\d*$/);
  }
  await hasty.sql.query("rollback");
  t.equal((await held.ask(`${layers}/l/count/?precise=true`)).text, "0");
  await held.holds(t, "endless statements");
});

t.test("a client that leaves takes its statement with it, long before its time is up", async (t) => {
  const { db } = server.nodes[0]!.services;
  for (const path of [
    `${layers}/l/count/?precise=true`,
    `${objects}?limit=1e12&offset=1e9`,
    `${objects}?limit=10&fields=*`,
    `${objects}?format=geojson`,
  ]) {
    // Twice as many as there are connections: none may be lost.
    for (let round = 0; round < 2; round++) {
      await withEndlessLayer(async () => {
        const leave = new AbortController();
        const asked = Array.from({ length: 3 }, () => safe.ask(path, { signal: leave.signal }));
        // PostgreSQL works on two lists of one client at once at least; the others wait for their turn.
        await waitFor(async () => (await working()).length >= 2);
        const used = await connections();
        leave.abort();
        for (const one of asked) await t.rejects(one);
        await waitFor(async () => (await working()).length === 0);
        await waitFor(() => db.counts().waiting === 0 && db.counts().idle === db.counts().total);
        await server.sql.query("rollback");
        const left = await connections();
        t.same(
          used.filter((pid) => !left.includes(pid)),
          [],
          `${path}: their connections are whole`,
        );
      });
    }
  }
  await safe.holds(t, "clients that left");
});

t.test("a phrase is literal, and one of any length is answered", async (t) => {
  const search = "/api/2.8/p/m/search/?phrase=";
  t.equal((await safe.ask(`${search}lake`)).json.length, 1);
  for (const phrase of [
    "%",
    "%_\\",
    "_ake",
    "la%",
    "lake & !river | (x)",
    "lake:*",
    "'lake' <-> 'x'",
    "!!!!((((",
    "' or 1=1 --",
    "\\",
  ]) {
    const answer = await safe.ask(search + encode(phrase));
    t.equal(answer.status, 200, phrase);
    const found = (answer.json as { value?: string }[]).map(({ value }) => value);
    // Those that have the word itself may find it; signs alone find nothing.
    t.ok(/lake/.test(phrase) || found.length === 0, `${phrase}: ${found}`);
  }
  for (const length of [1_000, 3_000]) {
    t.equal((await safe.ask(search + encode("%_\\").repeat(length / 9))).status, 200, `${length} bytes`);
  }
  // Heads have 4 kB; one of 100 kB is refused before anything reads it, and its connection closed.
  const long = await speak(
    Number(new URL(server.url).port),
    `GET ${search}${"%25_".repeat(25_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
  );
  t.ok([400, 414, 431].includes(statusOf(long)), long.slice(0, 40));
  await safe.holds(t, "hostile phrases");
});
