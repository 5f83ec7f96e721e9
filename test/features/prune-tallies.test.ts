import t from "tap";
import { pruneTallies } from "../../src/features/prune-tallies.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Counts of visualizations that nobody asks for do not grow for ever. */

const server = await startServer();
t.teardown(() => server.stop());
const { db } = server.nodes[0]!.services;
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "a", "#a { marker-width: 4; }");

t.test("many are put together, those without a tally go, few stay", async (t) => {
  const [row] = await db.query<{ id: number }>(
    `insert into visual_tally (layer_id, column_id, key, filenode, bounds) values ($1, 1, 'k', 1, '{}') returning id`,
    [layer.id],
  );
  const kept = row!.id;
  await db.execute(
    "insert into visual_tally_count select tally, n % 3, 1 from unnest($1::bigint[]) tally, generate_series(0, 299) n",
    [[kept, kept + 1_000]],
  );
  const counts = () =>
    db.query("select tally_id as tally, bucket, n::int from visual_tally_count order by 1, 2");
  await pruneTallies(db, 1_000);
  t.equal((await counts()).length, 300, "those of the other are gone");
  await pruneTallies(db, 100);
  t.same(
    await counts(),
    [0, 1, 2].map((bucket) => ({ tally: kept, bucket, n: 100 })),
  );
});
