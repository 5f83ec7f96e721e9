import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Config } from "../config.js";
import { reasonOf } from "../errors.js";
import { mercatorHalf } from "../geo/tile.js";
import { startRenderHost } from "../hosts/render.js";
import { createLog } from "../log.js";
import { removeQuietly } from "../remove-quietly.js";
import { openBlobs } from "../storage/open-blobs.js";
import { mapSource } from "../style/mapnik-xml.js";
import { rasterDatasources, rasterStyle } from "../tiles/raster-drawing.js";
import { bad, type Check, good } from "./check.js";

/** The check of `mapwright doctor` that draws a raster layer as the server does. */

const name = "raster layers";
const advice =
  "give the data folder room and the server's account the right to read it; else run `npm ci` again, which brings Mapnik";

/**
 * The whole way of an image: a file among those of the data folder, and a tile that the render host draws of it. All of it is
 * in a folder of the check's own below the data folder, or beside it while it does not exist.
 * @returns nothing where no folder can be made, which `checkData` tells
 */
export async function checkRaster(config: Config): Promise<Check[]> {
  const home = existsSync(config.dataDir) ? config.dataDir : dirname(config.dataDir);
  const folder = await mkdtemp(join(home, ".doctor-")).catch(() => undefined);
  if (folder === undefined) return [];
  try {
    const drawn = await drawRed({ ...config, dataDir: folder, blobs: "" });
    return [
      drawn === red ? good(name, "drawn") : bad(name, "a tile shows another image than it should", advice),
    ];
  } catch (error) {
    return [bad(name, `cannot be drawn: ${reasonOf(error)}`, advice)];
  } finally {
    await removeQuietly(folder);
  }
}

/** The process has to start, too. */
const deadlineMs = 30_000;
/** As 0xAABBGGRR. */
const red = 0xff0000ff;

/** @returns the one colour of the tile of zoom 0; undefined when it has several */
async function drawRed(config: Config): Promise<number | undefined> {
  const blobs = await openBlobs(config);
  const key = await blobs.put(chunksOf(redImage()));
  const extent = [-mercatorHalf, -mercatorHalf, mercatorHalf, mercatorHalf] as const;
  const raster = { drawn: key, extent, isDiscrete: true, valueRange: null };
  const style = rasterStyle({ styles: [], fields: [], bufferPixels: 0 }, { raster, scale: 1 });
  const layers = [{ name, style, datasource: rasterDatasources(raster)[0]! }];
  const map = mapSource({ properties: {}, layers, bufferSize: 0 });
  const render = startRenderHost(
    { ...config, tiles: { ...config.tiles, deadlineMs } },
    createLog("silent", "doctor"),
    join(config.dataDir, "drawn-pictures"),
  );
  try {
    return await blobs.withLocalCopy(key, async (path) => {
      const { tiles } = await render.call(
        "metatile",
        {
          parts: [{ kind: "map", map, files: { [key]: path } }],
          ...{ origin: { z: 0, x: 0, y: 0 }, count: 1, scale: 1, encoding: "png32", bufferPixels: 0 },
        },
        { deadlineMs },
      );
      return tiles[0]?.solid;
    });
  } finally {
    await render.stop();
  }
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/**
 * A GeoTIFF of one red pixel as large as the world on tiles: a header, a directory of tags, and the values that do not fit into
 * it.
 */
function redImage(): Buffer {
  const [short, long, double] = [3, 4, 12] as const;
  const tags: readonly (readonly [tag: number, type: 3 | 4 | 12, values: readonly number[]])[] = [
    [256, short, [1]],
    [257, short, [1]],
    [258, short, [8, 8, 8]],
    [259, short, [1]],
    [262, short, [2]],
    [273, long, [8]],
    [277, short, [3]],
    [278, short, [1]],
    [279, long, [3]],
    // The size of a pixel, and where the north-western corner lies.
    [33550, double, [2 * mercatorHalf, 2 * mercatorHalf, 0]],
    [33922, double, [0, 0, 0, -mercatorHalf, mercatorHalf, 0]],
  ];
  const directory = 12;
  const values = directory + 2 + 12 * tags.length + 4;
  const file = Buffer.alloc(512);
  file.write("II*\0", "latin1");
  file.writeUInt32LE(directory, 4);
  file.set([255, 0, 0], 8);
  file.writeUInt16LE(tags.length, directory);
  let free = values;
  for (const [index, [tag, type, numbers]] of tags.entries()) {
    const at = directory + 2 + 12 * index;
    const bytes = numbers.length * { 3: 2, 4: 4, 12: 8 }[type];
    file.writeUInt16LE(tag, at);
    file.writeUInt16LE(type, at + 2);
    file.writeUInt32LE(numbers.length, at + 4);
    const start = bytes <= 4 ? at + 8 : free;
    if (start === free) {
      file.writeUInt32LE(free, at + 8);
      free += bytes;
    }
    for (const [nth, number] of numbers.entries()) {
      if (type === short) file.writeUInt16LE(number, start + 2 * nth);
      else if (type === long) file.writeUInt32LE(number, start + 4 * nth);
      else file.writeDoubleLE(number, start + 8 * nth);
    }
  }
  return file.subarray(0, free);
}
