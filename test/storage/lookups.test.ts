import t from "tap";
import type { Lookup } from "../../src/storage/lookups.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";

/** Rows that are looked up by their keys, many at a time. */

const doubled: Lookup = {
  text: "select x as k, x * $2::bigint as twice from unnest($1::bigint[]) x where x < 100",
  values: [2],
};
const divided: Lookup = {
  text: "select x as k, 6 / (x - 3) as part from unnest($1::bigint[]) x",
  values: [],
};
const slow: Lookup = {
  text: "select x as k, pg_sleep(case when x = 3 then 10 else 0 end)::text from unnest($1::bigint[]) x",
  values: [],
};

t.test("rows by their keys", async (t) => {
  const { url, drop } = await freshDatabase();
  const db = openDatabase({ url, connections: 3, statementTimeoutMs: 5_000, log: quietLog });
  const hasty = openDatabase({ url, connections: 3, statementTimeoutMs: 200, log: quietLog });
  t.teardown(async () => {
    await db.close();
    await hasty.close();
    await drop();
  });

  await t.test("each of many at once is the one that was asked for", async (t) => {
    const keys = Array.from({ length: 150 }, (_, index) => (index * 7) % 120);
    const rows = await Promise.all(keys.map((key) => db.lookup<{ k: number; twice: number }>(doubled, key)));
    t.same(
      rows,
      keys.map((key) => (key < 100 ? { k: key, twice: 2 * key } : undefined)),
      "more than one statement holds, keys that come twice, and keys without a row",
    );
  });

  await t.test("a row that cannot be read fails alone", async (t) => {
    const found = await Promise.allSettled([1, 3, 5].map((key) => db.lookup<{ part: number }>(divided, key)));
    t.same(
      found.map((one) => (one.status === "fulfilled" ? one.value?.part : one.reason.code)),
      [-3, "22012", 3],
    );
  });

  await t.test("rows that take too long are asked for once", async (t) => {
    const found = await Promise.allSettled([1, 3, 5].map((key) => hasty.lookup(slow, key)));
    t.same(
      found.map((one) => one.status === "rejected" && one.reason.code),
      ["57014", "57014", "57014"],
    );
  });

  await t.test("a transaction sees its own rows", async (t) => {
    const row = await db.transaction((tx) => tx.lookup<{ twice: number }>(doubled, 4));
    t.equal(row?.twice, 8);
  });
});
