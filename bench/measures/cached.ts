import { flipY, type TileCoord } from "../../src/geo/tile.js";
import { startChild } from "../child.js";
import type { Context } from "../context.js";
import { fetchOne } from "../fetch.js";
import { mapCode, tilePath } from "../import.js";
import { load } from "../load.js";
import type { BareRequest } from "../reference/http.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import { startServer } from "../server.js";
import { throughputFigures } from "../throughput.js";

/**
 * A public tile that is in the address cache, and the 304 for it, beside a bare handler of the same HTTP library.
 *
 * The gates are on requests per CPU second of the server. The load generator is slower than either server and
 * shares the machine with it, so requests a second would mostly tell the generator's own speed, and come out equal.
 */

const connections = 50;

export async function cachedTile({ world, tiles, size }: Context): Promise<Row[]> {
  const server = await startServer(world.config(), world.log);
  const bare = startChild<BareRequest, { port: number }>("reference/http.js");
  try {
    const { path, body, etag } = await typicalTile(server.url, tiles(100, 7));
    const { port } = await bare.ask({ body });
    const url = `${server.url}${path}`;
    const side = (pid: number, address: string, status: number, headers?: Record<string, string>) => () =>
      load(pid, {
        url: address,
        connections,
        seconds: size.seconds,
        status,
        ...(headers ? { headers } : {}),
      });
    const reference = (kind: "bytes" | "empty") => `http://127.0.0.1:${port}/${kind}${path}`;
    const condition = { "if-none-match": etag };

    return [
      ...(await compare(
        size,
        side(server.pid, url, 200),
        [side(bare.pid, reference("bytes"), 200)],
        throughputFigures(`cached tile (${(body.length / 1000).toFixed(1)} kB)`, "requests", {
          perCpuSecond: 0.85,
        }),
      )),
      ...(await compare(
        size,
        side(server.pid, url, 304, condition),
        [side(bare.pid, reference("empty"), 200, condition)],
        throughputFigures("cached tile, 304", "requests", { perCpuSecond: 0.9 }),
      )),
    ];
  } finally {
    await Promise.all([bare.stop(), server.stop()]);
  }
}

/** The tile of middling size: its TMS address below `url`, its bytes and their ETag. */
export async function typicalTile(url: string, coords: readonly TileCoord[]) {
  const tiles = [];
  for (const coord of coords) tiles.push({ coord, body: await fetchOne(url + tilePath(coord)) });
  tiles.sort((one, other) => one.body.length - other.body.length);
  const { coord, body } = tiles[tiles.length >> 1]!;
  const path = `/tms/${mapCode}/${mapCode}/?x=${coord.x}&y=${flipY(coord.z, coord.y)}&z=${coord.z}&base=0`;
  const etag = (await fetch(url + path)).headers.get("etag") ?? "";
  return { path, body, etag };
}
