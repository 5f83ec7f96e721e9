import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PMTiles, type Source, tileIdToZxy, zxyToTileId } from "pmtiles";
import t from "tap";
import { hilbertId, hilbertTile } from "../../src/geo/hilbert.js";
import type { TileCoord } from "../../src/geo/tile.js";
import { countTiles, type TileArea, tileSquares } from "../../src/geo/tile-area.js";
import { encodeRecords } from "../../src/hosts/tile-index.js";
import { writePmtiles } from "../../workers/transfer/tiles/pmtiles.js";
import { directoriesOf, Entries, maxRootBytes } from "../../workers/transfer/tiles/pmtiles-directory.js";

/** The order of tiles in PMTiles, and archives that hold many: read by the format's own reader. */

const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

t.test("tiles have the numbers of the format", async (t) => {
  const ids = Array.from({ length: 1_365 }, (_, id) => id);
  t.same(
    ids.map((id) => hilbertId(...tileIdToZxy(id))),
    ids,
  );
  t.same(
    ids.slice(341).map((_, place) => hilbertTile(5, place)),
    ids.slice(341).map((id) => tileIdToZxy(id).slice(1)),
  );
  for (const [z, x, y] of [
    [12, 3_423, 1_763],
    [18, 137_481, 89_000],
    [22, 4_194_303, 0],
    [22, 2_199_701, 1_424_000],
  ] as const) {
    t.equal(hilbertId(z, x, y), zxyToTileId(z, x, y));
    t.same(hilbertTile(z, zxyToTileId(z, x, y) - zxyToTileId(z, ...hilbertTile(z, 0))), [x, y]);
  }
});

const tilesOf = (area: TileArea, z: number): TileCoord[] => [...tileSquares(area, z)].flat();
const area = (west: number, south: number, east: number, north: number, marginPixels = 0): TileArea => ({
  box: { west, south, east, north },
  marginPixels,
});

t.test("the tiles of a box come in that order, each once, in squares that are drawn together", async (t) => {
  const box = area(5, 40, 60, 70);
  for (const z of [0, 1, 2, 3, 7, 8]) {
    const ids = tilesOf(box, z).map(({ x, y }) => hilbertId(z, x, y));
    t.same(
      ids,
      [...ids].sort((one, other) => one - other),
      `zoom ${z}`,
    );
    t.equal(new Set(ids).size, countTiles(box, z, z));
    const squares = [...tileSquares(box, z)].map(
      (square) => new Set(square.map(({ x, y }) => `${Math.floor(x / 4)} ${Math.floor(y / 4)}`)),
    );
    t.ok(squares.every(({ size }) => size === 1));
  }
  t.equal(countTiles(area(-180, -90, 180, 90), 0, 5), 1_365);
});

t.test("a box has the tiles that it touches, and no others", async (t) => {
  const columns = (box: TileArea, z: number) =>
    [...new Set(tilesOf(box, z).map(({ x }) => x))].sort((one, other) => one - other);
  t.same(columns(area(0, 0, 90, 10), 2), [2], "an edge between two tiles is the one's that it closes");
  t.same(tilesOf(area(0, -66.51326044311186, 90, 66.51326044311186), 2).length, 2);
  t.same(columns(area(10, 10, 10, 10), 3), [4], "a point");
  t.same(columns(area(170, 0, -170, 10), 4), [0, 15], "across the antimeridian");
  t.same(columns(area(170, 0, 190, 10), 4), [0, 15], "in the next copy of the world");
  t.same(columns(area(350, 0, 370, 10), 4), [7, 8], "a turn away");
  t.same(columns(area(-500, 0, 500, 10), 2), [0, 1, 2, 3]);
  t.same(tilesOf(area(0, 86, 1, 89), 3), [{ z: 3, x: 4, y: 0 }], "beyond the square");
  t.same(columns(area(1, 1, 2, 2, 32), 5), [15, 16], "with a margin");
  t.same(columns(area(-180, 1, -179, 2, 32), 5), [0, 31]);
});

/** An archive as its reader gets it. */
const archive = (bytes: Buffer): PMTiles => {
  const source: Source = {
    getKey: () => "archive",
    getBytes: async (offset, length) => ({
      data: Uint8Array.from(bytes.subarray(offset, offset + length)).buffer,
    }),
  };
  return new PMTiles(source);
};

