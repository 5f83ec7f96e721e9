import { type Attack, again, send, type Target } from "./attack.js";

/** Tiles that nobody has drawn yet. */

/** A tile that hardly anybody asked for before. */
function coldTile({ random, victim }: Target): string {
  const z = random.whole(8, 18);
  const side = 2 ** z;
  return `${victim.tiles}${z}/${random.whole(0, side - 1)}/${random.whole(0, side - 1)}.png?base=0`;
}

const coldTiles: Attack = {
  name: "cold-tiles",
  clients: 24,
  run: (at) => again(at, async () => (await send(at, coldTile(at))).status === 200),
};

/** The same pictures under ever new addresses. */
const madeUpLanguages: Attack = {
  name: "made-up-languages",
  clients: 12,
  run: (at) =>
    again(at, async () => {
      const { random, victim } = at;
      const lng = `x${random.whole(0, 1e9).toString(36)}`;
      const path = `${victim.tiles}4/${random.whole(4, 11)}/${random.whole(4, 11)}.png?lng=${lng}`;
      return (await send(at, path)).status === 200;
    }),
};

/** All tiles of a map as a file, again and again. */
const tileExports: Attack = {
  name: "tile-exports",
  clients: 3,
  run: (at) =>
    again(at, async () => {
      const { random, victim } = at;
      const own = random.next() < 0.5;
      const format = random.one(["pmtiles", "mbtiles"]);
      const path = `${own ? victim.own.map : victim.map}export/?format=${format}&maxzoom=${random.whole(5, 9)}&base=0`;
      return (await send(at, path, own ? { token: victim.own.token } : {})).status === 200;
    }),
};

export const tiles: readonly Attack[] = [coldTiles, madeUpLanguages, tileExports];
