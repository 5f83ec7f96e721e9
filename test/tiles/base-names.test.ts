import t from "tap";
import { publicCaller } from "../../src/catalog/state.js";
import { ensureBaseMap } from "../../src/demo/base-map.js";
import { defaultTileFormat } from "../../src/tiles/formats.js";
import { quietLog } from "../support/log.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { type Picture, picture } from "../support/pictures.js";
import { geoTiff } from "../support/rasters.js";
import { startServer } from "../support/server.js";

/** Names of the base map beside labels of maps. */

const server = await startServer();
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
await ensureBaseMap(
  { db: services.db, transfer: services.transfer, log: quietLog, config: services.config },
  () => undefined,
  ["land", "borders", "places"],
);
await services.changes.propagate();

const london = { lon: -0.1257, lat: 51.5085, z: 6 };
const paris = { lon: 2.3488, lat: 48.8534, z: 6 };
const point = ({ lon, lat }: typeof london) => ({ type: "Point", coordinates: [lon, lat] });

const tile = async (map: string, place: typeof london, query = ""): Promise<Picture> =>
  picture(await (await fetch(tileUrl(server, map, place, query))).arrayBuffer());

/** Where a place is on its tile. */
function pixelOf({ lon, lat, z }: typeof london): { x: number; y: number } {
  const sine = Math.sin((lat * Math.PI) / 180);
  const world = 256 * 2 ** z;
  const x = (lon / 360 + 0.5) * world;
  const y = (0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)) * world;
  return { x: Math.floor(x % 256), y: Math.floor(y % 256) };
}

/** Dark grey pixels near the place, as the names of the base map have them. */
function namesNear(image: Picture, place: typeof london): number {
  const { x, y } = pixelOf(place);
  let dark = 0;
  for (let i = Math.max(0, x - 24); i < Math.min(256, x + 24); i++)
    for (let j = Math.max(0, y - 12); j < Math.min(256, y + 12); j++) {
      const [red, green, blue] = image.at(i, j);
      if (red < 150 && Math.max(red, green, blue) - Math.min(red, green, blue) < 24) dark++;
    }
  return dark;
}

const label = (text: string, more = "") =>
  `#a { text-name: "'${text}'"; text-face-name: 'DejaVu Sans Book'; text-size: 12; text-fill: #ff0000; ${more} }`;

async function labelled(map: string, style: string, place: typeof london) {
  await makeMap(server, map);
  await makeStyledLayer(server, map, `${map}-layer`, style);
  await addObject(server, `${map}-layer`, point(place), { map });
}

t.test("a label of the map takes the place of the base map's name, and others stay", async (t) => {
  await makeMap(server, "plain");
  t.ok(namesNear(await tile("plain", london), london) > 20, "London is named");
  t.ok(namesNear(await tile("plain", paris), paris) > 20, "Paris is named");
  await labelled("own", label("Londinium"), london);
  t.equal(namesNear(await tile("own", london), london), 0, "one name stands there");
  t.ok(namesNear(await tile("own", paris), paris) > 20, "Paris is named still");
});

t.test("symbols that labels keep clear of count too", async (t) => {
  await labelled(
    "dots",
    `${label("", "")} #a { marker-width: 10; marker-fill: #00ff00; marker-line-width: 0; marker-allow-overlap: true; }`,
    london,
  );
  t.equal(namesNear(await tile("dots", london), london), 0);
});

t.test("the name of a town is not repeated beside the map's own", async (t) => {
  await labelled("beside", label("London"), { ...london, lat: 52 });
  t.equal(namesNear(await tile("beside", london), london), 0);
  await labelled("other", label("Londinium"), { ...london, lat: 52 });
  t.ok(namesNear(await tile("other", london), london) > 20);
});

for (const [name, { style, pixels }] of Object.entries({
  "a symbol beside it": {
    style: "#a { marker-width: 12; marker-fill: #f00; marker-line-width: 0; }",
    pixels: 20,
  },
  "its own name": { style: label("London"), pixels: 60 },
  "a long label": { style: label("Royal Greenwich Town"), pixels: 75 },
})) {
  t.test(`a name on the edge of two metatiles gives way in both to ${name}`, async (t) => {
    const { x } = pixelOf(london);
    t.ok(x > 240, "London's name reaches into the next");
    const eastern = { ...london, lon: london.lon + (pixels * 360) / (256 * 2 ** london.z) };
    await labelled(`edge${pixels}`, style, eastern);
    t.equal(namesNear(await tile(`edge${pixels}`, london), london), 0);
  });
}

t.test("images hide names, also those without a style", async (t) => {
  await labelled("photo", label("Far away"), { ...london, lon: 3 });
  await makeStyledLayer(server, "photo", "image", "");
  const white = geoTiff({
    ...{ width: 64, height: 64, epsg: 4326, transform: [-3, 0.1, 0, 54, 0, -0.1] },
    value: () => [255, 255, 255],
  });
  const answer = await fetch(`${server.url}/api/2.8/p/photo/layers/image/import/`, {
    method: "POST",
    headers: {
      "x-token": await server.token("editor"),
      "x-filename": "a.tif",
      "content-type": "application/octet-stream",
    },
    body: white as never,
  });
  t.equal(answer.status, 200);
  t.equal(namesNear(await tile("photo", london), london), 0);
});