const facts = {
  name: "Карта",
  description: "",
  attribution: "© them",
  type: "overlay",
  version: "7",
  minZoom: 0,
  maxZoom: 8,
  bounds: [-180, -85, 180, 85],
  center: [10.5, -20.25, 3],
} as const;

let made = 0;

/** Tiles of a length of their own each, but for those that share the content of `shared`. */
async function write(coords: readonly TileCoord[], shared: (index: number) => boolean) {
  const contents: Buffer[] = [Buffer.from("shared")];
  let bytes = contents[0]!.length;
  const records = coords.map((coord, index) => {
    if (shared(index)) return { ...coord, offset: 0, length: 6 };
    const content = Buffer.from(`tile ${coord.z}/${coord.x}/${coord.y}`.padEnd((index * 7919) % 997));
    contents.push(content);
    bytes += content.length;
    return { ...coord, offset: bytes - content.length, length: content.length };
  });
  const name = join(folder, `${++made}`);
  writeFileSync(`${name}.contents`, Buffer.concat(contents));
  writeFileSync(`${name}.index`, encodeRecords(records));
  const own = mkdtempSync(join(folder, "out-"));
  const paths = writePmtiles({
    format: "pmtiles",
    facts,
    contents: `${name}.contents`,
    index: `${name}.index`,
    count: contents.length,
    bytes,
    folder: own,
    maxBytes: 1e9,
  });
  return Buffer.concat(paths.map((path) => readFileSync(path)));
}

const worldAt = (z: number) => tilesOf(area(-180, -90, 180, 90), z);

t.test("an archive of many tiles has leaf directories, and every tile is found", async (t) => {
  const coords = [0, 1, 2, 3, 4, 5, 6, 7].flatMap(worldAt);
  t.equal(coords.length, 21_845);
  const bytes = await write(coords, (index) => index === 0);
  const tiles = archive(bytes);
  const header = await tiles.getHeader();
  t.ok(header.rootDirectoryOffset + header.rootDirectoryLength < 16_384);
  t.ok(header.leafDirectoryLength! > 0);
  t.match(header, {
    specVersion: 3,
    clustered: true,
    numAddressedTiles: 21_845,
    numTileEntries: 21_845,
    numTileContents: 21_845,
    tileType: 2,
    tileCompression: 1,
    minZoom: 0,
    maxZoom: 8,
    minLon: -180,
    maxLat: 85,
    centerZoom: 3,
    centerLon: 10.5,
    centerLat: -20.25,
  });
  t.equal(header.tileDataOffset + header.tileDataLength!, bytes.length);
  for (const { z, x, y } of coords.filter((_, index) => index % 997 === 5 || index > 21_840)) {
    const found = await tiles.getZxy(z, x, y);
    t.equal(Buffer.from(found!.data).toString().trim(), `tile ${z}/${x}/${y}`);
  }
  t.equal(await tiles.getZxy(8, 0, 0), undefined);
  t.same(await tiles.getMetadata(), {
    name: "Карта",
    attribution: "© them",
    type: "overlay",
    version: "7",
    format: "png",
  });
});

t.test("tiles in a row that share their content are one entry", async (t) => {
  const coords = worldAt(4);
  const bytes = await write(coords, (index) => index < 100 || index > 200);
  const tiles = archive(bytes);
  t.match(await tiles.getHeader(), {
    numAddressedTiles: 256,
    numTileEntries: 103,
    numTileContents: 102,
    leafDirectoryLength: 0,
  });
  for (const index of [0, 99, 100, 200, 201, 255]) {
    const { z, x, y } = coords[index]!;
    const expected = index < 100 || index > 200 ? "shared" : `tile ${z}/${x}/${y}`;
    t.equal(
      Buffer.from((await tiles.getZxy(z, x, y))!.data)
        .toString()
        .trim(),
      expected,
    );
  }
});

t.test("however many entries there are, the root is small enough", async (t) => {
  const entries = new Entries();
  let offset = 0;
  let id = 0;
  // Numbers that cannot be compressed.
  for (let index = 0, random = 1; index < 300_000; index++) {
    random = (random * 48_271) % 2_147_483_647;
    id += 1 + (random % 1_000_000);
    entries.add(id, offset, 1 + (random % 100_003));
    offset += 1 + (random % 100_003);
  }
  const { root, leaves } = directoriesOf(entries);
  t.ok(root.length <= maxRootBytes);
  t.ok(leaves.length > 1e6);
});
