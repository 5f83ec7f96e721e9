import t from "tap";
import { deleteAtEachStatement, overtakenBench } from "./overtaken.bench.support.js";
import { cases } from "./overtaken-cases.support.js";

/** Layers that are deleted at the worst moments of a request that writes: before each of its statements. */

const bench = await overtakenBench();
t.teardown(() => bench.stop());

t.test("a layer that is deleted before any statement of a write is not found, or was still there", (t) =>
  deleteAtEachStatement(
    t,
    bench,
    cases.filter(({ method }) => method !== "GET"),
  ),
);

t.test("nothing is left of what was deleted, nor of what a request had begun", async (t) => {
  const { sql } = bench.server;
  const names = async (query: string) => (await sql.query(query)).rows.map(({ name }) => name);
  t.same(
    await names(
      `select relname as name from pg_class c where relnamespace = 'layers'::regnamespace and relkind in ('r', 'v')
       and not exists (select from layer l where c.relname in ('l' || l.id, 'l' || l.id || '_source'))`,
    ),
    [],
  );
  t.same(
    await names("select relname as name from pg_class where relnamespace = 'staging'::regnamespace"),
    [],
  );
  t.same(
    await names(
      `select c.relname || '.' || a.attname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'layers'::regnamespace and c.relkind = 'r' and a.attname ~ '^c[0-9]+$'
         and not exists (select from layer_column lc where a.attname = 'c' || lc.id
           and (lc.layer_id = 0 or c.relname = 'l' || lc.layer_id))`,
    ),
    [],
  );
});
