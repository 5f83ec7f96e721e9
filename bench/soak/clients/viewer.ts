import { type City, tilesPath } from "../city.js";
import type { Client } from "../client.js";
import type { Random } from "../random.js";

/** Looks at tiles: some that everybody looks at, and some that were not drawn yet. */

const cachedTiles = 16;

export async function view(client: Client, random: Random, city: City): Promise<void> {
  const kind = random.next();
  if (kind < 0.6) {
    const index = random.whole(0, cachedTiles - 1);
    const path = `${tilesPath}3/${2 + (index % 4)}/${2 + (index >> 2)}.png?layers=${city.placesId}&base=0`;
    await client.ask({ as: "tile, cached", path });
    return;
  }
  const z = random.whole(4, 9);
  const side = 2 ** z;
  const x = random.whole(side >> 2, (3 * side) >> 2);
  const y = random.whole(side >> 2, (3 * side) >> 2);
  const [as, path] =
    kind < 0.85
      ? ["tile, drawn", `${tilesPath}${z}/${x}/${y}.png?base=0`]
      : ["vector tile", `${tilesPath}${z}/${x}/${y}.mvt`];
  await client.ask({ as, path });
}
