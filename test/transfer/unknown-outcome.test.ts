import t from "tap";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { openBlobs } from "../../src/storage/open-blobs.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { DatabaseLink } from "../support/database-link.js";
import { lockWaiters } from "../support/locks.js";
import { quietLog } from "../support/log.js";
import { geoTiff } from "../support/rasters.js";
import { waitFor } from "../support/server.js";
import { feature, importBench } from "../support/transfer.js";

t.test(
  "an image whose commit nobody has heard of keeps its files, as it may still be committed",
  async (t) => {
    const bench = await importBench();
    const sql = await bench.db.dedicated();
    const link = await DatabaseLink.to(bench.db.directUrl);
    const db = openDatabase({ url: link.url, connections: 4, statementTimeoutMs: 30_000, log: quietLog });
    t.teardown(async () => {
      await db.close();
      await link.close();
      await sql.end();
      await bench.stop();
    });
    const layerId = await bench.layer();
    // As one that waits for a standby.
    await sql.query(`
    create function wait_at_commit() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(815); return null; end $$;
    create constraint trigger wait_at_commit after insert on raster deferrable initially deferred
      for each row execute function wait_at_commit();
    select pg_advisory_lock(815)`);
    const path = bench.file(
      geoTiff({
        ...{ width: 20, height: 10, epsg: 4326, transform: [37, 0.01, 0, 56, 0, -0.01] },
        value: () => [200, 0, 0],
      }),
      "tif",
    );
    const importing = importIntoLayer(
      { ...bench.deps, db },
      { layerId, language: "en" },
      { files: [{ path, name: path }], action: "merge" },
    );
    const told = t.rejects(importing, { code: "outcome_unknown" });
    await lockWaiters(sql);
    link.cut();
    link.restore();
    await told;
    await sql.query("select pg_advisory_unlock(815)");
    const rows = () =>
      bench.db.query<{ keys: string[] }>(
        "select array_remove(array[original, processed, drawn], null) as keys from raster",
      );
    await waitFor(async () => (await rows()).length > 0);
    const blobs = await openBlobs(bench.deps.config);
    for (const key of (await rows())[0]!.keys) await t.resolves(blobs.size(key));
  },
);

t.test("columns that an import adds stay when it is committed and the answer is lost", async (t) => {
  const bench = await importBench();
  const link = await DatabaseLink.to(bench.db.directUrl);
  const db = openDatabase({ url: link.url, connections: 4, statementTimeoutMs: 30_000, log: quietLog });
  t.teardown(async () => {
    await db.close();
    await link.close();
    await bench.stop();
  });
  const layerId = await bench.layer();
  const collection = (...features: unknown[]) => ({ type: "FeatureCollection", features });
  await bench.import(layerId, collection(feature({ first: "a" })));
  const path = bench.file(collection(feature({ first: "b", second: "c" })));
  await t.rejects(
    importIntoLayer(
      { ...bench.deps, db },
      { layerId, language: "en" },
      { files: [{ path, name: path }], action: "merge" },
      { onWritten: async () => link.severAt("commit\0") },
    ),
    { code: "outcome_unknown" },
  );
  t.match(await bench.objects(layerId), [{ first: "a" }, { first: "b", second: "c" }]);
});
