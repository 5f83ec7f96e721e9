import t from "tap";
import { openDatabase, type Queryable } from "../../src/storage/postgres.js";
import { SingleTransaction } from "../../src/storage/single-transaction.js";
import { freshDatabase } from "../support/database.js";
import { DatabaseLink } from "../support/database-link.js";
import { quietLog } from "../support/log.js";

/** A connection is given one statement at a time: pg warns of others, and will refuse them. */

const warnings: string[] = [];
// pg warns once in a process, so that the tests look at the same list.
process.on("warning", ({ message }) => void warnings.push(message));
const untilWarned = () => new Promise((resolve) => setImmediate(resolve));

const database = await freshDatabase();
const link = await DatabaseLink.to(database.url);
const db = openDatabase({ url: link.url, connections: 1, statementTimeoutMs: 10_000, log: quietLog });
t.teardown(async () => {
  await db.close();
  await link.close();
  await database.drop();
});

async function readAll(): Promise<number> {
  let rows = 0;
  for await (const batch of db.stream("select generate_series(1, 10)", [], { batch: 3 }))
    rows += batch.length;
  return rows;
}

t.test("a stream that gets the connection of a statement that has just failed", async (t) => {
  link.readyDelayMs = 50;
  const uses: readonly (() => Promise<unknown>)[] = [
    () => db.query("select 1 / 0"),
    () => db.query("select 1 / $1::int", [0], { prepare: true }),
    () => db.query("select pg_sleep(60)", [], { signal: AbortSignal.timeout(50) }),
    () => db.execute("select 1 / 0"),
    () => db.transaction((tx) => tx.query("select 1 / 0")),
    () => db.stream("select 1 / 0", [], { batch: 1 }).next(),
  ];
  for (const use of uses) {
    const streamed = use().then(
      () => 0,
      () => readAll(),
    );
    const waiting = readAll();
    t.equal(await streamed, 10);
    t.equal(await waiting, 10);
  }
  await untilWarned();
  t.same(warnings, []);
  link.restore();
});

t.test("a connection that is lost before it was ready again", async (t) => {
  link.readyDelayMs = 60_000;
  await t.rejects(db.query("select 1 / 0"), { code: "22012" });
  link.cut();
  link.restore();
  t.equal(await readAll(), 10, "another one is opened");
});

t.test("a stream whose client leaves while it gets its connection", async (t) => {
  const own = openDatabase({ ...database.at, connections: 1, statementTimeoutMs: 60_000, log: quietLog });
  t.teardown(() => own.close());
  const leaving = new AbortController();
  const stream = own.stream("select pg_sleep(60)", [], { batch: 1, signal: leaving.signal });
  const first = stream.next();
  // It has its place, and the connection is being opened.
  t.equal(own.counts().purposes.lists.held, 1);
  leaving.abort();
  t.match(await first, { done: true });
  t.equal(own.counts().purposes.lists.held, 0);
  t.same(await own.query("select 1 as one"), [{ one: 1 }]);
  await untilWarned();
  t.same(warnings, []);
});

t.test("statements on a connection that listens, which all of the node share", async (t) => {
  const listening = await db.listening();
  const sent = [1, 0, 2, 4].map((n) => listening.query("select 8 / $1::int as eighth", [n]));
  t.same(
    (await Promise.allSettled(sent)).map((one) => one.status === "fulfilled" && one.value.rows),
    [[{ eighth: 8 }], false, [{ eighth: 4 }], [{ eighth: 2 }]],
    "in their order, and a failure is in nobody's way",
  );
  const [running, waiting] = ["select pg_sleep(60)", "select 1"].map((text) => listening.query(text));
  const refused = Promise.all([t.rejects(running!), t.rejects(waiting!, "not left to wait for ever")]);
  await listening.end();
  await refused;
  await untilWarned();
  t.same(warnings, []);
});

t.test("statements of a transaction that are sent at once", async (t) => {
  const many = Array.from({ length: 6 }, (_, n) => n);
  await db.transaction(async (tx) => {
    const answers = await Promise.all(many.map((n) => tx.query<{ n: number }>("select $1::int as n", [n])));
    t.same(
      answers.flat(),
      many.map((n) => ({ n })),
    );
  });
  await t.rejects(
    db.transaction((tx) =>
      Promise.all(
        many.map((n) => (n === 0 ? tx.query("select 1 / 0") : tx.execute("select pg_sleep(0.01)"))),
      ),
    ),
    { code: "22012" },
    "the first failure is told, and the others are not in the way of the rollback",
  );
  const request = new SingleTransaction(db, async () => undefined);
  await request.execute("create temporary table seen (n int) on commit drop");
  await Promise.all([
    ...many.map((n) => request.execute("insert into seen values ($1)", [n])),
    ...many.map(() => request.query("select from seen")),
  ]);
  t.same(await request.query("select count(*)::int as count from seen"), [{ count: 6 }]);
  await request.commit(async () => undefined);
  await untilWarned();
  t.same(warnings, []);
});

t.test("what a transaction has left running does not go on after its end", async (t) => {
  await db.execute("create table left_over (n int)");
  const later: Promise<unknown>[] = [];
  const work = (tx: Queryable) => {
    const first = tx.query("select pg_sleep(0.05)");
    // Goes on when the transaction has ended, as one of several things that are done at once does when another fails.
    later.push(first.then(() => untilEnded).then(() => tx.execute("insert into left_over values (1)")));
    return Promise.all([first, tx.query("select 1 / 0")]);
  };
  let end = (): void => undefined;
  const untilEnded = new Promise<void>((resolve) => {
    end = resolve;
  });
  await t.rejects(db.transaction(work), { code: "22012" });
  end();
  await t.rejects(Promise.all(later), /has ended/);
  t.same(await db.query("select from left_over"), [], "nothing is written without it");

  const request = new SingleTransaction(db, async () => undefined);
  await request.execute("insert into left_over values (2)");
  await request.undo(new Error("refused"));
  await t.rejects(request.execute("insert into left_over values (3)"), /has ended/);
  await t.rejects(request.query("select from left_over"), /has ended/);
  t.same(await db.query("select from left_over"), []);

  const unbegun = new SingleTransaction(db, async () => undefined);
  await unbegun.undo(new Error("refused"));
  await t.rejects(unbegun.execute("insert into left_over values (4)"), /has ended/);
  t.equal(db.counts().purposes.writes.held, 0, "nobody would end it");
  await untilWarned();
  t.same(warnings, []);
});
