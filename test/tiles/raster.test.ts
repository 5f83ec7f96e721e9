import t from "tap";
import { toMercator } from "../../src/geo/envelope.js";
import { mercatorHalf } from "../../src/geo/tile.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { type Picture, picture } from "../support/pictures.js";
import { geoTiff, type TestImage } from "../support/rasters.js";
import { startServer } from "../support/server.js";

/** Raster layers on tiles. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("editor");
type Colour = readonly number[];
type Tap = Pick<typeof t, "ok" | "same" | "equal">;

let made = 0;
/** Makes a map with one raster layer. @returns the map's code */
async function imported(image: TestImage | Uint8Array, css = "", name = "a.tif"): Promise<string> {
  const map = `r${++made}`;
  await makeMap(server, map);
  await makeStyledLayer(server, map, "image", css);
  await importInto(map, "image", image, name);
  return map;
}

async function importInto(map: string, layer: string, image: TestImage | Uint8Array, name = "a.tif") {
  const answer = await fetch(`${server.url}/api/2.8/p/${map}/layers/${layer}/import/`, {
    method: "POST",
    headers: { "x-token": token, "x-filename": name, "content-type": "application/octet-stream" },
    body: (image instanceof Uint8Array ? image : geoTiff(image)) as never,
  });
  if (answer.status !== 200) throw new Error(await answer.text());
}

async function tile(map: string, z: number, x: number, y: number, query = ""): Promise<Picture> {
  const answer = await fetch(`${server.url}/tms/p/${map}/${z}/${x}/${y}.png?base=0${query}`);
  if (answer.status !== 200) throw new Error(await answer.text());
  return picture(await answer.arrayBuffer());
}

const at = async (map: string, lon: number, lat: number, z: number, query = "") => {
  const { image, column, row } = await place(map, [lon, lat], z, query);
  return image.at(column, row);
};

async function place(map: string, [lon, lat]: [number, number], z: number, query = "") {
  const metres = (2 * mercatorHalf) / 2 ** z;
  const [mx, my] = toMercator(lon, lat);
  const [x, y] = [(mx + mercatorHalf) / metres, (mercatorHalf - my) / metres];
  const image = await tile(map, z, Math.floor(x), Math.floor(y), query);
  return { image, column: Math.floor((x % 1) * image.width), row: Math.floor((y % 1) * image.height) };
}

const near = (t: Tap, found: Colour, wanted: Colour, by: number, message: string) =>
  t.ok(
    wanted.every((value, channel) => Math.abs(value - found[channel]!) <= by),
    `${message}: ${found} for ${wanted}`,
  );

/** Metres a pixel: those of tiles at zoom 3, nearly. */
const metres = 20_000;

/** An image whose red grows to the east and whose green grows to the north, by `step` a pixel, around the corner of four tiles. */
function slope(pixels: number, step: number) {
  const edge = (pixels / 2) * metres;
  const image: TestImage = {
    width: pixels,
    height: pixels,
    epsg: 3857,
    transform: [-edge, metres, 0, edge, 0, -metres],
    value: (x, y) => [step * x, step * (pixels - 1 - y), 50],
  };
  const at = (x: number, y: number): Colour => [
    step * ((x + edge) / metres - 0.5),
    step * ((y + edge) / metres - 0.5),
    50,
    255,
  ];
  return { image, at, edge };
}

/** The largest difference of a channel in three of the four tiles around the corner. */
async function worstOf(map: string, { at, edge }: ReturnType<typeof slope>, z: number, scale: number) {
  const side = (2 * mercatorHalf) / 2 ** z;
  const middle = 2 ** (z - 1);
  let worst = 0;
  for (const [x, y] of [
    [middle, middle],
    [middle - 1, middle],
    [middle, middle - 1],
  ] as const) {
    const image = await tile(map, z, x, y, `&retina=${scale}`);
    if (image.width !== 256 * scale) throw new Error(`${image.width} pixels`);
    const pixel = side / image.width;
    for (let row = 0; row < image.height; row++) {
      for (let column = 0; column < image.width; column++) {
        const mx = -mercatorHalf + x * side + (column + 0.5) * pixel;
        const my = mercatorHalf - y * side - (row + 0.5) * pixel;
        const from = edge - Math.max(Math.abs(mx), Math.abs(my));
        // Pixels at the edge are mixed with nothing.
        if (Math.abs(from) <= 2 * Math.max(pixel, metres)) continue;
        const wanted = from < 0 ? [0, 0, 0, 0] : at(mx, my);
        for (const [channel, value] of image.at(column, row).entries())
          worst = Math.max(worst, Math.abs(value - wanted[channel]!));
      }
    }
  }
  return worst;
}

