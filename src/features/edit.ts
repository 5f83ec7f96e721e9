import { requireOwnFiles } from "../catalog/files.js";
import type { LayerNode } from "../catalog/state.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { enforceConstraints } from "./enforce.js";
import { type Assignment, assignedValue, listedFiles } from "./fields.js";
import { type GeometryShape, geometryJson } from "./geometry-sql.js";
import { getObject } from "./get.js";
import { type ObjectShape, objectJson } from "./item.js";
import { layerTable, type Statement, Values } from "./sql.js";
import { saveFailed } from "./statement-failure.js";

/** Writes of one object, each one statement that also reads the answer. When they return, the write is committed. */

export interface ObjectChange {
  readonly assignments: readonly Assignment[];
  /** EWKB in EPSG:4326; null = no geometry; undefined = as it is. */
  readonly geom: Buffer | null | undefined;
  /** What the answer shows. */
  readonly shape: ObjectShape;
}

const geometryValue = (geom: Buffer | null, values: Values): string =>
  `st_geomfromewkb(${values.bind(geom)}::bytea)`;

/** The statement that makes an object and reads it as JSON text `o`. */
export function createStatement(layer: LayerNode, change: ObjectChange): Statement {
  const values = new Values();
  const names: string[] = [];
  const terms: string[] = [];
  for (const assignment of change.assignments) {
    names.push(assignment.column.physical);
    terms.push(assignedValue(assignment, "null", values));
  }
  if (change.geom) {
    names.push("geom");
    terms.push(geometryValue(change.geom, values));
  }
  const row = names.length > 0 ? `(${names.join(",")}) values (${terms.join(",")})` : "default values";
  return {
    text: `insert into ${layerTable(layer.id)} ${row} returning ${objectJson(change.shape, values)} as o`,
    values: values.list,
  };
}

/** Makes an object; its JSON text. @throws Failure invalid_value for files, which a new object cannot have */
export async function createObject(db: Database, layer: LayerNode, change: ObjectChange): Promise<string> {
  const files = listedFiles(change.assignments);
  if (files.length > 0) await requireOwnFiles(db, layer, undefined, files);
  await enforceConstraints(db, layer, change.assignments);
  const { text, values } = createStatement(layer, change);
  const [row] = await db.query<{ o: string }>(text, values, { prepare: true }).catch(saveFailed);
  if (!row) throw new Error("INSERT returned no row.");
  return row.o;
}

/**
 * Changes what `change` names of an object; its JSON text, or undefined when there is none with that id.
 * @throws Failure invalid_value for files that are not the object's
 */
export async function updateObject(
  db: Database,
  layer: LayerNode,
  id: number,
  change: ObjectChange,
): Promise<string | undefined> {
  await enforceConstraints(db, layer, change.assignments);
  const files = listedFiles(change.assignments);
  if (files.length === 0) return update(db, layer, id, change);
  return db.transaction(async (tx) => {
    await requireOwnFiles(tx, layer, id, files);
    return update(tx, layer, id, change);
  });
}

async function update(
  db: Queryable,
  layer: LayerNode,
  id: number,
  change: ObjectChange,
): Promise<string | undefined> {
  const values = new Values();
  const key = values.bind(id);
  const terms = change.assignments.map(
    (assignment) =>
      `${assignment.column.physical} = ${assignedValue(assignment, assignment.column.physical, values)}`,
  );
  if (change.geom !== undefined) terms.push(`geom = ${geometryValue(change.geom, values)}`);
  if (terms.length === 0) return getObject(db, layer, id, change.shape);
  const [row] = await db
    .query<{ o: string }>(
      `update ${layerTable(layer.id)} set ${terms.join(", ")} where svc_id = ${key}::bigint
      returning ${objectJson(change.shape, values)} as o`,
      values.list,
      { prepare: true },
    )
    .catch(saveFailed);
  return row?.o;
}

/** Whether there was such an object. */
export async function deleteObject(db: Database, layer: LayerNode, id: number): Promise<boolean> {
  return (await db.execute(`delete from ${layerTable(layer.id)} where svc_id = $1::bigint`, [id])) > 0;
}

/** An object's geometry as GeoJSON text ('null' when it has none); undefined when there is no such object. */
export async function getGeometry(
  db: Database,
  layer: LayerNode,
  id: number,
  shape: GeometryShape,
): Promise<string | undefined> {
  const [row] = await db.query<{ g: string }>(
    `select ${geometryJson(shape)} as g from ${layerTable(layer.id)} where svc_id = $1::bigint`,
    [id],
    { prepare: true },
  );
  return row?.g;
}

/** Replaces an object's geometry; the new one as GeoJSON text, or undefined when there is no such object. */
export async function putGeometry(
  db: Database,
  layer: LayerNode,
  id: number,
  put: { readonly geom: Buffer | null; readonly shape: GeometryShape },
): Promise<string | undefined> {
  const [row] = await db.query<{ g: string }>(
    `update ${layerTable(layer.id)} set geom = st_geomfromewkb($2::bytea) where svc_id = $1::bigint
      returning ${geometryJson(put.shape)} as g`,
    [id, put.geom],
    { prepare: true },
  );
  return row?.g;
}
