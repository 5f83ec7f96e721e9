import { join } from "node:path";
import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { callerOfToken } from "../../src/api/request/caller.js";
import { importAllowance } from "../../src/api/resources/import-jobs.js";
import { publicCaller } from "../../src/catalog/state.js";
import { ImportJobs } from "../../src/import/import-jobs.js";
import { createJobs, pruneJobs } from "../../src/import/job-rows.js";
import { startServer } from "../support/server.js";
import { collection, feature } from "../support/transfer.js";

/** Imports that go on after their request was answered. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const [admin, editor, viewer] = [
  await server.token("admin"),
  await server.token("editor"),
  await server.token("viewer"),
];
await server.api("POST", "", { token: admin, body: { code: "m" } });
await server.api("POST", "m/layers/", { token: admin, body: { code: "l" } });
await server.api("POST", "m/layers/", { token: admin, body: { code: "other" } });
const path = "m/layers/l/import/";
const rows = collection(feature({ a: 1 }), feature({ a: 2 }));

async function start(query = "", body: unknown = rows): Promise<string> {
  const answer = await server.api("POST", `${path}?async=1${query}`, { token: editor, body });
  t.equal(answer.status, 202, answer.text);
  t.match(answer.json, { state: "running", phase: "waiting", result: null, error: null });
  t.equal(answer.headers.get("location"), `/api/2.8/p/${path}${answer.json.id}/`);
  return answer.json.id;
}
const get = async (id: string, node = 0) => server.api("GET", `${path}${id}/`, { token: editor, node });
const count = async () => (await server.api("GET", "m/layers/l/count/?precise=true", { token: editor })).json;

/** Waits for as long as a busy machine may need. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("the condition did not become true within a minute");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
const ended = async (id: string) => {
  await until(async () => (await get(id)).json.state !== "running");
  return (await get(id)).json;
};

/** Runs `work` while no import gets beyond its checks. */
async function held(work: () => Promise<void>): Promise<void> {
  await server.sql.query("begin");
  await server.sql.query("lock table column_constraint in access exclusive mode");
  try {
    await work();
  } finally {
    await server.sql.query("rollback");
  }
}
const checking = (id: string) =>
  until(async () => {
    const { rows: found } = await server.sql.query("select phase from import_job where id = $1", [id]);
    return found[0].phase === "checking";
  });
/** Whether all that the imports have made is gone. */
const tidy = async () =>
  (
    await server.sql.query(
      "select from pg_class where relnamespace = 'staging'::regnamespace and relkind = 'r'",
    )
  ).rowCount === 0;

t.test("a job is answered at once, and any node tells what it has done", async (t) => {
  const id = await start();
  const job = await ended(id);
  t.match(job, {
    id,
    state: "done",
    phase: "writing",
    features: 2,
    finished: String,
    error: null,
    result: { code: "l", type: "layer", import: { features: 2, added: 2, columns: [{ code: "a" }] } },
  });
  t.same((await get(id, 1)).json, job);
  t.equal(await count(), 2);
  const dry = await ended(await start("&dry_run=1&action=1"));
  t.match(dry.result.import, { added: 2, removed: 2, dry_run: true });
  t.equal(await count(), 2);
});

t.test("a job that fails tells the error of the request", async (t) => {
  const wrong = collection(feature({ a: 1 }), feature({ a: "many" }));
  const sync = await server.api("POST", path, { token: editor, body: wrong });
  t.equal(sync.status, 500);
  t.match(await ended(await start("", wrong)), { state: "failed", result: null, error: sync.json });
  t.equal(await count(), 2);
});

t.test("a job is its user's own", async (t) => {
  const id = await start("&dry_run=1");
  for (const [token, status] of [
    [admin, 404],
    [viewer, 403],
    [undefined, 401],
  ] as const)
    for (const method of ["GET", "DELETE"]) {
      t.equal((await server.api(method, `${path}${id}/`, { token })).status, status, `${method} ${status}`);
    }
  const elsewhere = `m/layers/other/import/${id}/`;
  t.equal((await server.api("GET", elsewhere, { token: editor })).status, 404);
  for (const none of ["x", "00000000-0000-0000-0000-000000000000"])
    t.equal((await get(none)).status, 404, none);
  await ended(id);
});

