import { requireOwnFiles } from "../catalog/files.js";
import { requireFilled, requireGeometry } from "../catalog/required.js";
import type { LayerNode } from "../catalog/state.js";
import { preconditionFailed } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { enforceConstraints } from "./check-constraints.js";
import { type Assignment, assignedValue, listedFiles, mayBecomeEmpty } from "./fields.js";
import { type GeometryShape, geometryJson } from "./geometry-sql.js";
import { getObject, type ObjectRow, type ObjectText, objectOfParts, objectText } from "./get.js";
import { type ObjectShape, objectJson } from "./item.js";
import { type JsonText, joinedParts, partsOf } from "./json-text.js";
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
  /** Who changes it, for the history; default: nobody that is known. */
  readonly login?: string | undefined;
}

/** SQL that lets the triggers at the end of the statement know who has sent it. */
const byLogin = (login: string | undefined, values: Values): string =>
  login ? `, set_config('mapwright.login', ${values.bind(login)}, true) as by` : "";

const geometryValue = (geom: Buffer | null, values: Values): string =>
  `st_geomfromewkb(${values.bind(geom)}::bytea)`;

/** SQL of the transaction's id, which its notifications carry. */
const receiptSql = "pg_current_xact_id()::text";

/** A write that returns JSON text `o`, as a whole or in parts, version `v` and receipt `r`. */
function returning(statement: string, layer: LayerNode, change: ObjectChange, values: Values): string {
  const object = objectJson(change.shape, values);
  const by = byLogin(change.login, values);
  const text = `${statement} returning ${object} as o, ${versionSql(layer)} as v, ${receiptSql} as r${by}`;
  if (!returnsParts(change)) return text;
  return `with written as (${text}) select parts.o, v, r from written, ${partsOf("written.o")}`;
}

interface WrittenRow extends ObjectRow {
  readonly r: string;
}

/** An object after a write. */
export interface WrittenObject extends ObjectText {
  /** Id of the transaction, for `Changes.propagate`; undefined when there was nothing to write. */
  readonly receipt: string | undefined;
}

/** Whether the object that a write returns may be long. Others cost less in one piece. */
const returnsParts = ({ assignments, shape }: ObjectChange): boolean =>
  shape.geom !== undefined ||
  // Of bodies that were large.
  assignments.some((one) => Buffer.isBuffer(one.kind === "set" ? one.bound : one.json));

/** Runs a write that returns the object; undefined when there is none. */
async function write(
  db: Queryable,
  { text, values }: Statement,
  change: ObjectChange,
): Promise<WrittenObject | undefined> {
  const rows = await db.write<WrittenRow>(text, values, { prepare: true }).catch(saveFailed);
  const [row] = rows;
  return row && { ...(returnsParts(change) ? objectOfParts(rows) : objectText(row))!, receipt: row.r };
}

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
    text: returning(`insert into ${layerTable(layer.id)} ${row}`, layer, change, values),
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
  const made = await write(db, createStatement(layer, change), change);
  if (!made) throw new Error("INSERT returned no row.");
  return made;
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
  const condition = `svc_id = ${key}::bigint${versionCondition(layer, versions, values)}`;
  const statement = `update ${layerTable(layer.id)} set ${terms.join(", ")} where ${condition}`;
  const text = returning(statement, layer, change, values);
  const changed = await write(db, { text, values: values.list }, change);
  if (!changed) await requireAbsence(db, layer, id, versions);
  return changed;
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
  { versions, login }: Pick<ObjectChange, "versions" | "login"> = {},
): Promise<string | undefined> {
  const values = new Values();
  const key = values.bind(id);
  const condition = `svc_id = ${key}::bigint${versionCondition(layer, versions, values)}`;
  const [row] = await db.write<{ r: string }>(
    `delete from ${layerTable(layer.id)} where ${condition} returning ${receiptSql} as r${byLogin(login, values)}`,
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
): Promise<JsonText | undefined> {
  const rows = await db.query<{ o: string }>(
    `select parts.o from
       (select ${geometryJson(shape)} as g from ${layerTable(layer.id)} where svc_id = $1::bigint) found,
       ${partsOf("found.g")}`,
    [id],
    { prepare: true },
  );
  return rows.length > 0 ? joinedParts(rows) : undefined;
}

export interface GeometryChange {
  /** EWKB in EPSG:4326; null = none. */
  readonly geom: Buffer | null;
  /** How the geometry is returned. */
  readonly shape: GeometryShape;
  /** As in `ObjectChange`. */
  readonly versions?: readonly string[] | undefined;
  readonly login?: string | undefined;
}

/** A geometry after a write. */
export interface WrittenGeometry {
  /** GeoJSON. */
  readonly json: JsonText;
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
  { geom, shape, versions, login }: GeometryChange,
): Promise<WrittenGeometry | undefined> {
  requireGeometry(layer, geom);
  const values = new Values();
  const key = values.bind(id);
  const rows = await db.write<{ o: string; r: string }>(
    `with written as (
       update ${layerTable(layer.id)} set geom = ${geometryValue(geom, values)}
       where svc_id = ${key}::bigint${versionCondition(layer, versions, values)}
       returning ${geometryJson(shape)} as g, ${receiptSql} as r${byLogin(login, values)}
     ) select parts.o, r from written, ${partsOf("written.g")}`,
    values.list,
    { prepare: true },
  );
  const [row] = rows;
  if (!row) await requireAbsence(db, layer, id, versions);
  return row && { json: joinedParts(rows), receipt: row.r };
}
