import { writeFile } from "node:fs/promises";
import { AppendedFile } from "./appended-file.js";
import { DbaseEncoder, dbaseEnd } from "./dbase.js";
import type { Field } from "./flatgeobuf.js";
import type { Output } from "./output.js";
import { headerBytes, ShapeEncoder, type ShapeKind } from "./shapes.js";

/** Spatial references as ESRI writes them. */
const projections: Readonly<Record<4326 | 3857, string>> = (() => {
  const degrees =
    'GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],' +
    'PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]';
  const parameters = [
    ...["False_Easting", "False_Northing", "Central_Meridian", "Standard_Parallel_1"],
    "Auxiliary_Sphere_Type",
  ].map((name) => `PARAMETER["${name}",0.0]`);
  const mercator =
    `PROJCS["WGS_1984_Web_Mercator_Auxiliary_Sphere",${degrees},PROJECTION["Mercator_Auxiliary_Sphere"],` +
    `${parameters.join()},UNIT["Meter",1.0]]`;
  return { 4326: degrees, 3857: mercator };
})();

export interface ShapefileHeader {
  readonly kind: ShapeKind;
  readonly hasZ: boolean;
  readonly fields: readonly Field[];
  readonly srid: 4326 | 3857;
}

/** Extensions of its files. */
export const shapefileParts = [".shp", ".shx", ".dbf", ".prj", ".cpg"] as const;

/**
 * A shapefile with texts in UTF-8. The beginnings of its files are written last, since they tell numbers and extents.
 * @param stem path without an extension
 * @throws Unwritable when the fields are too many
 */
export async function shapefileOutput(
  stem: string,
  { kind, hasZ, fields, srid }: ShapefileHeader,
): Promise<Output> {
  const shapes = new ShapeEncoder(kind, hasZ);
  const table = new DbaseEncoder(fields);
  const isNew = { flag: "wx", mode: 0o600 };
  await writeFile(`${stem}.prj`, projections[srid], isNew);
  await writeFile(`${stem}.cpg`, "UTF-8", isNew);
  const [shp, shx, dbf] = await AppendedFile.createAll([`${stem}.shp`, `${stem}.shx`, `${stem}.dbf`]);
  await shp!.append(Buffer.alloc(headerBytes));
  await shx!.append(Buffer.alloc(headerBytes));
  await dbf!.append(Buffer.alloc(table.headerBytes));
  const flush = async () => {
    await shp!.append(shapes.shapes.take(shapes.shapes.length));
    await shx!.append(shapes.index.take(shapes.index.length));
    await dbf!.append(table.take());
  };
  return {
    add(wkb, values) {
      shapes.add(wkb);
      table.add(values);
    },
    get pending() {
      return shapes.shapes.length + shapes.index.length + table.length;
    },
    flush,
    async close() {
      await flush();
      await dbf!.append(dbaseEnd);
      await shp!.close(shapes.mainHeader());
      await shx!.close(shapes.indexHeader());
      await dbf!.close(table.header());
    },
    async abandon() {
      await Promise.all([shp!.abandon(), shx!.abandon(), dbf!.abandon()]);
    },
  };
}
