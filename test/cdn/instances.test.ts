import t from "tap";
import { type NotingServer, startNoting } from "../support/listening.js";
import { startServer, waitFor } from "../support/server.js";

/** Several instances of the CDN, of which one does not answer: the others are told as ever, and it catches up. */

const healthy = await startNoting();
const dead = await startNoting();
t.teardown(() => Promise.all([healthy.stop(), dead.stop()]));
const server = await startServer({
  nodes: 2,
  config: { "edge.kind": "varnish", "edge.urls": [healthy.url, dead.url] },
});
t.teardown(() => server.stop());
const { sql } = server;

const keysOf = ({ sent }: NotingServer): string[] =>
  sent.flatMap(({ headers }) =>
    `${headers["mapwright-keys"] ?? ""} ${headers["mapwright-forgotten"] ?? ""}`.trim().split(" "),
  );
const count = async (table: string) =>
  Number((await sql.query(`select count(*) from ${table}`)).rows[0].count);
const told = () => waitFor(async () => (await count("edge_outdated")) === 0);
const lag = async (node: number): Promise<number> => {
  const text = await (await fetch(`${server.urls[node]}/metrics`)).text();
  return Number(/^mapwright_edge_lag_seconds (\S+)$/m.exec(text)?.[1]);
};
const projectOf = async (code: string) =>
  (await sql.query("select id from project where code = $1", [code])).rows[0].id;
/** What is inserted is announced by no trigger, as if it were an edit. */
const announce = () => sql.query("select pg_notify('mapwright', 'C')");

await told();

t.test("1,000 things are outdated at once", async (t) => {
  healthy.sent.length = dead.sent.length = 0;
  dead.answer = () => new Promise(() => undefined);
  const { rows } = await sql.query(
    "insert into project (code, name) select 'many' || n, '{}' from generate_series(1, 1000) n returning id",
  );
  await announce();
  await told();
  const names = rows.map(({ id }) => `p${id}`);
  const heard = new Set(keysOf(healthy));
  t.same(
    names.filter((name) => !heard.has(name)),
    [],
    "the healthy one has heard of all, while the other still does not answer",
  );
  t.equal(await count("edge_behind"), 1);
  for (const node of [0, 1]) t.ok((await lag(node)) > 0);

  // What follows waits for nobody.
  healthy.sent.length = 0;
  await sql.query("update project set revision = revision + 1 where id = $1", [rows[0].id]);
  await sql.query("select pg_notify('mapwright', 'P ' || $1)", [rows[0].id]);
  await told();
  t.ok(keysOf(healthy).includes(names[0]!));

  dead.sent.length = 0;
  dead.answer = () => ({ status: 200 });
  await waitFor(async () => (await count("edge_behind")) === 0);
  const caught = new Set(keysOf(dead));
  t.same(
    names.filter((name) => !caught.has(name)),
    [],
    "it has caught up",
  );
  for (const node of [0, 1]) await waitFor(async () => (await lag(node)) === 0);
});

t.test("it cannot be noted for a while that one is behind, nor that it has caught up", async (t) => {
  await told();
  await sql.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'no room'; end $$`,
  );
  await sql.query(
    "create trigger refuse before insert on edge_behind for each row execute function refuse()",
  );
  dead.answer = () => ({ status: 503 });
  dead.sent.length = 0;
  const { rows } = await sql.query(
    "update project set revision = revision + 1 where code = 'many5' returning id",
  );
  await announce();
  const sentTo = (one: NotingServer) => keysOf(one).includes(`p${rows[0].id}`);
  await waitFor(() => sentTo(dead) && sentTo(healthy));
  await sql.query("drop trigger refuse on edge_behind");
  await told();
  t.equal(await count("edge_behind"), 1, "nothing counts as told before it is noted who has missed it");
  dead.answer = () => ({ status: 200 });
  dead.sent.length = 0;
  await waitFor(async () => (await count("edge_behind")) === 0);
  t.ok(sentTo(dead));

  dead.answer = () => ({ status: 503 });
  await sql.query("update project set revision = revision + 1 where code = 'many6'");
  await announce();
  await waitFor(async () => (await count("edge_behind")) === 1);
  await sql.query(
    "create trigger refuse before delete on edge_behind for each row execute function refuse()",
  );
  dead.answer = () => ({ status: 200 });
  dead.sent.length = 0;
  await waitFor(() => keysOf(dead).some((key) => key.startsWith("p")));
  await new Promise((resolve) => setTimeout(resolve, 500));
  t.equal(await count("edge_behind"), 1);
  await sql.query("drop trigger refuse on edge_behind");
  await waitFor(async () => (await count("edge_behind")) === 0);
});

t.test("another node leads meanwhile", async (t) => {
  dead.answer = () => ({ status: 503 });
  await sql.query("update project set revision = revision + 1 where code = 'many7'");
  await announce();
  await told();
  t.equal(await count("edge_behind"), 1);
  dead.answer = () => new Promise(() => undefined);
  dead.sent.length = 0;
  await sql.query(
    `select pg_terminate_backend(l.pid) from pg_locks l join pg_database d on d.oid = l.database
     where l.locktype = 'advisory' and d.datname = current_database() and l.granted
       and l.objid::bigint = hashtext('mapwright edge')::bigint & 4294967295`,
  );
  await waitFor(() => dead.sent.length > 0);
  dead.answer = () => ({ status: 200 });
  await waitFor(async () => (await count("edge_behind")) === 0);
  t.ok(keysOf(dead).includes("mapwright"), "it does not know what was missed, so all of ours is dropped");
  t.ok(keysOf(dead).includes(`p${await projectOf("many7")}`), "that which has no such key, too");
});

t.test("none answers", async (t) => {
  healthy.answer = dead.answer = () => ({ status: 503 });
  await sql.query("update project set revision = revision + 1 where code = 'many8'");
  await announce();
  await waitFor(async () => (await lag(0)) > 0);
  t.not(await count("edge_outdated"), 0, "nothing was told, and nothing is noted");
  healthy.answer = dead.answer = () => ({ status: 200 });
  await told();
  await waitFor(async () => (await count("edge_behind")) === 0);
});
