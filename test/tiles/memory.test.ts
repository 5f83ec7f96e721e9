import t from "tap";
import { TileMemory } from "../../src/tiles/memory.js";
import type { Tile } from "../../src/tiles/tile.js";

/** What tiles of maps with many layers take: each knows a version of each layer. */

const tile = (versions: readonly number[], bytes = 100): Tile => ({
  ...{ bytes: new Uint8Array(bytes), hash: "h", solid: undefined, versions },
});
const versionsOf = (layers: number, first = 0) => Array.from({ length: layers }, (_, at) => first + at + 0.5);

t.test("versions are counted, so that tiles of a thousand layers take no more than others", async (t) => {
  const memory = new TileMemory(1_000_000);
  for (let at = 0; at < 1_000; at++) memory.set(`t${at}`, tile(versionsOf(1_000, at)));
  const { tiles, bytes } = memory.counts();
  t.ok(bytes <= 1_000_000, `${bytes} bytes`);
  t.ok(tiles >= 100 && tiles <= 125, `${tiles} tiles of 8 kB of versions each`);
  t.equal(memory.get("t0"), undefined);
  t.ok(memory.get("t999"), "the last ones are there");
});

t.test("versions that tiles share are counted once", async (t) => {
  const memory = new TileMemory(1_000_000);
  const shared = versionsOf(1_000);
  for (let at = 0; at < 1_000; at++) memory.set(`t${at}`, tile(shared));
  t.match(memory.counts(), { tiles: 1_000, bytes: 1_000 * 500 + 8_032 });
});

t.test("later versions take the place of those that nobody has any more", async (t) => {
  const memory = new TileMemory(1_000_000);
  const [first, second] = [versionsOf(1_000), versionsOf(1_000, 7)];
  const [one, other] = [memory.set("one", tile(first)), memory.set("other", tile(first))];
  memory.raise(one, second);
  t.equal(one.versions, second);
  t.equal(other.versions, first);
  t.equal(memory.counts().bytes, 2 * 500 + 2 * 8_032);
  memory.raise(other, second);
  memory.raise(other, second);
  t.equal(memory.counts().bytes, 2 * 500 + 8_032);
  memory.set("one", tile(second, 200));
  memory.set("other", other);
  t.equal(memory.counts().bytes, 600 + 500 + 8_032);
  memory.raise(one, first);
  t.equal(memory.counts().bytes, 600 + 500 + 8_032, "what is in memory no more does not count");
  memory.clear();
  t.same(memory.counts(), { tiles: 0, bytes: 0 });
});