t.test("a job is cancelled on the node that runs it, and on others", async (t) => {
  for (const node of [0, 1]) {
    await held(async () => {
      const id = await start();
      await checking(id);
      const cancelled = await server.api("DELETE", `${path}${id}/`, { token: editor, node });
      t.match(cancelled.json, { id, state: "cancelled", result: null, error: null, finished: String });
      await until(tidy);
      t.match((await server.api("DELETE", `${path}${id}/`, { token: editor })).json, { state: "cancelled" });
    });
    t.equal(await count(), 2);
  }
});

t.test("a job that is cancelled on another node while it writes does not go on writing", async (t) => {
  const [layer] = (await server.sql.query("select id from node where code = 'l'")).rows;
  await server.sql.query("begin");
  await server.sql.query(`lock table layers.l${layer.id} in share row exclusive mode`);
  const id = await start();
  const writing = async () =>
    (
      await server.sql.query(
        "select from pg_locks where relation = $1::regclass and mode = 'RowExclusiveLock' and not granted",
        [`layers.l${layer.id}`],
      )
    ).rowCount === 1;
  await until(writing);
  await server.api("DELETE", `${path}${id}/`, { token: editor, node: 1 });
  await until(async () => !(await writing()));
  await server.sql.query("rollback");
  await until(tidy);
  t.equal(await count(), 2);
});

t.test("a job writes nothing when its user has lost the right meanwhile", async (t) => {
  const { services } = server.nodes[0]!;
  const give = async (rights: number | undefined) => {
    await setGrant(services.db, { project: "p", map: "m", layer: "l", login: "editor" }, rights);
    await services.changes.propagate();
  };
  const [layer] = (await server.sql.query("select id from node where code = 'l'")).rows;
  const version = async () =>
    (await server.sql.query("select version from layer where id = $1", [layer.id])).rows[0].version;
  const before = await version();
  const withdrawn = [
    [1, { state: "failed", phase: "writing", result: null, error: { code: "forbidden" } }, rows],
    [3, { state: "failed", error: { code: "forbidden" } }, collection(feature({ a: 1, b: 2 }))],
  ] as const;
  for (const [rights, end, body] of withdrawn) {
    let id = "";
    await held(async () => {
      id = await start("&action=1", body);
      await checking(id);
      await give(rights);
    });
    const left = rights === 1 ? (await get(id)).status : undefined;
    if (left !== undefined) t.equal(left, 403, "nor is its state told");
    const ended = async () =>
      (await server.sql.query("select state from import_job where id = $1", [id])).rows[0].state;
    await until(async () => (await ended()) !== "running");
    await until(tidy);
    await give(undefined);
    t.match((await get(id)).json, end);
    t.equal(await count(), 2);
    t.equal(await version(), before, "as if nothing had been sent");
  }
  // The other node has read the rights again, too: while the tables are held it can not.
  await get("00000000-0000-4000-8000-000000000000", 1);
});

t.test(
  "what has written asks for the right over its own connection, which nobody can keep from it",
  async (t) => {
    const { services } = server.nodes[0]!;
    const allowed = importAllowance(services);
    const [layer] = (await server.sql.query("select id::int from node where code = 'l'")).rows;
    const [account] = (await server.sql.query("select id::int from account where login = 'editor'")).rows;
    const caller = await callerOfToken(editor, services, await services.catalog.project("p"));
    await services.db
      .transaction(async (tx) => {
        await allowed(caller, layer.id, { changesColumns: false, tx });
        await tx.execute(
          "delete from membership where account_id = $1 and project_id = (select id from project where code = 'p')",
          [account.id],
        );
        await t.rejects(allowed(caller, layer.id, { changesColumns: false, tx }));
        throw new Error("take it back");
      })
      .catch((error: Error) => t.equal(error.message, "take it back"));
  },
);

