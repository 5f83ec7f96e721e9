import t from "tap";
import { addChangeKeys, mostNamed, type TileContent, tileKeys } from "../../src/cdn/keys.js";
import { boxesMeet, growBox } from "../../src/geo/envelope.js";
import {
  type MercatorBox,
  maxZoom,
  mercatorHalf,
  metatileOf,
  type TileCoord,
  tileBox,
  tileMetres,
} from "../../src/geo/tile.js";
import { randomNumbers } from "../support/random.js";

/** Each tile that a change may have made old has one of the change's keys. */

const next = randomNumbers(20);
const random = () => next() / 2 ** 32;
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;

function randomCoord(near?: readonly [x: number, y: number]): TileCoord {
  const z = Math.floor(random() * (maxZoom + 1));
  const side = 2 ** z;
  if (!near) return { z, x: Math.floor(random() * side), y: Math.floor(random() * side) };
  const column = Math.floor(((near[0] + mercatorHalf) / (2 * mercatorHalf)) * side + 4 * random() - 2);
  const row = Math.floor(((mercatorHalf - near[1]) / (2 * mercatorHalf)) * side + 4 * random() - 2);
  const within = (index: number) => Math.min(side - 1, Math.max(0, index));
  return { z, x: within(column), y: within(row) };
}

function randomContent(layers: number): TileContent {
  return {
    projectId: 3,
    maps: [
      { id: 70, layers: Array.from({ length: layers }, (_, index) => 100 + index) },
      { id: 4, layers: [5, 6] },
    ],
    whole: random() < 0.1 ? [100] : [],
    reachPixels: pick([1, 8, 12, 16, 17, 40, 64, 65, 200, 256]),
    isBound: random() < 0.3,
  };
}

/** Where a changed object counts, as the caches of a node see it. */
function dependentBox(
  { reachPixels, isBound }: TileContent,
  coord: TileCoord,
  metatileSide: number,
): MercatorBox {
  const { origin, count } = isBound ? metatileOf(coord, metatileSide) : { origin: coord, count: 1 };
  return growBox(tileBox(origin, count), (reachPixels * tileMetres(coord.z)) / 256);
}

/** Copies of the world beside each other. */
const world = 2 * mercatorHalf;
const copies = ([xmin, ymin, xmax, ymax]: MercatorBox): MercatorBox[] =>
  [-1, 0, 1].map((copy) => [xmin + copy * world, ymin, xmax + copy * world, ymax]);

function randomBox(): MercatorBox {
  // Points, small things, and things as large as the world; some beyond the edge of the world.
  const width = random() < 0.4 ? 0 : world * 4 ** -(12 * random());
  const height = random() < 0.4 ? 0 : world * 4 ** -(12 * random());
  const x = (random() < 0.1 ? 1.2 : 1) * mercatorHalf * (2 * random() - 1);
  const y = mercatorHalf * (2 * random() - 1);
  return [x, y, x + width, y + height];
}

t.test("a change has a key of each tile that it may have made old", async (t) => {
  let old = 0;
  let kept = 0;
  const missed: unknown[] = [];
  for (let round = 0; round < 4_000; round++) {
    const isWide = random() < 0.3;
    const content = randomContent(isWide ? mostNamed + 1 : 1 + Math.floor(random() * mostNamed));
    const boxes = random() < 0.5 ? [randomBox()] : [randomBox(), randomBox()];
    const keys = new Set<string>();
    addChangeKeys(keys, { layer: 100, map: 70, isWide, area: boxes.flat() });
    for (let attempt = 0; attempt < 10; attempt++) {
      const coord = randomCoord([pick(boxes)[0], pick(boxes)[1]]);
      const depends = dependentBox(content, coord, pick([1, 2, 4]));
      const isOld = boxes.some((box) => copies(box).some((copy) => boxesMeet(copy, depends)));
      const isFound = tileKeys(content, coord).some((key) => keys.has(key));
      if (isOld && !isFound) missed.push({ content, coord, boxes });
      if (isOld) old++;
      else if (!isFound) kept++;
    }
  }
  t.same(missed.slice(0, 3), []);
  t.ok(old > 5_000, `${old} tiles were old`);
  t.ok(kept > 2_000, `${kept} were kept`);
});

