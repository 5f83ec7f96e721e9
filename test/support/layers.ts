import type pg from "pg";

/** Rows for tests that need a layer and not the API. */

export interface TestLayer {
  readonly projectId: number;
  readonly mapId: number;
  readonly layerId: number;
  /** Qualified name of the objects' table. */
  readonly table: string;
}

let made = 0;

/** A project with a map and one layer, straight in the database. `client` has the schema in its search path. */
export async function makeLayer(client: pg.ClientBase, code = `p${++made}`): Promise<TestLayer> {
  const one = async (text: string, values: unknown[]) =>
    Number((await client.query(text, values)).rows[0].id);
  const projectId = await one("insert into project (code) values ($1) returning id", [code]);
  const mapId = await one("insert into map (project_id, code) values ($1, 'm') returning id", [projectId]);
  const layerId = await one("insert into node (map_id, type, code) values ($1, 'layer', 'l') returning id", [
    mapId,
  ]);
  await client.query("insert into layer (id) values ($1)", [layerId]);
  await client.query(
    "insert into layer_column (layer_id, code, type, sort) values ($1, 'svc_id', 'number', 1), ($1, 'geom', 'geom', 2)",
    [layerId],
  );
  await client.query("select create_layer_table($1)", [layerId]);
  return { projectId, mapId, layerId, table: `layers.l${layerId}` };
}