t.test("an image lies in its place at every zoom and density, without seams between tiles", async (t) => {
  for (const { pixels, step, places } of [
    // From its own pixels: at zoom 2 two of them are one of a tile.
    {
      pixels: 60,
      step: 4,
      places: [
        [2, 1, 4.5],
        [3, 1, 2.5],
        [3, 2, 2.5],
        [4, 3, 2.5],
        [5, 1, 2.5],
        [6, 2, 2.5],
      ],
    },
    // From its overviews.
    {
      pixels: 240,
      step: 1,
      places: [
        [1, 1, 2],
        [2, 1, 2],
        [1, 2, 2],
        [1, 3, 2],
      ],
    },
  ] as const) {
    const made = slope(pixels, step);
    const map = await imported(made.image);
    for (const [z, scale, most] of places) {
      const worst = await worstOf(map, made, z, scale);
      t.ok(worst <= most, `${pixels} pixels, zoom ${z}, retina ${scale}: ${worst}`);
    }
  }
});

/** 40 by 40 degrees from 10° E, 20° N: red in the west, blue in the east, nothing in the middle. */
const halves: TestImage = {
  width: 400,
  height: 400,
  epsg: 4326,
  transform: [10, 0.1, 0, 60, 0, -0.1],
  nodata: 0,
  value: (x, y) =>
    x > 150 && x < 250 && y > 150 && y < 250 ? [0, 0, 0] : x < 200 ? [200, 0, 0] : [0, 0, 200],
};

t.test("nodata is transparent, and layers above and below keep their order", async (t) => {
  const map = await imported(halves);
  near(t, await at(map, 12, 50, 4), [200, 0, 0, 255], 1, "west");
  near(t, await at(map, 48, 30, 4), [0, 0, 200, 255], 1, "east");
  t.same(await at(map, 30, 41, 4), [0, 0, 0, 0], "nodata");
  t.same(await at(map, 5, 41, 4), [0, 0, 0, 0], "outside");
  // A new layer is the lowest.
  await makeStyledLayer(server, map, "below", "#a { polygon-fill: #00ff00; }");
  await addObject(server, "below", square(0, 10, 50), { map });
  near(t, await at(map, 30, 41, 4), [0, 255, 0, 255], 1, "what is below is seen through");
  near(t, await at(map, 12, 50, 4), [200, 0, 0, 255], 1, "the image covers what is below");
  const order = { parent_id: 0, sort: 1 };
  await server.api("PATCH", `${map}/layers/below/`, { token, body: order });
  near(t, await at(map, 12, 50, 4), [0, 255, 0, 255], 1, "and is covered by what is above");
});

t.test("raster-opacity and raster-comp-op hold", async (t) => {
  const map = await imported(halves, "#a { raster-opacity: 0.5; }");
  near(t, await at(map, 12, 50, 4), [200, 0, 0, 128], 2, "half");
  const css = "#a[zoom>5] { raster-opacity: 1; }";
  await server.api("PATCH", `${map}/layers/image/`, { token, body: { parent_id: 0, css_style: css } });
  t.same(await at(map, 12, 50, 4), [0, 0, 0, 0], "not at this zoom");
  near(t, await at(map, 12, 50, 6), [200, 0, 0, 255], 1, "but at this one");
});