t.test("names lie below what is opaque, and above what is not", async (t) => {
  await labelled("below", label("Far away"), { ...london, lon: 3 });
  await makeStyledLayer(server, "below", "area", "#a { polygon-fill: #ffffff; }");
  await addObject(server, "area", square(-2, 50.5, 4), { map: "below" });
  t.equal(namesNear(await tile("below", london), london), 0);
  const token = await server.token("editor");
  const body = { parent_id: 0, css_style: "#a { polygon-fill: #ffffff; polygon-opacity: 0.8; }" };
  await server.api("PATCH", "below/layers/area/", { token, body });
  t.ok(namesNear(await tile("below", london), london) > 20);
});

t.test("at a zoom without labels, names are the base map's, whose picture all maps share", async (t) => {
  await labelled("later", label("London", "").replace("#a {", "#a[zoom>=8] {"), london);
  const etag = async (map: string, z: number) =>
    (await fetch(tileUrl(server, map, { ...london, z }))).headers.get("etag");
  t.equal(await etag("later", 6), await etag("plain", 6));
  t.not(await etag("later", 8), await etag("plain", 8));
});

t.test("an edit of labels moves the names of the base map", async (t) => {
  await makeMap(server, "edited");
  await makeStyledLayer(server, "edited", "towns", label("Town"));
  t.ok(namesNear(await tile("edited", london), london) > 20);
  await addObject(server, "towns", point(london), { map: "edited" });
  t.equal(namesNear(await tile("edited", london), london), 0);
});

t.test(
  "a map that hides some of the base map and blends with the rest leaves names where they are",
  async (t) => {
    await labelled("both", label("Town"), { ...london, lat: 51.65 });
    const names = namesNear(await tile("both", london), london);
    await makeStyledLayer(server, "both", "line", "#a { line-color: #00f; line-comp-op: multiply; }");
    await makeStyledLayer(server, "both", "area", "#a { polygon-fill: #fff; }");
    await addObject(server, "area", square(10, 40, 2), { map: "both" });
    t.equal(names, 0);
    t.ok(namesNear(await tile("both", london), london) > 20);
  },
);

t.test("over a map that blends with the base map they lie above it", async (t) => {
  await labelled("blending", label("Far away"), { ...london, lon: 3 });
  await makeStyledLayer(
    server,
    "blending",
    "shade",
    "#a { polygon-fill: #eeeeff; polygon-comp-op: multiply; }",
  );
  await addObject(server, "shade", square(-2, 50.5, 4), { map: "blending" });
  t.ok(namesNear(await tile("blending", london), london) > 20);
});

for (const [map, style] of Object.entries({
  above: "#a { line-color: #00f; }",
  hidden: "#a { polygon-fill: #fff; }",
})) {
  t.test(`names ${map} the map fit together where metatiles meet`, async (t) => {
    const square = { origin: { z: 6, x: 28, y: 16 }, count: 8 };
    await makeMap(server, map);
    await makeStyledLayer(server, map, `${map}-areas`, style);
    const { id } = await makeStyledLayer(
      server,
      map,
      `${map}-dots`,
      "#a { marker-width: 12; marker-fill: #f00; marker-line-width: 0; }",
    );
    await server.sql.query("select setseed(0.5)");
    await server.sql.query(
      `insert into layers.l${id} (geom)
       select st_setsrid(st_makepoint(-25 + 50 * random(), 35 + 40 * random()), 4326) from generate_series(1, 400)`,
    );
    await services.changes.propagate();
    const plan = await services.planner.plan(await services.catalog.map("p", map), publicCaller, {
      ...{ coord: square.origin, base: true, layers: undefined, scale: 1, language: undefined },
      ...{ format: defaultTileFormat, quality: 0 },
    });
    const whole = await services.render.call(
      "metatile",
      {
        parts: plan.parts.flatMap((part) =>
          part.kind === "map" ? [{ kind: "map" as const, map: part.map, isApart: part.isApart }] : [],
        ),
        ...{ ...square, scale: 1, encoding: "png32", bufferPixels: plan.bufferPixels },
      },
      { deadlineMs: 60_000 },
    );
    t.equal(
      plan.parts.at(-1)?.kind === "map" && plan.parts.some((part) => "isApart" in part && part.isApart),
      map === "hidden",
    );
    let [different, pixels] = [0, 0];
    for (const [index, bytes] of whole.tiles.map((tile) => tile.bytes).entries()) {
      const { z, x, y } = square.origin;
      const place = `${z}/${x + (index % square.count)}/${y + Math.floor(index / square.count)}`;
      const [own, other] = await Promise.all([
        picture(await (await fetch(`${server.url}/tms/p/${map}/${place}.png`)).arrayBuffer()),
        picture(bytes),
      ]);
      for (let i = 0; i < 256; i++)
        for (let j = 0; j < 256; j++) {
          pixels++;
          if (Math.abs(own.at(i, j)[0]! - other.at(i, j)[0]!) > 40) different++;
        }
    }
    // A coast may be cut at another place; half a name would be some hundred.
    t.ok(different < pixels / 100_000, `${different} of ${pixels}`);
  });
}
