import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import sharp from "sharp";
import { rasterFormats } from "../../../src/hosts/import-messages.js";
import { square } from "../../support/maps.js";
import { picture } from "../../support/pictures.js";
import { cloudOptimized, geoTiff, readImage } from "../../support/rasters.js";
import type { Place, Step } from "../world.js";
import { tileOfFile, tileOfMbtiles, tileOfPmtiles } from "./archives.js";

/** Raster layers on tiles, in exports of tiles, and as files. */

const red = [200, 30, 40];
const blue = [10, 60, 220];
const green = [20, 180, 60];

/** From 0, 0 to 20° east and north. */
const photo = geoTiff({
  width: 16,
  height: 16,
  epsg: 4326,
  transform: [0, 1.25, 0, 20, 0, -1.25],
  value: () => red,
});

const plain = ([r, g, b]: readonly number[], format: "png" | "jpeg"): Promise<Buffer> =>
  sharp({ create: { width: 16, height: 16, channels: 3, background: { r: r!, g: g!, b: b! } } })
    .toFormat(format, { quality: 100 })
    .toBuffer();

const isNear = (found: readonly number[], wanted: readonly number[]): boolean =>
  found[3] === 255 && wanted.every((value, at) => Math.abs(value - found[at]!) <= 4);

export const onPhoto: Place = { lon: 10, lat: 10, z: 4 };
export const photoColour = red;

