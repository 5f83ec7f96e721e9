import { Agent } from "node:http";
import { metatileOf } from "../../src/geo/tile.js";
import type { Context } from "../context.js";
import { fetchOne } from "../fetch.js";
import { tilePath } from "../import.js";
import type { Row } from "../report.js";
import { startServer } from "../server.js";

/** A thousand people who ask for one metatile that nobody has yet, at the same moment. */

const requests = 1000;

export async function oneRender({ world, tiles }: Context): Promise<Row[]> {
  const server = await startServer(world.config({ redisPrefix: "bench-once:" }), world.log);
  const agent = new Agent({ keepAlive: true, maxSockets: requests, maxFreeSockets: requests });
  const all = (path: (index: number) => string) =>
    Promise.all(
      Array.from({ length: requests }, (_, index) => fetchOne(server.url + path(index), { agent })),
    );
  try {
    await all(() => "/health/live"); // opens the connections
    const before = await renders(server.url);
    // Zoom 2 and up have metatiles of 4 × 4 tiles.
    const { origin, count } = metatileOf(tiles(1, 10)[0]!, 4);
    await all((index) => {
      const place = index % count ** 2;
      return tilePath({
        z: origin.z,
        x: origin.x + (place % count),
        y: origin.y + Math.floor(place / count),
      });
    });
    const drawn = (await renders(server.url)) - before;
    return [
      {
        measure: `renders for ${requests} requests of one cold metatile`,
        unit: "renders",
        ours: drawn,
        reference: 1,
        // None at all is as wrong as two.
        ratio: drawn === 1 ? 1 : 0,
        gate: 1,
        exact: true,
      },
    ];
  } finally {
    agent.destroy();
    await server.stop();
  }
}

async function renders(url: string): Promise<number> {
  const metrics = (await fetchOne(`${url}/metrics`)).toString();
  return Number(/^mapwright_render_seconds_count (\S+)$/m.exec(metrics)?.[1] ?? 0);
}