t.test("a new image of the layer is on the next tile, and its rights are those of the layer", async (t) => {
  const map = await imported(halves);
  near(t, await at(map, 12, 50, 4), [200, 0, 0, 255], 1, "before");
  await importInto(map, "image", { ...halves, value: () => [0, 150, 0] });
  near(t, await at(map, 12, 50, 4), [0, 150, 0, 255], 1, "after");
  await server.sql.query("update map set has_publication = false where code = $1", [map]);
  await server.nodes[0]!.services.changes.propagate();
  t.equal((await fetch(tileUrl(server, map, { lon: 12, lat: 50, z: 4 }))).status, 403);
});

t.test("numbers are grey from their least to their greatest, or have the colours of the style", async (t) => {
  const heights: TestImage = {
    ...halves,
    type: "Int16",
    nodata: -32_768,
    value: (x) => [x < 100 ? -32_768 : -500 + (x - 100) * 10],
  };
  const map = await imported(heights);
  t.same(await at(map, 15, 40, 4), [0, 0, 0, 0], "nodata");
  const grey = (x: number) => Math.round((255 * (x - 100)) / 299);
  for (const lon of [21, 30, 45]) {
    const shade = grey((lon - 10) / 0.1);
    near(t, await at(map, lon, 40, 4), [shade, shade, shade, 255], 3, `${lon}`);
  }
  for (let dx = -3; dx <= 3; dx++) {
    const { image, column, row } = await place(map, [20, 40], 5);
    const [red, green, blue, alpha] = image.at(column + dx, row);
    t.ok(alpha === 0 || (red === green && green === blue && red < 10), `no fringe: ${red} ${alpha}`);
  }
  const css =
    "#a { raster-colorizer-default-mode: discrete; raster-colorizer-stops: stop(-500, #ff0000) stop(1000, #0000ff); }";
  await server.api("PATCH", `${map}/layers/image/`, { token, body: { parent_id: 0, css_style: css } });
  near(t, await at(map, 25, 40, 4), [255, 0, 0, 255], 0, "low");
  near(t, await at(map, 45, 40, 4), [0, 0, 255, 255], 0, "high");
});

t.test("classes and identifiers are not mixed, other colours are", async (t) => {
  const palette = [
    [255, 0, 0, 255],
    [0, 0, 255, 255],
  ] as const;
  const value = (x: number) => [x < 200 ? 0 : 1];
  const { nodata: _, ...georeference } = halves;
  const classes = await imported({ ...georeference, palette, value });
  const mixed = await imported({ ...georeference, value: (x) => (x < 200 ? [255, 0, 0] : [0, 0, 255]) });
  const colours = async (map: string) => {
    const { image, column, row } = await place(map, [30, 40], 9);
    const found = new Set<string>();
    for (let dx = -60; dx <= 60; dx++) {
      const x = Math.min(255, Math.max(0, column + dx));
      found.add(image.at(x, row).join());
    }
    return found.size;
  };
  t.equal(await colours(classes), 2);
  t.ok((await colours(mixed)) > 2);
  const ids = await imported({ ...georeference, type: "Int32", value: (x) => [x < 200 ? 10 : 1000] });
  t.equal(await colours(ids), 2);
});

t.test("bands of more than 8 bits are shown as colours", async (t) => {
  const map = await imported({
    ...halves,
    type: "UInt16",
    value: (x) => (x < 200 ? [9_000, 2_000, 2_000] : [2_000, 2_000, 9_000]),
  });
  near(t, await at(map, 12, 50, 4), [255, 0, 0, 255], 2, "west");
  near(t, await at(map, 48, 50, 4), [0, 0, 255, 255], 2, "east");
});

t.test("an image across the antimeridian is in both world copies", async (t) => {
  const map = await imported({
    ...halves,
    transform: [170, 0.05, 0, 60, 0, -0.05],
    value: (x) => (x < 200 ? [200, 0, 0] : [0, 0, 200]),
  });
  near(t, await at(map, 175, 50, 5), [200, 0, 0, 255], 1, "before it");
  near(t, await at(map, -175, 50, 5), [0, 0, 200, 255], 1, "beyond it");
  near(t, await at(map, 179.9, 50, 5), [200, 0, 0, 255], 1, "at its west");
  near(t, await at(map, -179.8, 50, 5), [0, 0, 200, 255], 1, "at its east");
  t.same(await at(map, -165, 50, 5), [0, 0, 0, 0]);
});
