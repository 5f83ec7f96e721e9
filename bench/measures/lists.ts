import { pipeline } from "node:stream/promises";
import pg from "pg";
import { to } from "pg-copy-streams";
import { valueColumns } from "../../src/features/column-sql.js";
import { withCatalogue } from "../catalogue.js";
import type { Context } from "../context.js";
import { cpuSeconds } from "../cpu.js";
import { fetchOne } from "../fetch.js";
import { mapCode } from "../import.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import { startServer } from "../server.js";
import { type Done, throughput, throughputFigures } from "../throughput.js";
import type { World } from "../world.js";

/**
 * All objects of a layer with their values and geometries, over HTTP, beside COPY of the same columns and GeoJSON on a
 * connection with the product's settings: one core of PostgreSQL's for either. COPY writes neither names nor the texts of
 * JSON, and nobody checks who asks.
 */

export async function listsByHttp(context: Context): Promise<Row[]> {
  const { world, size } = context;
  const server = await startServer(world.config({ redisPrefix: "bench-lists:" }), world.log);
  const client = new pg.Client({
    connectionString: world.config().databaseUrl,
    options: "-c search_path=mapwright,public -c jit=off -c max_parallel_workers_per_gather=0",
  });
  try {
    await client.connect();
    const rows: Row[] = [];
    for (const { code, path, copy } of await lists(world)) {
      const side = (pids: readonly number[], work: () => Promise<unknown>) => () =>
        throughput(
          () => cpuSeconds(pids),
          async (): Promise<Done> => {
            const begun = performance.now();
            await work();
            return { count: 1, seconds: (performance.now() - begun) / 1000 };
          },
        );
      rows.push(
        ...(await compare(
          size,
          side([server.pid, world.postgresPid], () => fetchOne(server.url + path)),
          [side([world.postgresPid], () => discarded(client, copy))],
          throughputFigures(`list of ${code}, beside COPY`, "lists", { perSecond: 0.9 }),
        )),
      );
    }
    return rows;
  } finally {
    await Promise.all([client.end(), server.stop()]);
  }
}

const lists = (world: World) =>
  withCatalogue(world, async ({ map }) =>
    [...(await map(mapCode)).layers.values()].map((layer) => {
      const columns = valueColumns(layer);
      const fields = columns.map(({ code }) => code).join(",");
      const read = ["svc_id", ...columns.map(({ physical }) => physical), "st_asgeojson(geom,15,0)"];
      return {
        code: layer.code,
        path: `/api/2.8/${mapCode}/${mapCode}/layers/${layer.code}/objects/?fields=${fields}&returnGeom=1`,
        copy: `copy (select ${read} from layers.l${layer.id} order by svc_id) to stdout`,
      };
    }),
  );

const discarded = (client: pg.Client, copy: string): Promise<void> =>
  pipeline(client.query(to(copy)), async (chunks: AsyncIterable<Buffer>) => {
    for await (const _ of chunks);
  });
