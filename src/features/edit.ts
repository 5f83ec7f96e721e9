import { requireOwnFiles } from "../catalog/files.js";
import { requireFilled, requireGeometry } from "../catalog/required.js";
import type { LayerNode } from "../catalog/state.js";
import { preconditionFailed } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { enforceConstraints } from "./check-constraints.js";
import { type Assignment, assignedValue, listedFiles, mayBecomeEmpty } from "./fields.js";
import { type GeometryShape, geometryJson } from "./geometry-sql.js";
import { getObject, type ObjectRow, type ObjectText, objectText } from "./get.js";
import { type ObjectShape, objectJson } from "./item.js";
import { layerTable, type Statement, Values } from "./sql.js";
import { saveFailed } from "./statement-failure.js";
import { requireAbsence, versionCondition, versionSql } from "./version.js";

/** Creates, updates and deletes single objects. Each write is one statement that also returns the object; it is committed when the function returns. */

export interface ObjectChange {
  readonly assignments: readonly Assignment[];
  /** EWKB in EPSG:4326; null = no geometry; undefined = unchanged. */
  readonly geom: Buffer | null | undefined;
  /** How the object is returned. */
  readonly shape: ObjectShape;
  /** Versions of the object that may be updated (If-Match); undefined = any. */
  readonly versions?: readonly string[] | undefined;
}

const geometryValue = (geom: Buffer | null, values: Values): string =>
  `st_geomfromewkb(${values.bind(geom)}::bytea)`;

/** SQL of the transaction's id, which its notifications carry. */
const receiptSql = "pg_current_xact_id()::text";

/** RETURNING clause of a write: JSON text `o`, version `v` and receipt `r`. */
const returning = (layer: LayerNode, shape: ObjectShape, values: Values): string =>
  `returning ${objectJson(shape, values)} as o, ${versionSql(layer)} as v, ${receiptSql} as r`;

interface WrittenRow extends ObjectRow {
  readonly r: string;
}

/** An object after a write. */
export interface WrittenObject extends ObjectText {
  /** Id of the transaction, for `Changes.propagate`; undefined when there was nothing to write. */
  readonly receipt: string | undefined;
}

const written = (row: WrittenRow): WrittenObject => ({ ...objectText(row), receipt: row.r });

/** The statement that inserts an object and returns it. */
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
    text: `insert into ${layerTable(layer.id)} ${row} ${returning(layer, change.shape, values)}`,
    values: values.list,
  };
}

/** Inserts an object. @throws Failure invalid_value for files, which a new object cannot have, and a missing required geometry */
export async function createObject(
  db: Database,
  layer: LayerNode,
  change: ObjectChange,
): Promise<WrittenObject> {
  requireGeometry(layer, change.geom ?? null);
  const files = listedFiles(change.assignments);
  if (files.length > 0) await requireOwnFiles(db, layer, undefined, files);
  await enforceConstraints(db, layer, change.assignments);
  const { text, values } = createStatement(layer, change);
  const [row] = await db.write<WrittenRow>(text, values, { prepare: true }).catch(saveFailed);
  if (!row) throw new Error("INSERT returned no row.");
  return written(row);
}

/**
 * Updates the columns and the geometry that `change` contains; undefined when there is no object with that id.
 * @throws Failure invalid_value for files of other objects and for required columns that would become empty;
 *   precondition_failed when the object has none of the versions
 */
export async function updateObject(
  db: Database,
  layer: LayerNode,
  id: number,
  change: ObjectChange,
): Promise<WrittenObject | undefined> {
  requireGeometry(layer, change.geom);
  await enforceConstraints(db, layer, change.assignments);
  const files = listedFiles(change.assignments);
  const losesLanguage = mayBecomeEmpty(change.assignments);
  if (files.length === 0 && losesLanguage.length === 0) return update(db, layer, id, change);
  return db.transaction(async (tx) => {
    if (files.length > 0) await requireOwnFiles(tx, layer, id, files);
    const changed = await update(tx, layer, id, change);
    await requireFilled(tx, layer, id, losesLanguage);
    return changed;
  });
}

async function update(
  db: Queryable,
  layer: LayerNode,
  id: number,
  change: ObjectChange,
): Promise<WrittenObject | undefined> {
  const { versions } = change;
  const values = new Values();
  const key = values.bind(id);
  const terms = change.assignments.map(
    (assignment) =>
      `${assignment.column.physical} = ${assignedValue(assignment, assignment.column.physical, values)}`,
  );
  if (change.geom !== undefined) terms.push(`geom = ${geometryValue(change.geom, values)}`);
  if (terms.length === 0) {
    const found = await getObject(db, layer, id, {
      ...change.shape,
      comparesVersion: versions !== undefined,
    });
    if (found && versions && !versions.includes(found.version ?? "")) {
      throw preconditionFailed(`The object ${id} has changed since.`);
    }
    return found && { ...found, receipt: undefined };
  }
  const [row] = await db
    .write<WrittenRow>(
      `update ${layerTable(layer.id)} set ${terms.join(", ")}
      where svc_id = ${key}::bigint${versionCondition(layer, versions, values)}
      ${returning(layer, change.shape, values)}`,
      values.list,
      { prepare: true },
    )
    .catch(saveFailed);
  if (!row) await requireAbsence(db, layer, id, versions);
  return row && written(row);
}

/**
 * Deletes an object.
 * @returns the transaction's receipt; undefined when there is no such object
 * @throws Failure precondition_failed when the object has none of the versions
 */
export async function deleteObject(
  db: Database,
  layer: LayerNode,
  id: number,
  versions?: readonly string[],
): Promise<string | undefined> {
  const values = new Values();
  const key = values.bind(id);
  const condition = `svc_id = ${key}::bigint${versionCondition(layer, versions, values)}`;
  const [row] = await db.write<{ r: string }>(
    `delete from ${layerTable(layer.id)} where ${condition} returning ${receiptSql} as r`,
    values.list,
    { prepare: true },
  );
  if (!row) await requireAbsence(db, layer, id, versions);
  return row?.r;
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

export interface GeometryChange {
  /** EWKB in EPSG:4326; null = none. */
  readonly geom: Buffer | null;
  /** How the geometry is returned. */
  readonly shape: GeometryShape;
  /** As in `ObjectChange`. */
  readonly versions?: readonly string[] | undefined;
}

/** A geometry after a write. */
export interface WrittenGeometry {
  /** GeoJSON text. */
  readonly json: string;
  /** Id of the transaction, for `Changes.propagate`. */
  readonly receipt: string;
}

/**
 * Replaces an object's geometry; undefined when there is no such object.
 * @throws Failure precondition_failed when the object has none of the versions; invalid_value for null when the layer
 *   requires a geometry
 */
export async function putGeometry(
  db: Database,
  layer: LayerNode,
  id: number,
  { geom, shape, versions }: GeometryChange,
): Promise<WrittenGeometry | undefined> {
  requireGeometry(layer, geom);
  const values = new Values();
  const key = values.bind(id);
  const [row] = await db.write<{ g: string; r: string }>(
    `update ${layerTable(layer.id)} set geom = ${geometryValue(geom, values)}
      where svc_id = ${key}::bigint${versionCondition(layer, versions, values)}
      returning ${geometryJson(shape)} as g, ${receiptSql} as r`,
    values.list,
    { prepare: true },
  );
  if (!row) await requireAbsence(db, layer, id, versions);
  return row && { json: row.g, receipt: row.r };
}
