import type { LayerNode } from "../catalog/state.js";
import { onceForEach } from "../once.js";
import type { Lookup } from "../storage/lookups.js";
import type { Queryable } from "../storage/postgres.js";
import { valueColumns } from "./column-sql.js";
import { type ObjectShape, objectJson } from "./item.js";
import { type JsonText, joinedParts, partsOf } from "./json-text.js";
import { layerTable, type Statement, Values } from "./sql.js";
import { readFailed } from "./statement-failure.js";
import { comparedVersionSql, versionSql } from "./version.js";

/** An object as JSON text with its version. */
export interface ObjectText {
  readonly json: JsonText;
  /** Changes with each write of the object; undefined for rows of views. */
  readonly version: string | undefined;
}

export interface ObjectRow {
  readonly o: string;
  readonly v: string | null;
}

export const objectText = ({ o, v }: ObjectRow): ObjectText => ({ json: o, version: v ?? undefined });

/** An object of rows with the parts of its text; undefined when there are none. */
export const objectOfParts = <Row extends ObjectRow>(rows: readonly Row[]): ObjectText | undefined =>
  rows[0] && { json: joinedParts(rows), version: rows[0].v ?? undefined };

export interface ObjectRequest extends ObjectShape {
  /** Whether the version will be compared with one of the client (If-Match, If-None-Match). */
  readonly comparesVersion?: boolean;
}

const requestedVersionSql = (layer: LayerNode, { comparesVersion }: ObjectRequest): string =>
  comparesVersion ? comparedVersionSql(layer) : versionSql(layer);

/** The statement that reads one object as JSON text `o`, with its version `v`. */
export function getStatement(layer: LayerNode, id: number, shape: ObjectRequest): Statement {
  const values = new Values();
  const key = values.bind(id);
  return {
    text: `select ${objectJson(shape, values)} as o, ${requestedVersionSql(layer, shape)} as v from ${layerTable(layer.id)} where svc_id = ${key}::bigint`,
    values: values.list,
  };
}

/** One object; undefined when the layer has none with that id. */
export async function getObject(
  db: Queryable,
  layer: LayerNode,
  id: number,
  shape: ObjectRequest,
): Promise<ObjectText | undefined> {
  // Requests without geometry for tables are batched. A large geometry or a slow view would delay the rest of its batch.
  if (!shape.geom && layer.type !== "virtual" && shape.fields === valueColumns(layer)) {
    const found = await db.lookup<ObjectRow>(wholeObjectLookup(layer, shape), id).catch(readFailed);
    return found && objectText(found);
  }
  const { text, values } = getStatement(layer, id, shape);
  if (!shape.geom) {
    const [row] = await db.query<ObjectRow>(text, values, { prepare: true }).catch(readFailed);
    return row && objectText(row);
  }
  const parts = `select parts.o, found.v from (${text}) found, ${partsOf("found.o")}`;
  return objectOfParts(await db.query<ObjectRow>(parts, values, { prepare: true }).catch(readFailed));
}

/** Batched lookups of whole objects by layer and shape, cached because building the SQL costs more than running it. */
const lookups = onceForEach((_: LayerNode) => new Map<string, Lookup>());
const shapesPerLayer = 32;

function wholeObjectLookup(layer: LayerNode, shape: ObjectRequest): Lookup {
  const { bbox, languages, readable, comparesVersion } = shape;
  const shapes = lookups(layer);
  const key = `${bbox}/${comparesVersion ?? false}/${readable ? languages.main : ""}/${languages.own}`;
  let lookup = shapes.get(key);
  if (!lookup) {
    const values = new Values();
    const ids = values.bind(undefined);
    const shown = objectJson(shape, values);
    lookup = {
      text: `select svc_id as k, ${shown} as o, ${requestedVersionSql(layer, shape)} as v from ${layerTable(layer.id)} where svc_id = any(${ids}::bigint[])`,
      values: values.list.slice(1),
    };
    // Bounded, since clients choose the language.
    if (shapes.size >= shapesPerLayer) shapes.clear();
    shapes.set(key, lookup);
  }
  return lookup;
}