/** Map `rasters` with the layer `photo`, which the backup and the viewer look at, too, and map `torn` for the viewer. */
export const rasterSteps: readonly Step[] = [
  {
    name: "a GeoTIFF on tiles, and as a file again",
    also: true,
    walk: async (t, world) => {
      await world.makeMap("rasters", "photo");
      await world.upload("rasters/layers/photo", { "photo.tif": photo });
      const shown = await world.colour("rasters", onPhoto);
      t.ok(isNear(shown, red), `${shown}`);
      t.ok(isNear(await world.colour("rasters", { ...onPhoto, z: 7 }), red), "in another zoom");
      const file = await world.api("GET", "rasters/layers/photo/export/?format=geotif");
      t.ok(file.bytes.equals(photo), "as it was uploaded");
      const processed = await world.api("GET", "rasters/layers/photo/export/?format=geotif&orig=false");
      t.ok(processed.bytes.length > 0 && !processed.bytes.equals(photo));
      t.ok(
        (await picture((await world.ask("GET", "/api/2.8/town/rasters/layers/photo/icon/?size=32")).bytes))
          .painted > 0,
      );
    },
  },
  {
    name: "a PNG with raster_bbox, by the command line",
    also: true,
    walk: async (t, world) => {
      await writeFile(join(world.at.folder, "plan.png"), await plain(blue, "png"));
      const box = ["--raster-bbox", "BOX(30 0,50 20)"];
      await world.mapwright(["import", "town", "rasters", "plan", "plan.png", ...box]);
      const shown = await world.colour("rasters", { lon: 40, lat: 10, z: 4 });
      t.ok(isNear(shown, blue), `${shown}`);
      await world.mapwright(["export", "town", "rasters", "plan", "processed.tif", "--processed"]);
      const processed = readImage(await readFile(join(world.at.folder, "processed.tif")));
      t.match(processed, { driver: "GTiff", epsg: "3857" });
    },
  },
  {
    name: "an image of every format",
    walk: async (t, world) => {
      await world.api("POST", "", { body: { code: "images" } });
      for (const [format, extensions] of Object.entries(rasterFormats)) {
        const bytes = format === "GeoTIFF" ? photo : await plain(red, format === "PNG" ? "png" : "jpeg");
        const query = format === "GeoTIFF" ? "" : "?raster_bbox=BOX(0 0,20 20)";
        for (const extension of extensions) {
          const id = await world.makeLayer("images", extension);
          await world.upload(`images/layers/${extension}`, { [`photo.${extension}`]: bytes }, query);
          const shown = await world.colour("images", onPhoto, `&layers=${id}`);
          t.ok(isNear(shown, red), `${extension}: ${shown}`);
        }
      }
    },
  },
  {
    name: "a cloud-optimized GeoTIFF in metres, on tiles and in exports of them",
    also: true,
    walk: async (t, world) => {
      const side = 512;
      // The same square as of the photo, from the Gulf of Guinea on.
      const pixel = 2_226_389.816 / side;
      const transform = [0, pixel, 0, pixel * side, 0, -pixel];
      const tiff = geoTiff({ width: side, height: side, epsg: 3857, transform, value: () => red });
      await world.makeMap("optimized", "photo");
      const cog = cloudOptimized(tiff);
      t.ok(readImage(cog).overviews > 0);
      await world.upload("optimized/layers/photo", { "photo.tif": cog });
      for (const z of [1, 4, 9]) {
        const shown = await world.colour("optimized", { ...onPhoto, z });
        t.ok(isNear(shown, red), `${z}: ${shown}`);
      }
      const query = "base=0&fbbox=5,5,15,15&minzoom=4&maxzoom=4";
      const { bytes } = await world.api("GET", `optimized/export/?format=pmtiles&${query}`);
      await holdsPhoto(t, await tileOfPmtiles(bytes, tileOfPhoto));
    },
  },
  {
    name: "a layer whose file is gone is left out, and named",
    also: true,
    walk: async (t, world) => {
      await world.makeMap("torn", "photo");
      const files = async () =>
        (await readdir(join(world.at.folder, "data/files"), { recursive: true, withFileTypes: true }))
          .filter((entry) => entry.isFile())
          .map(({ parentPath, name }) => join(parentPath, name));
      const before = new Set(await files());
      await world.upload("torn/layers/photo", { "photo.tif": photo });
      await world.makeLayer("torn", "field", "#field { polygon-fill: #ffff00; }");
      await world.api("POST", "torn/layers/field/objects/", { body: { fields: {}, geom: square(9, 9, 2) } });
      for (const path of await files()) if (!before.has(path)) await rm(path);
      const { headers, bytes } = await world.tileAnswer("torn", onPhoto);
      t.equal(headers.get("x-tile-incomplete"), "photo");
      t.match(headers.get("cache-control"), /no-store/);
      t.ok((await picture(bytes)).painted > 0, "the others are drawn");
    },
  },
  {
    name: "a JPEG with a world file",
    also: true,
    walk: async (t, world) => {
      await world.makeLayer("rasters", "chart");
      const files = {
        "chart.jpg": await plain(green, "jpeg"),
        "chart.jgw": "1.25\n0\n0\n-1.25\n60.625\n19.375\n",
      };
      await world.upload("rasters/layers/chart", files);
      const shown = await world.colour("rasters", { lon: 70, lat: 10, z: 4 });
      t.ok(isNear(shown, green), `${shown}`);
    },
  },
  {
    name: "objects over a raster, and its opacity",
    walk: async (t, world) => {
      const field = { code: "field", sort: 1, css_style: "#field { polygon-fill: #ffff00; }" };
      await world.api("POST", "rasters/layers/", { body: field });
      await world.api("POST", "rasters/layers/field/objects/", {
        body: { fields: {}, geom: square(2, 2, 2) },
      });
      t.same(await world.colour("rasters", { lon: 3, lat: 3, z: 6 }), [255, 255, 0, 255]);
      const css_style = "#plan { raster-opacity: 0.5; }";
      await world.api("PATCH", "rasters/layers/plan/", { body: { parent_id: 0, css_style } });
      const [, , , alpha] = await world.colour("rasters", { lon: 40, lat: 10, z: 4 });
      t.ok(alpha! > 120 && alpha! < 136, `alpha ${alpha}`);
    },
  },
  {
    name: "exports of tiles",
    also: true,
    walk: async (t, world) => {
      const query = "base=0&fbbox=5,5,15,15&minzoom=3&maxzoom=5";
      const pmtiles = await world.api("GET", `rasters/export/?format=pmtiles&${query}`);
      await t.test("PMTiles, by HTTP", async (t) =>
        holdsPhoto(t, await tileOfPmtiles(pmtiles.bytes, tileOfPhoto)),
      );
      const mbtiles = await world.api("GET", `rasters/export/?format=mbtiles&${query}`);
      const path = join(world.at.folder, "read.mbtiles");
      await writeFile(path, mbtiles.bytes);
      await t.test("MBTiles, by HTTP", async (t) => holdsPhoto(t, tileOfMbtiles(path, tileOfPhoto)));
      const options = ["--bbox", "5,5,15,15", "--zoom", "3-5", "--no-base"];
      for (const name of ["map.pmtiles", "map.mbtiles"])
        await t.test(`${name}, by the command line`, async (t) => {
          await world.mapwright(["export", "town", "rasters", name, ...options]);
          await holdsPhoto(t, await tileOfFile(join(world.at.folder, name), tileOfPhoto));
        });
    },
  },
];

/** The tile of the photo's middle at zoom 4. */
const tileOfPhoto = { z: 4, x: 8, y: 7 };

async function holdsPhoto(t: Pick<typeof import("tap").default, "ok">, tile: Uint8Array | undefined) {
  t.ok(tile, "the tile is there");
  const shown = (await picture(tile!)).at(114, 140);
  t.ok(isNear(shown, red), `${shown}`);
}
