import { once } from "node:events";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import t from "tap";
import { markCancelled } from "../../src/storage/connection-errors.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";

/** Statements that are cancelled when nobody wants their result any more. */

const { url, drop } = await freshDatabase();
t.teardown(drop);

/** Passes connections on, and holds each cancel request up a little. */
async function slowCancels() {
  const target = new URL(url);
  const seen = { requests: 0, open: 0, mostOpen: 0 };
  const sockets = new Set<net.Socket>();
  const proxy = net.createServer((client) => {
    const upstream = net.connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => from.destroy());
      from.on("close", () => to.destroy());
    }
    upstream.pipe(client);
    client.once("data", (first) => {
      const isCancel = first.readInt32BE(4) === 80877102;
      if (isCancel) {
        seen.requests++;
        seen.mostOpen = Math.max(seen.mostOpen, ++seen.open);
        client.on("close", () => seen.open--);
      }
      setTimeout(() => upstream.write(first), isCancel ? 50 : 0);
      client.on("data", (data) => upstream.write(data));
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = String((proxy.address() as net.AddressInfo).port);
  const close = () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  };
  return { url: through.href, seen, close };
}

t.test("many aborted statements are cancelled two at a time, each once", async (t) => {
  const link = await slowCancels();
  const db = openDatabase({ url: link.url, connections: 20, statementTimeoutMs: 60_000, log: quietLog });
  t.teardown(async () => {
    await db.close();
    link.close();
  });
  const leaving = new AbortController();
  const asked = Array.from({ length: 7 }, () =>
    t.rejects(db.query("select pg_sleep(60)", [], { signal: leaving.signal }), { code: "57014" }),
  );
  const running =
    "select 1 from pg_stat_activity where datname = current_database() and query = 'select pg_sleep(60)' and state = 'active'";
  while ((await db.query(running)).length < 7) await sleep(20);
  leaving.abort();
  await Promise.all(asked);
  t.equal(link.seen.mostOpen, 2);
  t.equal(link.seen.requests, 7);
  t.equal(db.counts().cancelRequests, 7);
});

t.test("a request is not sent for a statement that has ended meanwhile", async (t) => {
  const link = await slowCancels();
  const db = openDatabase({ url: link.url, connections: 12, statementTimeoutMs: 60_000, log: quietLog });
  t.teardown(async () => {
    await db.close();
    link.close();
  });
  await Promise.all(Array.from({ length: 6 }, () => db.query("select pg_sleep(0.1)")));
  const leaving = new AbortController();
  const long = [1, 2].map(() =>
    t.rejects(db.query("select pg_sleep(60)", [], { signal: leaving.signal }), { code: "57014" }),
  );
  // They end while the first two requests are on their way.
  const short = [1, 2, 3].map(() => db.query("select pg_sleep(0.3)", [], { signal: leaving.signal }));
  await sleep(280);
  leaving.abort();
  await Promise.all([...long, ...short.map((one) => one.catch(() => undefined))]);
  await sleep(100);
  t.ok(link.seen.requests < 5, `${link.seen.requests} requests for 5 statements`);
});

t.test("what is cancelled within GEOS counts as cancelled, whatever GEOS says", (t) => {
  // As PostGIS reports it, for one in several statements about large areas.
  const interrupted = new pg.DatabaseError("GEOS isvalid() threw an error!", 0, "error");
  interrupted.code = "XX000";
  markCancelled(interrupted);
  t.equal(interrupted.code, "57014");
  const other = new pg.DatabaseError("division by zero", 0, "error");
  other.code = "22012";
  markCancelled(other);
  t.equal(other.code, "22012");
  t.end();
});

t.test("no statement is cancelled in the place of the one before it", async (t) => {
  const db = openDatabase({ url, connections: 1, statementTimeoutMs: 60_000, log: quietLog });
  t.teardown(() => db.close());
  let cancelled = 0;
  for (let round = 0; round < 80; round++) {
    const leaving = new AbortController();
    setTimeout(() => leaving.abort(), 3 + (round % 5));
    await db.query("select pg_sleep(0.005)", [], { signal: leaving.signal }).catch(() => cancelled++);
    t.same(await db.query("select 1 as one, pg_sleep(0.003)"), [{ one: 1, pg_sleep: "" }]);
  }
  t.ok(cancelled > 0, `${cancelled} of 80 were cancelled`);
});

t.test(
  "what writes is not cancelled when its client leaves, and what waits to write is dropped",
  async (t) => {
    const shared = openDatabase({ url, connections: 2, statementTimeoutMs: 60_000, log: quietLog });
    t.teardown(() => shared.close());
    await shared.execute("create table public.written (n int)");
    t.teardown(() => shared.execute("drop table public.written").catch(() => undefined));
    const leaving = new AbortController();
    const use = { client: "c", project: "p", isTask: true, signal: () => leaving.signal };
    const one = shared.for(use).transaction(async (tx) => {
      await tx.execute("insert into public.written values (1)");
      leaving.abort(new Error("gone"));
      await tx.execute("insert into public.written select 2 from pg_sleep(0.1)");
    });
    const two = shared.for(use).execute("insert into public.written values (3)");
    await Promise.all([one, t.rejects(two, { message: "gone" })]);
    t.same(await shared.query("select n from public.written order by n"), [{ n: 1 }, { n: 2 }]);
  },
);
