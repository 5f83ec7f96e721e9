import { createLayer } from "../../src/catalog/layers.js";
import { createMap } from "../../src/catalog/maps.js";
import type { Database } from "../../src/storage/postgres.js";
import { type Catalogue, withCatalogue } from "../catalogue.js";
import type { Context } from "../context.js";
import { type Fetched, fetchAll, fetchOne } from "../fetch.js";
import { mapCode as projectCode, tilePath } from "../import.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import { type Server, startServer } from "../server.js";
import type { World } from "../world.js";

/**
 * Maps of many layers, each with a style of its own: how long the first tile after a change of a style takes,
 * and what others' new tiles wait meanwhile.
 */

/** Viewers of the other map. */
const viewers = 4;
/** From the change of a style until all nodes know it. */
const heardMs = 150;

export async function wideMaps({ world, tiles, size }: Context): Promise<Row[]> {
  const widths: readonly Width[] = [
    { layers: 40, wanted: 100 },
    { layers: size.coldTiles < 200 ? 100 : 1_500, wanted: 1_000 },
  ];
  const most = widths.at(-1)!.layers;
  const coords = tiles(size.coldTiles, 23);
  return withCatalogue(world, async (catalogue) => {
    for (const { layers } of widths) await prepare(catalogue, layers);
    const { db } = catalogue;
    // Tiles that are drawn before somebody asks for them would be none after a change.
    const config = world.config({ redisPrefix: "bench-wide:", "tiles.redrawHot": false });
    const server = await startServer(config, world.log);
    try {
      const rows: Row[] = [];
      for (const { layers, wanted } of widths) {
        const tile = () => first(world, server, layers);
        await tile();
        rows.push(
          ...(await compare(
            size,
            async () => {
              await restyle(db, layers);
              return tile();
            },
            [async () => wanted],
            [
              {
                measure: `first tile of ${layers} layers after a style changed, beside what is wanted`,
                unit: "ms",
                of: (ms) => ms,
                less: true,
                gate: 1,
              },
            ],
          )),
        );
      }
      const others = async (): Promise<Fetched> => {
        await world.forgetTiles();
        return fetchAll(
          coords.map((coord) => server.url + tilePath(coord)),
          viewers,
        );
      };
      const meanwhile = async () => {
        const changes = new Changes(db, server, most);
        try {
          return await others();
        } finally {
          await changes.stop();
        }
      };
      rows.push(
        ...(await compare(
          size,
          meanwhile,
          [others],
          [
            {
              measure: `others' new tiles while a map of ${most} layers changes, beside none`,
              unit: "p95, ms",
              of: ({ p95Ms }) => p95Ms,
              less: true,
              gate: 0.5,
            },
          ],
        )),
      );
      return rows;
    } finally {
      await server.stop();
    }
  });
}

interface Width {
  readonly layers: number;
  /** Milliseconds that the first tile may take. */
  readonly wanted: number;
}

const codeOf = (width: number): string => `wide${width}`;

/** Milliseconds of a tile that nobody has. */
async function first(world: World, server: Server, width: number): Promise<number> {
  await world.forgetTiles();
  const asked = performance.now();
  await fetchOne(`${server.url}/tms/${projectCode}/${codeOf(width)}/3/4/3.png?base=0`);
  return performance.now() - asked;
}

/** Changes the style of one layer. */
async function restyle(db: Database, width: number): Promise<void> {
  await db.execute(
    `update node set css_style = $2 where id =
       (select min(node.id) from node join map on map.id = map_id where map.code = $1 and type = 'layer')`,
    [codeOf(width), `#a { polygon-fill: #${Math.random().toString(16).slice(2, 8).padEnd(6, "0")}; }`],
  );
  await new Promise((resolve) => setTimeout(resolve, heardMs));
}

/** Changes a style and asks for a tile of the map, again and again. */
class Changes {
  private isStopped = false;
  private readonly ended: Promise<void>;

  constructor(db: Database, server: Server, width: number) {
    this.ended = this.run(db, server, width);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.ended;
  }

  private async run(db: Database, server: Server, width: number): Promise<void> {
    for (let change = 0; !this.isStopped; change++) {
      await restyle(db, width);
      await fetchOne(`${server.url}/tms/${projectCode}/${codeOf(width)}/6/${change % 64}/30.png?base=0`);
    }
  }
}

/** A map whose layers have a square each, in rows of ten. */
async function prepare({ db, project }: Catalogue, width: number): Promise<void> {
  const code = codeOf(width);
  const present = await db.query("select from map where project_id = $1 and code = $2", [project.id, code]);
  if (present.length > 0) return;
  const map = await createMap(db, project.id, { code });
  for (let n = 0; n < width; n++) {
    const color = (n * 9_973 + 0x10_00_00).toString(16).slice(-6).padStart(6, "0");
    const { id } = await createLayer(db, map, {
      code: `l${n}`,
      geometryKind: "Polygon",
      cssStyle: `#a { polygon-fill: #${color}; line-color: #333; line-width: ${(1 + (n % 7) / 4).toFixed(2)}; }`,
    });
    await db.execute(
      `insert into layers.l${id} (geom)
       select st_setsrid(st_makeenvelope(x, y, x + 3, y + 3), 4326) from (select $1::float8 as x, $2::float8 as y) as at`,
      [((n % 10) * 4) % 40, (Math.floor(n / 10) * 4) % 40],
    );
  }
}
