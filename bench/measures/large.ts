import { layerTable } from "../../src/catalog/layer-table.js";
import { createLayer } from "../../src/catalog/layers.js";
import { createMap } from "../../src/catalog/maps.js";
import { mercatorHalf, type TileCoord } from "../../src/geo/tile.js";
import type { GeometryKind } from "../../src/geo/wkb.js";
import { type Database, openDatabase } from "../../src/storage/postgres.js";
import { type Catalogue, withCatalogue } from "../catalogue.js";
import type { Context } from "../context.js";
import { type Fetched, fetchAll, fetchOne } from "../fetch.js";
import { mapCode as projectCode } from "../import.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import { startServer } from "../server.js";

/**
 * Large layers of points, lines and polygons, each beside one with a tenth of the objects: cold tiles by zoom, edits, and the
 * tile of zoom 0 after an edit. What they cost should not grow with the layer.
 */

/** Share of the number of points. */
const kinds: readonly { readonly kind: GeometryKind; readonly share: number; readonly shape: string }[] = [
  { kind: "Point", share: 1, shape: "st_makepoint(x, y)" },
  {
    kind: "LineString",
    share: 0.2,
    shape:
      "st_makeline(array[st_makepoint(x, y), st_makepoint(x + 0.001, y + 0.002), st_makepoint(x + 0.004, y + 0.003)])",
  },
  { kind: "Polygon", share: 0.5, shape: "st_makeenvelope(x, y, x + 0.0003, y + 0.0002)" },
];
const zooms = [0, 2, 4, 6, 8, 10, 12, 14];
/** Different tiles of a round, as far as the zoom has so many. */
const tilesOfRound = 12;
const edits = 20;
const mostRounds = 3;
const fillMs = 3_600_000;

export async function largeLayers({ world, size }: Context): Promise<Row[]> {
  const rounds = { rounds: Math.min(mostRounds, size.rounds), most: Math.min(mostRounds, size.most) };
  const db = openDatabase({
    url: world.config().databaseUrl,
    connections: 2,
    statementTimeoutMs: fillMs,
    log: world.log,
  });
  const server = await startServer(world.config({ redisPrefix: "bench-large:" }), world.log);
  try {
    return await withCatalogue(world, async (catalogue) => {
      const rows: Row[] = [];
      for (const { kind, share, shape } of kinds) {
        const count = Math.ceil(size.large * share);
        const large = await layerOf(catalogue, db, { kind, shape, count });
        const small = await layerOf(catalogue, db, { kind, shape, count: Math.ceil(count / 10) });
        const name = `${count.toLocaleString("en")} ${kind}s, beside a tenth`;
        for (const zoom of zooms) {
          const cold = (side: LargeLayer) => async (): Promise<Fetched> => {
            await world.forgetTiles();
            return fetchAll(await side.urls(server.url, zoom), 1);
          };
          const measure = `cold tile at zoom ${zoom} of ${name}`;
          rows.push(
            ...(await compare(
              rounds,
              cold(large),
              [cold(small)],
              [{ measure, unit: "p95, ms", of: ({ p95Ms }) => p95Ms, less: true }],
            )),
          );
        }
        const edited = (side: LargeLayer) => async () => {
          const begun = performance.now();
          for (let edit = 0; edit < edits; edit++) await side.edit();
          return (performance.now() - begun) / edits;
        };
        const shown = (side: LargeLayer) => async () => {
          const [top] = await side.urls(server.url, 0);
          await fetchOne(top!);
          await side.edit();
          const begun = performance.now();
          await fetchOne(top!);
          return performance.now() - begun;
        };
        for (const [what, of] of Object.entries({ edit: edited, "tile of zoom 0 after an edit": shown }))
          rows.push(
            ...(await compare(
              rounds,
              of(large),
              [of(small)],
              [{ measure: `${what} of ${name}`, unit: "ms", of: (ms: number) => ms, less: true }],
            )),
          );
      }
      return rows;
    });
  } finally {
    await server.stop();
    await db.close();
  }
}

interface LargeLayer {
  /** Addresses of tiles in which objects lie, each in a metatile of its own. */
  urls(server: string, zoom: number): Promise<string[]>;
  /** Moves an object. */
  edit(): Promise<void>;
}

/** A map with a layer of so many objects, most of them in towns; what an earlier run has made is used again. */
async function layerOf(
  { project, map }: Catalogue,
  db: Database,
  { kind, shape, count }: { readonly kind: GeometryKind; readonly shape: string; readonly count: number },
): Promise<LargeLayer> {
  const code = `large-${kind.toLowerCase()}-${count}`;
  const present = await db.query("select from map where project_id = $1 and code = $2", [project.id, code]);
  if (present.length === 0) {
    const { id } = await createLayer(db, await createMap(db, project.id, { code }), {
      code: "l",
      geometryKind: kind,
    });
    await db.execute(
      `insert into ${layerTable(id)} (geom) select st_setsrid(${shape}, 4326) from (
         select case when i % 10 < 7 then hashint4(town) % 120000 / 1000.0 + reach * cos(angle) else hashint8(i + 1) % 120000 / 1000.0 end as x,
           case when i % 10 < 7 then hashint4(town + 5000) % 50000 / 1000.0 + reach * sin(angle) else hashint8(i + 2) % 50000 / 1000.0 end as y
         from (select i, floor(1000 * (hashint8(i + 3) / 4294967296.0 + 0.5) ^ 3)::int as town, hashint8(i + 4) / 683565275.0 as angle,
             0.3 * (hashint8(i + 5) / 4294967296.0 + 0.5) ^ 2 as reach
           from generate_series(1, $1::bigint) i offset 0) place) placed`,
      [count],
    );
    await db.execute(`analyze ${layerTable(id)}`);
    await db.query("select generalize_layer($1)", [id]);
    await db.query("select note_crowds($1)", [id]);
  }
  const table = layerTable((await map(code)).layers.get("l")!.id);
  let edited = 0;
  const places = await db.query<{ x: number; y: number }>(
    `select st_xmin(geom_3857) as x, st_ymin(geom_3857) as y from ${table} where svc_id % $1 = 0 limit 1000`,
    [Math.max(1, Math.floor(count / 1000))],
  );
  return {
    urls: async (server, zoom) =>
      tilesOf(places, zoom).map(
        ({ z, x, y }) => `${server}/tms/${projectCode}/${code}/${z}/${x}/${y}.png?base=0`,
      ),
    edit: async () => {
      await db.execute(`update ${table} set geom = st_translate(geom, 0.0001, 0) where svc_id = $1`, [
        1 + ((++edited * 7919) % count),
      ]);
    },
  };
}

function tilesOf(places: readonly { readonly x: number; readonly y: number }[], z: number): TileCoord[] {
  const metatiles = new Map<string, TileCoord>();
  const tileOf = (metres: number) => Math.floor(((metres + mercatorHalf) / (2 * mercatorHalf)) * 2 ** z);
  for (const place of places) {
    const [x, y] = [tileOf(place.x), tileOf(-place.y)];
    const key = `${x >> 2}/${y >> 2}`;
    if (!metatiles.has(key) && metatiles.size < tilesOfRound) metatiles.set(key, { z, x, y });
  }
  return [...metatiles.values()];
}
