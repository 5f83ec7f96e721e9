import { setTimeout as wait } from "node:timers/promises";
import t from "tap";
import { publicCaller } from "../../src/catalog/state.js";
import { type SearchTimes, search } from "../../src/search/search.js";
import type { Database, Queryable } from "../../src/storage/postgres.js";
import { indexedBench } from "./support.js";

/** What a search with enough results still looks at, for their order alone. */

const { bench, indexes } = await indexedBench(t);
const { sql } = bench;

/** The names found for a phrase, and the statements that looked for it in objects. @param delayMs added to each of these */
async function searched(phrase: string, times: SearchTimes, delayMs = 0) {
  const statements: string[] = [];
  const watched = (tx: Queryable): Queryable => ({
    ...{ execute: tx.execute.bind(tx), write: tx.write.bind(tx), lookup: tx.lookup.bind(tx) },
    query: async (text, values, options) => {
      if (/ where priority is not null /.test(text)) {
        statements.push(text);
        await wait(delayMs);
      }
      return tx.query(text, values, options);
    },
  });
  const db = {
    transaction: (work: (tx: Queryable) => Promise<unknown>) =>
      bench.db.transaction((tx) => work(watched(tx))),
  } as Database;
  const { hits, isCut } = await search(
    db,
    await bench.map(),
    { phrase, language: "en", limit: 1, caller: publicCaller, signal: new AbortController().signal },
    times,
  );
  return { names: hits.map(({ name }) => name), isCut, statements };
}
const unhurried = { statementMs: 20_000, startMs: 20_000 };

t.test(
  "other names are looked for by the index of words, unless very many objects have these words",
  async (t) => {
    const { table, physical, id } = await bench.layer("streets", [
      { code: "title", type: "string" },
      { code: "others", type: "string" },
      { code: "population", type: "number" },
    ]);
    const { title, others, population } = physical;
    await sql.query(
      `insert into ${table} (${title}, ${others}, ${population}) values
       ('Lane', null, 1), ('Gasse', 'Lane; Alley', 2), ('Road', null, 1), ('Strasse', 'Road; Street', 2)`,
    );
    await sql.query(
      `insert into ${table} (${title}, ${others}) select 'Road ' || g, 'road no. ' || g from generate_series(1, 60000) g`,
    );
    await sql.query(`analyze ${table}`);
    indexes.kick();
    await indexes.idle();
    const byWords = ({ statements }: { statements: readonly string[] }) =>
      statements.filter((text) => text.includes("@>")).length;
    const rare = await searched("lane", unhurried);
    t.same(rare.names, ["Gasse"], "the heavier one");
    t.equal(byWords(rare), 2, "in both columns");
    const frequent = await searched("road", unhurried);
    t.equal(frequent.names.length, 1);
    t.equal(byWords(frequent), 0, "of 60,000 it would give any");
    await sql.query("delete from node where id = $1", [id]);
  },
);

t.test("only a part of the time of a search goes to the order of results that are enough", async (t) => {
  const columns = Array.from({ length: 30 }, (_, at) => ({ code: `name${at}`, type: "string" as const }));
  const { table, physical } = await bench.layer("towns", [
    ...columns,
    { code: "population", type: "number" },
  ]);
  await sql.query(`insert into ${table} (${physical.name0}, ${physical.population}) values ('Rom', 1)`);
  await sql.query(`analyze ${table}`);
  const all = await searched("rom", unhurried);
  t.equal(all.statements.length, 30);
  const slow = await searched("rom", { statementMs: 20_000, startMs: 4_000 }, 200);
  t.same(slow.names, ["Rom"]);
  t.ok(slow.statements.length <= 1 + 5, `${slow.statements.length}`);
  t.equal(slow.isCut, false, "there are as many as were asked for");
});