t.test("jobs whose rows are locked take one connection of their node", async (t) => {
  await held(async () => {
    const id = await start("&dry_run=1");
    await checking(id);
    const { sql } = server;
    await sql.query("update import_job set rows = rows where id = $1", [id]);
    const waiting = async () => {
      // Within a transaction, what was seen once is seen again.
      await sql.query("select pg_stat_clear_snapshot()");
      const { rowCount } = await sql.query(
        "select from pg_stat_activity where datname = current_database() and query like 'update import_job set phase%' and wait_event_type = 'Lock'",
      );
      return rowCount;
    };
    const jobs = server.nodes[0]!.services.importJobs as unknown as { renew: () => Promise<void> };
    for (let times = 0; times < 5; times++) void jobs.renew();
    await until(async () => (await waiting()) === 1);
    await new Promise((resolve) => setTimeout(resolve, 300));
    t.equal(await waiting(), 1);
  });
  await until(tidy);
});

t.test("a job whose commit takes long is in no other's way", async (t) => {
  const { sql } = server;
  const key = "hashtext('a slow commit')";
  await sql.query(`
    create function slow_commit() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(${key});
      return null;
    end $$;
    create constraint trigger slow_commit after insert on mapwright.layer_touch deferrable initially deferred
      for each row execute function slow_commit()`);
  t.teardown(() => sql.query("drop trigger if exists slow_commit on mapwright.layer_touch"));
  await sql.query(`select pg_advisory_lock(${key})`);
  const id = await start("&action=1");
  await until(async () => {
    const { rowCount } = await sql.query(
      "select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())",
    );
    return rowCount! > 0;
  });
  await sql.query("set lock_timeout = '2s'");
  const renewed = sql.query("update import_job set rows = rows where id = $1", [id]);
  await t.resolves(renewed, "its row can be written");
  await sql.query("set lock_timeout to default");
  await sql.query(`select pg_advisory_unlock(${key})`);
  t.equal((await ended(id)).state, "done");

  const other = await start("&action=1");
  t.equal((await ended(other)).state, "done");
  await sql.query("drop trigger slow_commit on mapwright.layer_touch");

  // Its node has not been heard of for long, and now it commits.
  await sql.query(
    "insert into import_job (id, account_id, project_id, layer_id, seen_at) select $1, account_id, project_id, layer_id, now() - interval '1 hour' from import_job where id = $2",
    ["00000000-0000-4000-8000-000000000000", other],
  );
  await sql.query("begin");
  await sql.query("select from import_job where id = '00000000-0000-4000-8000-000000000000' for update");
  const further = await start("&action=1");
  await sql.query("delete from import_job where id = '00000000-0000-4000-8000-000000000000'");
  await sql.query("commit");
  t.equal((await ended(further)).state, "done");
});

t.test("a job whose node has died was interrupted, and can no longer write", async (t) => {
  let id = "";
  await held(async () => {
    id = await start();
    await checking(id);
    // So that its node does not say again that it lives.
    const jobs = server.nodes[0]!.services.importJobs as unknown as { renew: () => Promise<void> };
    jobs.renew = async () => undefined;
    await server.nodes[1]!.services.db.execute(
      "update import_job set seen_at = now() - interval '1 minute' where id = $1",
      [id],
    );
    t.match((await get(id, 1)).json, { state: "failed", error: { data: { interrupted: true } } });
  });
  await until(tidy);
  t.match((await get(id)).json, { state: "failed", error: { code: "import_failed" } });
  t.equal(await count(), 2);
});

