import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { makeImportFolder } from "../../src/import/import-folder.js";

/** Names of files that a client chose, and the names that they get. */

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
