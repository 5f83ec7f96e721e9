import t from "tap";
import { saveSettings } from "../../src/search/settings.js";
import { indexedBench } from "./support.js";

/** Words that tens of thousands of values have: the index does not list them all. */

const { bench, indexes } = await indexedBench(t);
const { sql, found } = bench;

const sites = await bench.layer("sites", [{ code: "name", type: "string" }]);
const { name } = sites.physical;
// The first in their order have neither word.
await sql.query(
  `insert into ${sites.table} (${name}) select '0 nothing ' || g from generate_series(1, 400) g
   union all select 'Road ' || g || ' house, ' || g % 10 from generate_series(1, 60000) g
   union all select 'House ' || g || ' corner' from generate_series(1, 7) g
   union all select 'Path ' || g from generate_series(1, 60000) g`,
);
await sql.query(`analyze ${sites.table}`);
indexes.kick();
await indexes.idle();

t.test("values that begin with the word come first", async (t) => {
  for (const phrase of ["house", "house,"])
    t.same(await found(phrase, 3), [
      [20, "House 1 corner"],
      [20, "House 2 corner"],
      [20, "House 3 corner"],
    ]);
  t.same(await found("house lighthouse", 3), [
    [10, "House 1 corner"],
    [10, "House 2 corner"],
    [10, "House 3 corner"],
  ]);
});

t.test("where none begins with it, any that have it are found", async (t) => {
  for (const [phrase, priority, has] of [
    ["ouse", 20, /ouse/],
    [",", 20, /,/],
    ["ouse lighthouse", 10, /ouse/],
    [", ;", 10, /,/],
    ["road house", 20, /^Road .* house/],
    ["oad ouse", 20, /^Road .* house/],
    ["house road 77", 20, /^Road .*77/],
  ] as const) {
    const hits = await found(phrase, 5);
    t.equal(hits.length, 5, phrase);
    for (const hit of hits) t.match(hit, [priority, has], phrase);
  }
});

t.test("words that never meet, and those that seldom do", async (t) => {
  const some = await found("road path", 5);
  t.equal(some.length, 5);
  t.ok(some.every(([priority]) => priority === 10));
  t.same(await found("house corner", 10), [
    ...Array.from({ length: 7 }, (_, i) => [20, `House ${i + 1} corner`]),
    ...(await found("house corner", 10)).slice(7),
  ]);
  await sql.query(`insert into ${sites.table} (${name}) values ('Path to the road')`);
  t.same((await found("road path", 5))[0], [20, "Path to the road"]);
  t.same((await found("oad pat", 5))[0], [20, "Path to the road"], "within words, too");
  t.same((await found("path to the road", 5))[0], [30, "Path to the road"]);
});

t.test("a virtual layer of so many objects is found in as well", async (t) => {
  const view = await bench.layer("view", [{ code: "name", type: "string" }]);
  const { name: column } = view.physical;
  await sql.query(
    `drop table ${view.table};
     create view ${view.table} as select svc_id, geom, geom_3857, ${name} as ${column} from ${sites.table}`,
  );
  await sql.query("update node set type = 'virtual' where id = $1", [view.id]);
  await saveSettings(bench.db, bench.mapId, [
    { layerId: view.id, searchColumnId: view.ids.name!, nameColumnId: view.ids.name!, priority: null },
  ]);
  t.match(await found("ouse", 2), [
    [20, /ouse/],
    [20, /ouse/],
  ]);
  t.same((await found("ouse lighthouse", 2)).length, 2);
});
