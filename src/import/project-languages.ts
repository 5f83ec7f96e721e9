import type { Queryable } from "../storage/postgres.js";

/** Languages of the layer's project, the main one first. */
export async function projectLanguages(db: Queryable, layerId: number): Promise<readonly string[]> {
  const [project] = await db.query<{ languages: string[] }>(
    `select p.languages from node n join map m on m.id = n.map_id join project p on p.id = m.project_id
     where n.id = $1`,
    [layerId],
  );
  return project?.languages ?? [];
}
