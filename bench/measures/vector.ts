import { isDeepStrictEqual } from "node:util";
import { VectorTile } from "@mapbox/vector-tile";
import { PbfReader } from "pbf";
import { isId } from "../../src/catalog/state.js";
import { hasValues } from "../../src/column-types/column-types.js";
import type { TileCoord } from "../../src/geo/tile.js";
import { startNode } from "../../src/node.js";
import { startChild } from "../child.js";
import type { Context } from "../context.js";
import { cpuSeconds } from "../cpu.js";
import { fetchEach, fetchOne } from "../fetch.js";
import { mapCode } from "../import.js";
import { load } from "../load.js";
import type { BareRequest } from "../reference/http.js";
import type { BareMvtRequest } from "../reference/mvt.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import { type Server, startServer } from "../server.js";
import { throughput, throughputFigures } from "../throughput.js";
import type { World } from "../world.js";

/**
 * Vector tiles that nobody has, beside a bare handler that runs `ST_AsMVT` over the same tables, with and without
 * compressing what comes, and keeps nothing; and one that is in the address cache, beside a bare handler that sends the same bytes. (Martin and
 * tegola are on neither npm nor Debian.)
 *
 * Above the zooms with generalised tables both read the same geometry, so those are measured by themselves too.
 */

/** Requests that wait at once, as many as a viewer makes. */
const concurrency = 8;
const connections = 50;
const headers = { "accept-encoding": "gzip" };

export async function vectorTiles(context: Context): Promise<Row[]> {
  const { world, tiles, size } = context;
  const config = world.config({ redisPrefix: "bench-vector:" });
  const all = tiles(size.coldTiles, 9);
  // More of them, as each takes less time.
  const fine = tiles(size.coldTiles * 30, 11).filter(({ z }) => z >= 10);
  const server = await startServer(config, world.log);
  const bare = startChild<BareMvtRequest, { port: number }>("reference/mvt.js");
  try {
    const { port } = await bare.ask({
      databaseUrl: config.databaseUrl,
      connections: Math.floor(config.databaseConnections / 4),
      statement: await bareStatement(world),
    });
    const reference = `http://127.0.0.1:${port}`;
    await sameTiles(server.url, reference, fine.slice(0, 20));
    const rows: Row[] = [];
    for (const [name, coords] of [
      ["cold vector tile", all],
      ["cold vector tile, zoom 10 and 11", fine.slice(0, 4 * size.coldTiles)],
    ] as const) {
      const side =
        (pids: readonly number[], address: (coord: TileCoord) => string, sent: Record<string, string>) =>
        () =>
          throughput(
            () => cpuSeconds(pids),
            async () => ({
              count: coords.length,
              seconds: await fetchEach(coords.map(address), { concurrency, headers: sent }),
            }),
          );
      const ours = side(
        [server.pid, world.postgresPid, world.redisPid],
        (coord) => server.url + vectorPath(coord),
        headers,
      );
      const [packed, plain] = [headers, {}].map((sent) =>
        side([bare.pid, world.postgresPid], (coord) => reference + barePath(coord), sent),
      );
      rows.push(
        ...(await compare(
          size,
          async () => {
            await world.forgetTiles();
            return ours();
          },
          [packed!, plain!],
          [
            ...throughputFigures(`${name} (${coords.length} tiles)`, "tiles", {
              perCpuSecond: 0.9,
              perSecond: 0.9,
            }),
            ...throughputFigures("  beside a handler that does not compress", "tiles").map((figure) => ({
              ...figure,
              reference: 1,
            })),
          ],
        )),
      );
    }
    return [...rows, ...(await cachedTile(context, server, all))];
  } finally {
    await Promise.all([bare.stop(), server.stop()]);
  }
}

async function cachedTile({ size }: Context, server: Server, coords: readonly TileCoord[]): Promise<Row[]> {
  const found = [];
  for (const coord of coords.slice(0, 100)) {
    const url = server.url + vectorPath(coord);
    const answer = await fetch(url, { headers });
    // Compressed, as it is sent.
    found.push({ url, bytes: Number(answer.headers.get("content-length")) });
    await answer.arrayBuffer();
  }
  found.sort((one, other) => one.bytes - other.bytes);
  const { url } = found[found.length >> 1]!;
  const body = await fetchOne(url, { headers });
  const bare = startChild<BareRequest, { port: number }>("reference/http.js");
  try {
    // The same bytes: the load generator decodes what it gets, for which some bytes take it ten times as long.
    const { port } = await bare.ask({ body });
    const side = (pid: number, address: string) => () =>
      load(pid, { url: address, connections, seconds: size.seconds, status: 200, headers });
    return await compare(
      size,
      side(server.pid, url),
      [side(bare.pid, `http://127.0.0.1:${port}/bytes${new URL(url).pathname}`)],
      throughputFigures(`cached vector tile (${(body.length / 1000).toFixed(1)} kB)`, "requests", {
        perCpuSecond: 0.85,
      }),
    );
  } finally {
    await bare.stop();
  }
}

const vectorPath = ({ z, x, y }: TileCoord): string => `/tms/${mapCode}/${mapCode}/${z}/${x}/${y}.mvt`;
const barePath = ({ z, x, y }: TileCoord): string => `/${z}/${x}/${y}.mvt`;

/** The statement that somebody would write for these layers by hand. */
async function bareStatement(world: World): Promise<string> {
  const node = await startNode(world.config(), world.log);
  try {
    const { layers } = await node.services.catalog.map(mapCode, mapCode);
    const tile = "st_tileenvelope($1, $2, $3)";
    return `select ${[...layers.values()]
      .map(({ id, code, columns }) => {
        const fields = columns
          .filter((column) => hasValues(column) && !isId(column))
          .map((column) => `, ${column.physical} as "${column.code}"`);
        return `(select st_asmvt(tile, '${code}', 4096, 'geom', 'svc_id') from (
          select svc_id, st_asmvtgeom(geom_3857, ${tile}, 4096, 64, true) as geom${fields.join("")}
          from layers.l${id} where geom_3857 && st_tileenvelope($1, $2, $3, margin => 64.0 / 4096)) tile)`;
      })
      .join(" || ")} as tile`;
  } finally {
    await node.stop(0);
  }
}

/** @throws Error when the two give other objects or attributes */
async function sameTiles(ours: string, reference: string, coords: readonly TileCoord[]): Promise<void> {
  for (const coord of coords) {
    const [mine, theirs] = await Promise.all(
      [ours + vectorPath(coord), reference + barePath(coord)].map(async (url) =>
        objectsOf(new Uint8Array(await (await fetch(url)).arrayBuffer())),
      ),
    );
    if (!isDeepStrictEqual(mine, theirs))
      throw new Error(`${vectorPath(coord)} holds other objects than the bare handler's.`);
  }
}

const objectsOf = (tile: Uint8Array) =>
  Object.values(new VectorTile(new PbfReader(tile)).layers)
    .flatMap((layer) =>
      Array.from({ length: layer.length }, (_, index) => {
        const { id, properties } = layer.feature(index);
        return { name: layer.name, id: id ?? 0, properties };
      }),
    )
    .sort((one, other) => (one.name === other.name ? one.id - other.id : one.name < other.name ? -1 : 1));