t.test("a node that stops ends its jobs", async (t) => {
  await held(async () => {
    const answer = await server.api("POST", `${path}?async=1`, { token: editor, body: rows, node: 1 });
    await checking(answer.json.id);
    await server.nodes[1]!.services.importJobs.stop();
    t.match((await get(answer.json.id)).json, { state: "failed", error: { data: { interrupted: true } } });
  });
  t.ok(await tidy());
  t.equal(await count(), 2);
});

t.test("a request under a key starts one job", async (t) => {
  const headers = { "idempotency-key": "once" };
  const ask = () => server.api("POST", `${path}?async=1&action=1`, { token: editor, body: rows, headers });
  const [first, second] = [await ask(), await ask()];
  t.equal(first.status, 202, first.text);
  t.same([second.status, second.json.id], [202, first.json.id]);
  t.match(await ended(first.json.id), { state: "done", result: { import: { added: 2, removed: 2 } } });
});

t.test("a job that begins while its node ends is interrupted, and its end is waited for", async (t) => {
  const { services } = server.nodes[0]!;
  const [{ layerId, projectId }] = (
    await server.sql.query(
      `select n.id::int as "layerId", m.project_id::int as "projectId" from node n join map m on m.id = n.map_id where n.code = 'l'`,
    )
  ).rows;
  const owner = { accountId: 1, projectId, layerId };
  const file = join(t.testdir({ "0": JSON.stringify(rows) }), "0");
  const begin = async (jobs: ImportJobs): Promise<string> => {
    const [id] = (await services.db.transaction((tx) => createJobs(tx, [owner]))) as [string];
    jobs.start(id, {
      caller: { ...publicCaller, accountId: 1 },
      target: { layerId, language: "en", projectId },
      source: { action: "merge" },
      files: { list: [{ path: file, name: "0.geojson" }], remove: async () => void removed.push(id) },
      mayChangeColumns: true,
    });
    return id;
  };
  const removed: string[] = [];
  const before = await count();
  const jobs = new ImportJobs({ ...services, requireAllowed: async () => undefined });
  const first = await begin(jobs);
  const stopping = jobs.stop();
  const second = await begin(jobs);
  await stopping;
  t.same(removed.sort(), [first, second].sort());
  const { rows: states } = await server.sql.query(
    "select state, outcome from import_job where id in ($1, $2)",
    [first, second],
  );
  for (const { state, outcome } of states) {
    t.equal(state, "failed");
    t.match(outcome, /interrupted/);
  }
  t.equal(states.length, 2);
  const third = await begin(jobs);
  await until(async () => removed.includes(third));
  const { rows: ofThird } = await server.sql.query("select state from import_job where id = $1", [third]);
  t.same(ofThird, [{ state: "failed" }], "nor does one begin that comes after the end");
  t.equal(await count(), before);
});

t.test("jobs are bounded in number and in time", async (t) => {
  const insert = (state: string, age: string, rows: number) =>
    server.sql.query(
      `insert into import_job (id, account_id, project_id, layer_id, state, created_at)
       select gen_random_uuid(), 1, p.id, 1, $1, now() - $2::interval + n * interval '1 ms'
       from project p, generate_series(1, $3) n where p.code = 'p'`,
      [state, age, rows],
    );
  const number = async (state: string) =>
    Number(
      (await server.sql.query("select count(*) from import_job where state = $1", [state])).rows[0].count,
    );
  await insert("running", "1 hour", 8);
  const refused = await server.api("POST", `${path}?async=1`, { token: editor, body: rows });
  t.match(refused, { status: 503, json: { code: "busy" } });
  await server.sql.query("delete from import_job where state = 'running'");
  await insert("failed", "1 hour", 1_300);
  await ended(await start("&dry_run=1"));
  t.ok((await number("failed")) <= 1_000, "the oldest go");
  await insert("failed", "25 hours", 10);
  await insert("running", "25 hours", 1);
  await pruneJobs(server.nodes[0]!.services.db);
  const { rows: old } = await server.sql.query(
    "select state from import_job where created_at < now() - interval '1 day'",
  );
  t.same(old, [{ state: "running" }]);
});
