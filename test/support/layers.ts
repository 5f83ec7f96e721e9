import type pg from "pg";

/** Creates layers directly in the database, for tests without the API. */

export interface TestLayer {
  readonly projectId: number;
  readonly mapId: number;
  readonly layerId: number;
  /** Qualified name of the objects' table. */
  readonly table: string;
}

let made = 0;

/** Creates a project with a map and one layer. `client` needs the schema in its search path. */
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

/** Creates layers without objects and custom columns in a map; returns their ids. */
export async function makeLayers(client: pg.ClientBase, mapId: number, count: number): Promise<number[]> {
  const ids: number[] = [];
  // Each new table takes locks until its transaction ends, and the lock table is limited.
  for (let left = count; left > 0; left -= 100) {
    const { rows } = await client.query(
      `with made as (
         insert into node (map_id, type, code) select $1, 'layer', 'l' || n from generate_series($2::int, $3::int) n
         returning id
       ), known as (
         insert into layer (id) select id from made returning id
       ), columns as (
         insert into layer_column (layer_id, code, type, sort)
         select id, code, type, sort from known,
           (values ('svc_id', 'number', 1), ('geom', 'geom', 2)) own (code, type, sort)
       )
       select id from known order by id`,
      [mapId, ids.length + 1, ids.length + Math.min(left, 100)],
    );
    const made = rows.map(({ id }) => Number(id));
    await client.query("select create_layer_table(id) from unnest($1::bigint[]) id", [made]);
    ids.push(...made);
  }
  return ids;
}

/** Creates a virtual layer for each source layer of a map; returns their ids. */
export async function makeVirtualLayers(
  client: pg.ClientBase,
  mapId: number,
  sources: readonly number[],
): Promise<number[]> {
  const { rows } = await client.query(
    `with made as (
       insert into node (map_id, type, code) select $1, 'virtual', 'v' || source from unnest($2::bigint[]) source
       returning id, substr(code, 2)::bigint as source
     )
     insert into layer (id, source_id) select id, source from made returning id, source_id as source`,
    [mapId, sources],
  );
  for (const { id, source } of rows)
    await client.query(`create view layers.l${id} as select svc_id, geom, geom_3857 from layers.l${source}`);
  return rows.map(({ id }) => Number(id));
}
