import pg from "pg";
import { createLayer } from "../../src/catalog/layers.js";
import { createMap } from "../../src/catalog/maps.js";
import type { TileCoord } from "../../src/geo/tile.js";
import { withCatalogue } from "../catalogue.js";
import type { Context } from "../context.js";
import { type Fetched, fetchAll } from "../fetch.js";
import { mapCode as projectCode } from "../import.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import { startServer } from "../server.js";

/**
 * Eight viewers who pan a map of which a hundred objects a second are edited, beside the same viewers without edits. Each round
 * begins without tiles; viewers come back to where they were.
 */

const code = "live";
const viewers = 8;
const editsPerSecond = 100;
const objects = 20_000;
/** Tiles of a viewport (viewports.ts). */
const viewportTiles = 20;

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
    const whileEdited = async (): Promise<Fetched> => {
      const edits = new Edits(client, table);
      try {
        return await view();
      } finally {
        await edits.stop();
      }
    };
    const measure = `tiles of a map with ${editsPerSecond} edits/s, beside none (${viewers} viewers)`;
    return await compare(
      size,
      whileEdited,
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

/** Viewports in the order 1 2 1 3 2 4 3 …: who pans comes back. */
function pannedBack(coords: readonly TileCoord[]): TileCoord[] {
  const views: TileCoord[][] = [];
  for (let at = 0; at < coords.length; at += viewportTiles) views.push(coords.slice(at, at + viewportTiles));
  return views.flatMap((view, index) => [...view, ...(views[index - 1] ?? [])]);
}

/** Moves objects by a little, one at a time, until it is stopped. */
class Edits {
  private readonly ended: Promise<void>;
  private isStopped = false;

  constructor(client: pg.Client, table: string) {
    this.ended = this.run(client, table);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.ended;
  }

  private async run(client: pg.Client, table: string): Promise<void> {
    const started = performance.now();
    for (let edit = 0; !this.isStopped; edit++) {
      const due = started + (edit * 1000) / editsPerSecond - performance.now();
      if (due > 0) await new Promise((resolve) => setTimeout(resolve, due));
      const moved = `update ${table} set geom = st_translate(geom, case when $1 % 2 = 0 then 1e-4 else -1e-4 end, 0)
        where svc_id = (select svc_id from ${table} where svc_id >= (random() * ${objects})::int limit 1)`;
      await client.query(moved, [edit]);
    }
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
