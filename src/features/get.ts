import type { LayerNode } from "../catalog/state.js";
import type { Queryable } from "../storage/postgres.js";
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
  const { text, values } = getStatement(layer, id, shape);
  const [row] = await db.query<{ o: string }>(text, values, { prepare: true }).catch(readFailed);
  return row?.o;
}
