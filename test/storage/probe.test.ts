import { setTimeout as pause } from "node:timers/promises";
import t from "tap";
import { openDatabase } from "../../src/storage/postgres.js";
import { DatabaseProbe } from "../../src/storage/probe.js";
import { freshDatabase } from "../support/database.js";
import { DatabaseLink } from "../support/database-link.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** Whether PostgreSQL answers, as health tells it. */

const database = await freshDatabase();
const link = await DatabaseLink.to(database.url);
const db = openDatabase({ url: link.url, connections: 2, statementTimeoutMs: 5_000, log: quietLog });
let opened = 0;
const probing = () => {
  opened++;
  return db.probing();
};
const probe = new DatabaseProbe({ db: { probing }, timeoutMs: 1_000, sharedMs: 50 });
const over = () => pause(60);
t.teardown(async () => {
  probe.close();
  await db.close();
  await link.close();
  await database.drop();
});

t.test("those who ask share an answer and a connection, which stays open", async (t) => {
  t.same(await Promise.all(Array.from({ length: 20 }, () => probe.isThere())), Array(20).fill(true));
  await over();
  t.ok(await probe.isThere());
  t.equal(opened, 1);
});

t.test("a connection that no word comes over is replaced, without a false alarm", async (t) => {
  link.silence();
  await over();
  t.ok(await probe.isThere());
  t.equal(opened, 2);
});

t.test("a database that is away is told, and that it is back", async (t) => {
  link.cut();
  await over();
  t.notOk(await probe.isThere());
  t.notOk(await probe.isThere(), "for a moment without asking");
  const before = opened;
  link.restore();
  await over();
  t.ok(await probe.isThere());
  t.equal(opened, before + 1);
});

t.test("a connection that comes too late takes no other's place", async (t) => {
  const open = new Set<object>();
  let late: (() => void) | undefined;
  let asked = 0;
  const slowly = async () => {
    const client = await db.probing();
    open.add(client);
    client.onLost(() => open.delete(client));
    // The first is there when the second is in use.
    if (++asked === 1)
      await new Promise<void>((resolve) => {
        late = resolve;
      });
    return client;
  };
  const other = new DatabaseProbe({ db: { probing: slowly }, timeoutMs: 400, sharedMs: 1 });
  t.notOk(await other.isThere());
  await over();
  t.ok(await other.isThere());
  late?.();
  await over();
  t.ok(await other.isThere());
  t.equal(asked, 2, "the second is still in use");
  other.close();
  await waitFor(() => open.size === 0);
});
