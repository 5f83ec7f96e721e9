import type { LayerNode } from "../catalog/state.js";
import type { Lookup } from "../storage/lookups.js";
import type { Queryable } from "../storage/postgres.js";
import { valueColumns } from "./columns.js";
import { type ObjectShape, objectJson } from "./item.js";
import { layerTable, type Statement, Values } from "./sql.js";
import { readFailed } from "./statement-failure.js";

/** The statement that reads one object as JSON text `o`. */
export function getStatement(layer: LayerNode, id: number, shape: ObjectShape): Statement {
  const values = new Values();
  const key = values.bind(id);
  return {
    text: `select ${objectJson(shape, values)} as o from ${layerTable(layer.id)} where svc_id = ${key}::bigint`,
    values: values.list,
  };
}

/** One object as JSON text; undefined when the layer has none with that id. */
export async function getObject(
  db: Queryable,
  layer: LayerNode,
  id: number,
  shape: ObjectShape,
): Promise<string | undefined> {
  // Geometry may be large: nobody else should have to wait for it.
  if (!shape.geom && shape.fields === valueColumns(layer)) {
    return (await db.lookup<{ o: string }>(wholeObjects(layer, shape), id).catch(readFailed))?.o;
  }
  const { text, values } = getStatement(layer, id, shape);
  const [row] = await db.query<{ o: string }>(text, values, { prepare: true }).catch(readFailed);
  return row?.o;
}

/** Lookups of objects with all their columns, by the form of what is shown; writing them anew would cost each request more than their use. */
const lookups = new WeakMap<LayerNode, Map<string, Lookup>>();
const formsPerLayer = 32;

function wholeObjects(layer: LayerNode, shape: ObjectShape): Lookup {
  const { bbox, languages } = shape;
  let forms = lookups.get(layer);
  if (!forms) {
    forms = new Map();
    lookups.set(layer, forms);
  }
  const key = `${bbox}/${languages.main}/${languages.own}`;
  let lookup = forms.get(key);
  if (!lookup) {
    const values = new Values();
    const ids = values.bind(undefined);
    const shown = objectJson(shape, values);
    lookup = {
      text: `select svc_id as k, ${shown} as o from ${layerTable(layer.id)} where svc_id = any(${ids}::bigint[])`,
      values: values.list.slice(1),
    };
    // Languages are whatever clients ask for.
    if (forms.size >= formsPerLayer) forms.clear();
    forms.set(key, lookup);
  }
  return lookup;
}