t.test("an object that moves drops few tiles beside those that it touches", async (t) => {
  let old = 0;
  let dropped = 0;
  const content: TileContent = {
    ...randomContent(5),
    ...{ whole: [], reachPixels: 8, isBound: false },
  };
  for (let round = 0; round < 200; round++) {
    const [x, y] = [1e7 * (2 * random() - 1), 1e7 * (2 * random() - 1)] as const;
    const keys = new Set<string>();
    addChangeKeys(keys, { layer: 102, map: 70, isWide: false, area: [x, y, x + 10, y + 10] });
    for (let z = 0; z <= 14; z++) {
      const side = 2 ** z;
      const column = Math.floor(((x + mercatorHalf) / world) * side);
      const row = Math.floor(((mercatorHalf - y) / world) * side);
      for (let dx = -3; dx <= 3; dx++) {
        for (let dy = -3; dy <= 3; dy++) {
          const coord = { z, x: column + dx, y: row + dy };
          if (coord.x < 0 || coord.y < 0 || coord.x >= side || coord.y >= side) continue;
          if (boxesMeet([x, y, x + 10, y + 10], dependentBox(content, coord, 1))) old++;
          if (tileKeys(content, coord).some((key) => keys.has(key))) dropped++;
        }
      }
    }
  }
  t.ok(dropped >= old);
  t.ok(dropped <= 1.2 * old, `${dropped} dropped, ${old} old`);
});

t.test("a large area is told by few keys, and all that is in it is found", async (t) => {
  const keys = new Set<string>();
  addChangeKeys(keys, { layer: 100, map: 70, isWide: false, area: [-1.9e7, -1e7, 1.9e7, 1e7] });
  t.ok(keys.size < 1_500, `${keys.size} keys`);
  const content = { ...randomContent(3), whole: [] };
  for (let attempt = 0; attempt < 500; attempt++) {
    const coord = randomCoord([1.8e7 * (2 * random() - 1), 0.9e7 * (2 * random() - 1)]);
    const [xmin, ymin, xmax, ymax] = tileBox(coord);
    if (xmax < -1.9e7 || xmin > 1.9e7 || ymax < -1e7 || ymin > 1e7) continue;
    t.ok(
      tileKeys(content, coord).some((key) => keys.has(key)),
      JSON.stringify(coord),
    );
  }
});

t.test("layers and maps are told as a whole", async (t) => {
  const content = { ...randomContent(2), whole: [101] };
  const coord = { z: 9, x: 100, y: 200 };
  const tile = tileKeys(content, coord);
  const keysOf = (layer: number, area: number[] | null, isWide = false) => {
    const keys = new Set<string>();
    addChangeKeys(keys, { layer, map: 70, isWide, area });
    return keys;
  };
  const meet = (keys: Set<string>, others: readonly string[]) => others.some((key) => keys.has(key));
  t.ok(tile.includes("p3") && tile.includes("m70") && tile.includes("m4"));
  t.ok(meet(keysOf(100, null), tile));
  t.notOk(meet(keysOf(102, null), tile), "a layer that it does not show");
  t.notOk(meet(keysOf(100, []), tile), "nothing that is seen changed");
  t.ok(meet(keysOf(101, []), tile), "its statistics are shown");
  const many = tileKeys({ ...content, whole: [101, 102, 103, 104, 105] }, coord);
  t.ok(meet(keysOf(105, []), many), "those of many layers");
  const wide = tileKeys(randomContent(mostNamed + 1), coord);
  t.notOk(wide.some((key) => key.startsWith("l1")));
  t.ok(meet(keysOf(100, null, true), wide));
});

t.test("the keys of a tile take less than 1 kB", async (t) => {
  for (const [round, layers] of [mostNamed, mostNamed + 1, 500, 4, 5, 6].entries()) {
    const ids = Array.from({ length: layers }, (_, index) => 1_234_567 + index);
    const keys = tileKeys(
      {
        projectId: 123_456,
        maps: [
          { id: 1_234_000, layers: ids },
          { id: 1_233_000, layers: ids.slice(0, mostNamed) },
        ],
        whole: ids.slice(0, round),
        reachPixels: 256,
        isBound: true,
      },
      { z: 22, x: 2 ** 22 - 1, y: 2 ** 22 - 1 },
    );
    const { length } = keys.join(" ");
    t.ok(length < 1_000, `${layers} layers: ${length} bytes`);
    t.notOk(keys.some((key) => /[\s,]/.test(key) || key !== key.toLowerCase()));
  }
});
