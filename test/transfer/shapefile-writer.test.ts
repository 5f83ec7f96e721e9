import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import gdal from "gdal-async";
import t from "tap";
import { DbaseEncoder } from "../../workers/transfer/export/dbase.js";
import { shapefileOutput } from "../../workers/transfer/export/shapefile.js";
import type { ShapeKind } from "../../workers/transfer/export/shapes.js";
import { writeGdalFile } from "../support/gdal-files.js";

/** Shapefiles that we write, beside those that GDAL writes of the same. */

/** Runs with an empty folder. */
async function inFolder<Result>(work: (folder: string) => Result | Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** ISO WKB, as PostGIS gives it. */
const wkbOf = (wkt: string): Buffer => {
  const wkb = gdal.Geometry.fromWKT(wkt).toWKB("LSB") as Buffer;
  // GDAL marks heights with the highest bit, which members have too.
  const iso = Buffer.from(wkb);
  for (let at = 1; at + 4 <= iso.length; at++) {
    const code = iso.readUInt32LE(at);
    if (iso[at - 1] === 1 && code >= 0x80000001 && code <= 0x80000007)
      iso.writeUInt32LE((code & 0xff) + 1_000, at);
  }
  return iso;
};

const square = "0 0,0 9,9 9,9 0,0 0";
const hole = "1 1,2 1,2 2,1 1";
const cases: readonly [kind: ShapeKind, type: number, wkts: readonly (string | null)[]][] = [
  ["points", gdal.wkbPoint, ["POINT (1 2.5)", null, "POINT (-3 1e-9)"]],
  ["points", gdal.wkbPoint25D, ["POINT Z (1 2.5 3)", "POINT Z (-3 1 -7)"]],
  ["multipoints", gdal.wkbMultiPoint, ["MULTIPOINT (1 2,3 4)", "MULTIPOINT (5 6)"]],
  [
    "lines",
    gdal.wkbLineString,
    ["LINESTRING (1 2,3 4)", "MULTILINESTRING ((1 2,3 4),(5 6,7 8,9 -10))", null],
  ],
  ["lines", gdal.wkbLineString25D, ["LINESTRING Z (1 2 3,3 4 5)", "LINESTRING Z (1 2 -3,3 4 -5,1 1 1)"]],
  [
    "polygons",
    gdal.wkbPolygon,
    [
      `POLYGON ((${square}),(${hole}))`,
      "POLYGON ((0 0,9 0,9 9,0 0),(1 0.5,2 1,2 0.5,1 0.5))",
      `MULTIPOLYGON (((${square}),(${hole})),((20 20,21 20,21 21,20 20)))`,
    ],
  ],
  ["polygons", gdal.wkbPolygon25D, ["POLYGON Z ((0 0 1,9 0 2,9 9 3,0 0 1))"]],
];

for (const [kind, type, wkts] of cases)
  t.test(`${kind} of type ${type} are byte for byte those of GDAL`, async (t) => {
    const theirs = await inFolder((folder) =>
      writeGdalFile(folder, {
        driver: "ESRI Shapefile",
        extension: "shp",
        geometryType: type,
        fields: { name: gdal.OFTString },
        features: wkts.map((wkt, index) => ({
          values: { name: `${index}` },
          ...(wkt === null ? {} : { wkt }),
        })),
      }),
    );
    await inFolder(async (folder) => {
      const stem = join(folder, "ours");
      const hasZ = wkts.some((wkt) => wkt?.includes(" Z "));
      const fields = [{ name: "name", type: "text", width: 80 }] as const;
      const output = await shapefileOutput(stem, { kind, hasZ, fields, srid: 4326 });
      for (const [index, wkt] of wkts.entries()) {
        output.add(wkt === null ? null : wkbOf(wkt), [`${index}`]);
        // Each in a piece of its own.
        await output.flush();
      }
      await output.close();
      for (const part of ["shp", "shx", "prj"])
        t.equal(
          readFileSync(`${stem}.${part}`).toString("hex"),
          theirs[`data.${part}`]!.toString("hex"),
          part,
        );
      // But for the date and the language.
      const table = (bytes: Buffer) => bytes.fill(0, 1, 4).fill(0, 29, 30).toString("hex");
      t.equal(table(readFileSync(`${stem}.dbf`)), table(theirs["data.dbf"]!), "dbf");
      t.equal(readFileSync(`${stem}.cpg`, "utf8"), "UTF-8");
    });
  });

t.test("a table has fields up to 65 535 bytes for each object, and refuses more", async (t) => {
  const fields = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `f${index}`, type: "text" as const, width: 254 }));
  const table = new DbaseEncoder(fields(258));
  table.add(fields(258).map(({ name }) => name));
  t.equal(table.take().length, 1 + 258 * 254);
  t.throws(() => new DbaseEncoder(fields(259)), { message: /Choose fewer columns/ });
  const narrow = Array.from({ length: 2_047 }, (_, index) => ({
    name: `f${index}`,
    type: "text" as const,
    width: 1,
  }));
  t.throws(() => new DbaseEncoder(narrow), { message: /Choose fewer columns/ });
});

t.test("numbers have all their digits, and missing values are blank", async (t) => {
  const table = new DbaseEncoder([
    { name: "id", type: "long" },
    { name: "n", type: "double", width: 24, decimals: 0 },
    { name: "d", type: "double", width: 10, decimals: 3 },
    { name: "t", type: "text", width: 5 },
  ]);
  table.add([9007199254740991, 1e22, -12.5, "жжж"]);
  table.add([1, null, null, null]);
  const bytes = table.take();
  t.equal(bytes.toString("utf8", 0, 56), " 9007199254740991 10000000000000000000000   -12.500жж ");
  t.equal(bytes.toString("utf8", 56).trim(), "1");
});
