import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { allOrNone } from "../../src/all-or-none.js";
import { TileSpool } from "../../src/export/tile-spool.js";
import { planFiles } from "../../workers/transfer/export/files.js";
import { Losses } from "../../workers/transfer/export/losses.js";
import { mifOutput } from "../../workers/transfer/export/mapinfo-interchange.js";

/** Files that belong together are opened together: where one cannot be opened, none stays open. */

const scratch = mkdtempSync(join(tmpdir(), "mapwright-test-"));
t.teardown(() => rmSync(scratch, { recursive: true, force: true }));

let folders = 0;
function folderWith(name: string): string {
  const folder = join(scratch, String(++folders));
  mkdirSync(folder);
  writeFileSync(join(folder, name), "");
  return folder;
}

/** Names of the files in the folder that this process has open. */
function openIn(folder: string): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(`${folder}/`) ? [path.slice(folder.length + 1)] : [];
    } catch {
      // It was that of the list.
      return [];
    }
  });
}

t.test("where one of several fails, the others are undone, whatever becomes of that", async (t) => {
  const undone: number[] = [];
  const undo = async (made: number) => {
    undone.push(made);
    throw new Error("cannot be undone");
  };
  const after = async (ms: number, fails: boolean) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (fails) throw new Error(`fails after ${ms}`);
    return ms;
  };
  t.same(await allOrNone([after(2, false), after(1, false)], undo), [2, 1]);
  t.same(undone, []);
  await t.rejects(allOrNone([after(5, false), after(3, true), after(1, true)], undo), {
    message: "fails after 3",
  });
  t.same(undone, [5]);
});

t.test("spooled tiles", async (t) => {
  const folder = folderWith("tiles.index");
  const limits = { maxBytes: 1_000, checkRoom: async () => undefined };
  await t.rejects(TileSpool.create(folder, limits), { code: "EEXIST" });
  t.same(openIn(folder), []);
});

t.test("MIF and MID", async (t) => {
  const folder = folderWith("layer.mid");
  const header = { fields: [], srid: 4326 as const, hasCollections: false };
  await t.rejects(mifOutput(join(folder, "layer"), header), { code: "EEXIST" });
  t.same(openIn(folder), []);
});

t.test("shapefiles", async (t) => {
  const survey = {
    geometries: [
      { type: "Point" as const, hasZ: false, count: 1 },
      { type: "Polygon" as const, hasZ: false, count: 1 },
    ],
    columns: [],
  };
  for (const name of ["layer-polygons.dbf", "layer-points.prj"]) {
    const folder = folderWith(name);
    const request = {
      ...{
        format: "shp" as const,
        folder,
        layer: "l",
        srid: 4326 as const,
        databaseUrl: "",
        source: { text: "", values: [] },
      },
      ...{ columns: [], maxBytes: 1, maxTotalBytes: 1, statementTimeoutMs: 1 },
    };
    await t.rejects(planFiles(request, [], survey, new Losses()), { code: "EEXIST" });
    t.same(openIn(folder), [], name);
  }
});
