import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { configSchema } from "../../src/config.js";
import { createTransferHost } from "../../src/hosts/transfer.js";
import { makeImportFolder } from "../../src/import/import-folder.js";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { DatabaseLink } from "../support/database-link.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** The folder of an import: the names that files get there, and its end. */

const tempDir = mkdtempSync(join(tmpdir(), "mapwright-test-"));
t.teardown(() => rmSync(tempDir, { recursive: true, force: true }));

const namesOf = async (...names: string[]) => {
  const folder = await makeImportFolder(
    tempDir,
    names.map((name) => ({ path: "/dev/null", name })),
  );
  t.same(readdirSync(folder.path).sort(), [...folder.files].sort());
  await folder.remove();
  return folder.files;
};

t.test(
  "files get names of ours with the client's extension, and parts of one file the same one",
  async (t) => {
    t.same(await namesOf("a.b.GeoJSON "), ["0.geojson"]);
    t.same(await namesOf("../../etc/x.shp"), ["0.shp"]);
    t.same(await namesOf("Дороги.SHP", "дороги.dbf", "other.gpkg", "c.txt", "d.exe"), [
      "0.shp",
      "0.dbf",
      "1.gpkg",
    ]);
  },
);

t.test("names without an extension are refused", async (t) => {
  for (const name of ["", "geojson", "a.", "a.geo json", "a.\u0000", `a.${"x".repeat(20)}`])
    await t.rejects(namesOf(name), { code: "unsupported_format" }, JSON.stringify(name));
  await t.rejects(namesOf("a.shp", "A.shp"), { code: "import_failed" });
  t.same(readdirSync(tempDir), [], "nothing is left behind");
});

t.test("why an import ends is told, also where its folder cannot be removed", async (t) => {
  const database = await freshDatabase({ bare: true });
  const link = await DatabaseLink.to(database.url);
  const dataDir = join(tempDir, "data");
  const config = configSchema.parse({ databaseUrl: link.url, dataDir });
  const db = openDatabase({ url: link.url, connections: 2, statementTimeoutMs: 30_000, log: quietLog });
  const transfer = createTransferHost(config, quietLog);
  t.teardown(async () => {
    await Promise.all([transfer.stop(), db.close(), link.close()]);
    await database.drop();
  });
  const temporary = join(dataDir, "tmp");
  mkdirSync(temporary, { recursive: true });
  link.swallow();
  const target = { layerId: 1, language: "en" };
  const source = { files: [{ path: "/dev/null", name: "a.geojson" }], action: "merge" as const };
  const importing = importIntoLayer({ db, transfer, log: quietLog, config }, target, source);
  const refusal = t.rejects(importing, { code: "busy", message: /database cannot be reached/ });
  await waitFor(() => readdirSync(temporary).length > 0);
  renameSync(temporary, `${temporary}-before`);
  writeFileSync(temporary, "no folder any more");
  link.cut();
  await refusal;
});
