import { valueColumns } from "../../src/features/column-sql.js";
import { getStatement } from "../../src/features/get.js";
import { besideQuery } from "../bare-query.js";
import { withCatalogue } from "../catalogue.js";
import type { Context } from "../context.js";
import { mapCode } from "../import.js";
import type { Row } from "../report.js";
import { startServer } from "../server.js";
import type { World } from "../world.js";

/**
 * Single objects over HTTP, by nobody in particular, beside a bare handler that runs the same statement for each. The
 * product has more to do on the way to it (address, rights, columns, the answer's headers, metrics), and less to ask:
 * objects that are asked for in one turn of its event loop are read by one statement.
 */

const layerCode = "cities";
const objects = 1000;

/** Path of the objects. */
export const citiesPath = `/api/2.8/${mapCode}/${mapCode}/layers/${layerCode}/objects/`;

export async function objectsByHttp(context: Context): Promise<Row[]> {
  const { world } = context;
  const { statement, ids } = await someCities(world);
  const server = await startServer(world.config({ redisPrefix: "bench-objects:" }), world.log);
  try {
    return await besideQuery(context, server, {
      measure: "object",
      gate: 0.5,
      paths: ids.map((id) => `${citiesPath}${id}/`),
      statement,
      values: ids.map((id) => [id]),
    });
  } finally {
    await server.stop();
  }
}

/** Ids of some objects, and the statement that gives one. */
export function someCities(world: World): Promise<{ statement: string; ids: number[] }> {
  return withCatalogue(world, async ({ db, map }) => {
    const layer = (await map(mapCode)).layers.get(layerCode)!;
    const shape = { fields: valueColumns(layer), languages: { own: "en", main: "en" } };
    const rows = await db.query<{ svc_id: number }>(
      `select svc_id from layers.l${layer.id} order by hashint8(svc_id) limit ${objects}`,
    );
    return { statement: getStatement(layer, 0, shape).text, ids: rows.map((row) => row.svc_id) };
  });
}
