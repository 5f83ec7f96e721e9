import type { LayerNode } from "../catalog/state.js";
import type { Lookup } from "../storage/lookups.js";
import type { Queryable } from "../storage/postgres.js";
import { valueColumns } from "./columns.js";
import { type ObjectShape, objectJson } from "./item.js";
import { layerTable, type Statement, Values } from "./sql.js";
import { readFailed } from "./statement-failure.js";
import { comparedVersionSql, versionSql } from "./version.js";

/** An object as it was read. */
export interface ObjectText {
  readonly json: string;
  /** Changes with each write of the object; undefined where none can be told. */
  readonly version: string | undefined;
}

export interface ObjectRow {
  readonly o: string;
  readonly v: string | null;
}

export const objectText = ({ o, v }: ObjectRow): ObjectText => ({ json: o, version: v ?? undefined });

/** What is asked about one object. */
export interface ObjectQuestion extends ObjectShape {
  /** Whether the version is compared with one that the client has. */
  readonly comparesVersion?: boolean;
}

const askedVersionSql = (layer: LayerNode, { comparesVersion }: ObjectQuestion): string =>
  comparesVersion ? comparedVersionSql(layer) : versionSql(layer);

/** The statement that reads one object as JSON text `o`, with its version `v`. */
export function getStatement(layer: LayerNode, id: number, shape: ObjectQuestion): Statement {
  const values = new Values();
  const key = values.bind(id);
  return {
    text: `select ${objectJson(shape, values)} as o, ${askedVersionSql(layer, shape)} as v from ${layerTable(layer.id)} where svc_id = ${key}::bigint`,
    values: values.list,
  };
}

/** One object; undefined when the layer has none with that id. */
export async function getObject(
  db: Queryable,
  layer: LayerNode,
  id: number,
  shape: ObjectQuestion,
): Promise<ObjectText | undefined> {
  // Nobody else should have to wait for a large geometry, or for what the filter of a view does with one object.
  if (!shape.geom && layer.type !== "virtual" && shape.fields === valueColumns(layer)) {
    const found = await db.lookup<ObjectRow>(wholeObjects(layer, shape), id).catch(readFailed);
    return found && objectText(found);
  }
  const { text, values } = getStatement(layer, id, shape);
  const [row] = await db.query<ObjectRow>(text, values, { prepare: true }).catch(readFailed);
  return row && objectText(row);
}

/** Lookups of objects with all their columns, by the form of what is shown; writing them anew would cost each request more than their use. */
const lookups = new WeakMap<LayerNode, Map<string, Lookup>>();
const formsPerLayer = 32;

function wholeObjects(layer: LayerNode, shape: ObjectQuestion): Lookup {
  const { bbox, languages, readable, comparesVersion } = shape;
  let forms = lookups.get(layer);
  if (!forms) {
    forms = new Map();
    lookups.set(layer, forms);
  }
  const key = `${bbox}/${comparesVersion ?? false}/${readable ? languages.main : ""}/${languages.own}`;
  let lookup = forms.get(key);
  if (!lookup) {
    const values = new Values();
    const ids = values.bind(undefined);
    const shown = objectJson(shape, values);
    lookup = {
      text: `select svc_id as k, ${shown} as o, ${askedVersionSql(layer, shape)} as v from ${layerTable(layer.id)} where svc_id = any(${ids}::bigint[])`,
      values: values.list.slice(1),
    };
    // Languages are whatever clients ask for.
    if (forms.size >= formsPerLayer) forms.clear();
    forms.set(key, lookup);
  }
  return lookup;
}
