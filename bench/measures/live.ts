import pg from "pg";
import { createLayer } from "../../src/catalog/layers.js";
import { createMap } from "../../src/catalog/maps.js";
import type { TileCoord } from "../../src/geo/tile.js";
import { withCatalogue } from "../catalogue.js";
import type { Context } from "../context.js";
import { whileEdited } from "../edits.js";
import { type Fetched, fetchAll } from "../fetch.js";
import { mapCode as projectCode } from "../import.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import { startServer } from "../server.js";
import { pannedBack } from "../viewers.js";
import { viewport } from "../viewports.js";

/**
 * Eight viewers who pan a map of which a hundred objects a second are edited, beside the same viewers without edits. Each round
 * begins without tiles; viewers come back to where they were.
 */

const code = "live";
const viewers = 8;
const editsPerSecond = 100;
const objects = 20_000;
const viewportTiles = viewport.width * viewport.height;

export async function liveEdits({ world, tiles, size }: Context): Promise<Row[]> {
  const views = Math.max(4, Math.floor(size.coldTiles / viewportTiles));
  const coords = tiles(views * viewportTiles, 17);
  const table = await prepare(world, tiles(Math.min(objects, 40 * size.coldTiles), 19));
  const config = world.config({ redisPrefix: "bench-live:" });
  const server = await startServer(config, world.log);
  const client = new pg.Client({ connectionString: config.databaseUrl });
  await client.connect();
  try {
    const urls = pannedBack(coords).map(
      ({ z, x, y }) => `${server.url}/tms/${projectCode}/${code}/${z}/${x}/${y}.png?base=0`,
    );
    const view = async (): Promise<Fetched> => {
      await world.forgetTiles();
      return fetchAll(urls, viewers);
    };
    const moved = `update ${table} set geom = st_translate(geom, case when $1 % 2 = 0 then 1e-4 else -1e-4 end, 0)
      where svc_id = (select svc_id from ${table} where svc_id >= (random() * ${objects})::int limit 1)`;
    const edit = (number: number) => client.query(moved, [number]);
    const measure = `tiles of a map with ${editsPerSecond} edits/s, beside none (${viewers} viewers)`;
    return await compare(
      size,
      () => whileEdited({ edit, perSecond: editsPerSecond }, view),
      [view],
      [
        { measure, unit: "p95, ms", of: ({ p95Ms }) => p95Ms, less: true, gate: 0.33 },
        { measure, unit: "p50, ms", of: ({ p50Ms }) => p50Ms, less: true },
      ],
    );
  } finally {
    await client.end();
    await server.stop();
  }
}

/** Small squares around cities, without labels. @returns the layer's table */
async function prepare(world: Context["world"], around: readonly TileCoord[]): Promise<string> {
  return withCatalogue(world, async ({ db, project, map }) => {
    const present = await db.query("select from map where project_id = $1 and code = $2", [project.id, code]);
    if (present.length === 0) {
      const cssStyle = "#a { polygon-fill: #c33; polygon-opacity: 0.6; line-color: #622; line-width: 0.5; }";
      await createLayer(db, await createMap(db, project.id, { code }), {
        code,
        geometryKind: "Polygon",
        cssStyle,
      });
    }
    const { id } = (await map(code)).layers.get(code)!;
    const table = `layers.l${id}`;
    await db.execute(`truncate ${table}`);
    await db.execute(
      `insert into ${table} (geom)
       select st_expand(st_setsrid(st_makepoint(lon + (n % 7) * 0.03, lat + (n % 5) * 0.03), 4326), 0.01)
       from unnest($1::float8[], $2::float8[]) as place (lon, lat), generate_series(1, $3::int) as n`,
      [
        around.map(({ z, x }) => ((x + 0.5) / 2 ** z) * 360 - 180),
        around.map(({ z, y }) => 80 - ((y + 0.5) / 2 ** z) * 160),
        Math.ceil(objects / around.length),
      ],
    );
    return table;
  });
}
