import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import gdal from "gdal-async";
import { parquetWriteBuffer } from "hyparquet-writer";
import type { ImportFormat } from "../../src/hosts/import-messages.js";
import { writeGdalFile } from "./gdal-files.js";
import { sxfOf } from "./sxf.js";
import { feature, point } from "./transfer.js";
import { rowsOf, xlsxOf } from "./xlsx.js";
import { zipOf } from "./zip.js";

/** Files of all formats that are imported, each of one object: a point at 1° east and 2° north, with 7 in the column `a` where it has one. */

/** Contents by file name. */
export type Files = Readonly<Record<string, string | Buffer>>;

/** All files that GDAL writes, named `data`. */
function madeByGdal(driver: string, extension: string): Files {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  const fields = driver === "DXF" ? {} : { a: gdal.OFTInteger };
  const values = driver === "DXF" ? {} : { a: 7 };
  try {
    return writeGdalFile(folder, { driver, extension, fields, features: [{ wkt: "POINT (1 2)", values }] });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const kml =
  '<kml xmlns="http://www.opengis.net/kml/2.2"><Placemark><Point><coordinates>1,2</coordinates></Point></Placemark></kml>';
const shapefile = madeByGdal("ESRI Shapefile", "shp");

/** A file of each format with one object, or that and the files that belong to it. */
const samples: Readonly<Record<ImportFormat, string | Buffer | Files>> = {
  GeoJSON: JSON.stringify({ type: "FeatureCollection", features: [feature({ a: 7 }, point(1, 2))] }),
  "GeoJSON of one feature a line": `${JSON.stringify(feature({ a: 7 }, point(1, 2)))}\n`,
  Shapefile: shapefile,
  "dBASE table": shapefile["data.dbf"]!,
  "MapInfo TAB": madeByGdal("MapInfo File", "tab"),
  "MapInfo MIF": madeByGdal("MapInfo File", "mif"),
  KML: kml,
  CSV: "lon,lat,a\n1,2,7\n",
  XLSX: await xlsxOf({
    sheets: {
      a: rowsOf([
        ["lon", "lat", "a"],
        [1, 2, 7],
      ]),
    },
  }),
  GPX: '<gpx><wpt lat="2" lon="1"/></gpx>',
  XLS: readFileSync(new URL("../../../test/fixtures/one.xls", import.meta.url)),
  DXF: madeByGdal("DXF", "dxf")["data.dxf"]!,
  SXF: sxfOf({ epsg: 4326, records: [{ kind: "point", parts: [[[1, 2]]] }] }),
  GeoPackage: madeByGdal("GPKG", "gpkg")["data.gpkg"]!,
  GML: madeByGdal("GML", "gml")["data.gml"]!,
  FlatGeobuf: madeByGdal("FlatGeobuf", "fgb")["data.fgb"]!,
  Parquet: Buffer.from(
    parquetWriteBuffer({
      columnData: [
        { name: "lon", data: [1] },
        { name: "lat", data: [2] },
        { name: "a", data: [7] },
      ],
    }),
  ),
  "ZIP archive of such files": await zipOf(shapefile),
};

/** Files of extensions that mean another content than the others of their format. */
const ownSamples: Readonly<Record<string, Buffer>> = { kmz: await zipOf({ "doc.kml": kml }) };

/** A file of the format with this extension, with those that belong to it. */
export function sampleOf(format: ImportFormat, extension: string): Files {
  const sample = ownSamples[extension] ?? samples[format];
  return typeof sample === "string" || Buffer.isBuffer(sample) ? { [`x.${extension}`]: sample } : sample;
}
