import sharp from "sharp";
import t from "tap";
import { makeMap, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";

/** The kinds of visualizations on tiles: colours at places that are known, and seams between metatiles. */

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const token = await server.token("editor");
await makeMap(server, "m");

type Geometry = { readonly type: string; readonly coordinates: unknown };
type Row = Readonly<Record<string, unknown>> & { readonly geom: Geometry };
const ids = new Map<string, number>();

/** Creates a layer with the columns of its objects. */
async function layerOf(code: string, rows: readonly Row[]): Promise<void> {
  const made = await api("POST", "m/layers/", { token, body: { code } });
  if (made.status !== 200) throw new Error(made.text);
  ids.set(code, made.json.id);
  const columns = new Map(rows.flatMap(({ geom: _, ...fields }) => Object.entries(fields)));
  for (const [column, value] of columns)
    await api("POST", `m/layers/${code}/structure/`, {
      token,
      body: {
        code: column,
        type: typeof value === "number" ? "number" : /^\d+-/.test(String(value)) ? "datetime" : "string",
      },
    });
  await add(code, rows);
}

async function add(code: string, rows: readonly Row[]): Promise<void> {
  for (const { geom, ...fields } of rows) {
    const added = await api("POST", `m/layers/${code}/objects/`, { token, body: { fields, geom } });
    if (added.status !== 200) throw new Error(added.text);
  }
}

async function show(code: string, visualSettings: object) {
  const stored = await api("PUT", `m/layers/${code}/visualization/`, { token, body: { visualSettings } });
  if (stored.status !== 200) throw new Error(stored.text);
  return stored.json.visualSettings;
}

const point = (lon: number, lat: number): Geometry => ({ type: "Point", coordinates: [lon, lat] });

/** A tile of a layer at a zoom, with the colour at a place, shifted by pixels. */
async function draw(code: string, place: { lon: number; lat: number; z: number }, scale = 1) {
  const url = tileUrl(server, "m", place, `&base=0&retina=${scale}&layers=${ids.get(code)}`);
  const answer = await fetch(url);
  const bytes = Buffer.from(await answer.arrayBuffer());
  const drawn = await picture(bytes);
  const side = 256 * scale * 2 ** place.z;
  const pixel = (lon: number, lat: number): [number, number] => {
    const x = ((lon + 180) / 360) * side;
    const y = (0.5 - Math.log(Math.tan(Math.PI / 4 + (lat * Math.PI) / 360)) / (2 * Math.PI)) * side;
    return [Math.floor(x), Math.floor(y)];
  };
  const [left, top] = pixel(place.lon, place.lat).map(
    (each) => 256 * scale * Math.floor(each / 256 / scale),
  ) as [number, number];
  return {
    painted: drawn.painted,
    at: (lon: number, lat: number, dx = 0, dy = 0) => {
      const [x, y] = pixel(lon, lat);
      return drawn.at(x - left + dx, y - top + dy);
    },
  };
}

const near = (found: readonly number[], colour: string, tolerance = 12) => {
  const wanted = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  return wanted.every((value, at) => Math.abs(value - found[at]!) <= tolerance) && found[3]! > 200;
};

const place = { lon: 5, lat: 5, z: 5 };

t.test("classes of areas have the legend's colours, and borders", async (t) => {
  const columns = Array.from({ length: 5 }, (_, at) => ({ n: at * 10, geom: square(0.5 + at * 2, 4, 2) }));
  await layerOf("areas", [...columns, { geom: square(2, 8, 1) }]);
  await show("areas", { type: 1, columnCode: "n", classesCount: 5 });
  const legend = (await api("GET", "m/layers/areas/legend/")).json.classificators;
  const tile = await draw("areas", place);
  for (const [at, { fill }] of legend.entries()) t.ok(near(tile.at(1.5 + at * 2, 5), fill), `class ${at}`);
  const icon = await picture(
    await (await fetch(`${server.url}/api/2.8/p/m/layers/areas/icon/?size=64`)).arrayBuffer(),
  );
  t.ok(
    legend.some(({ fill }: { fill: string }) => near(icon.at(32, 32), fill)),
    "the layer's icon has a colour of it",
  );
  t.ok(near(tile.at(2.5, 5), "#ffffff", 90), "a border between them");
  const inside = [...Array(16 * 16).keys()].map((n) =>
    tile.at(2.5, 8.5, (n % 16) - 8, Math.floor(n / 16) - 8),
  );
  t.ok(
    inside.some((found) => near(found, "#f1f1f1", 2)) && inside.some((found) => near(found, "#b4b4b4", 16)),
    "hatched",
  );
  const flat = { noData: { color: "#c0c0d0" } };
  await show("areas", { type: 1, columnCode: "n", classesCount: 5, classesSettings: flat });
  t.ok(near((await draw("areas", place)).at(2.5, 8.5), "#c0c0d0", 2), "or in the colour of the request");
  const hidden = { noData: { checked: false } };
  await show("areas", { type: 1, columnCode: "n", classesCount: 5, classesSettings: hidden });
  t.equal((await draw("areas", place)).at(2.5, 8.5)[3], 0, "unless they are not to be shown");
  await show("areas", { type: 1, columnCode: "n", classesCount: 5 });
  await add("areas", [{ n: 80, geom: square(0.5, 1, 2) }]);
  const moved = await draw("areas", place);
  const changed = (await api("GET", "m/layers/areas/legend/")).json.classificators;
  t.equal(changed.at(-1).value, 80);
  t.ok(near(moved.at(1.5, 2), changed.at(-1).fill), "the new object is in the last class");
  t.ok(near(moved.at(9.5, 5), changed[2].fill), "and the others in those of the new borders");
});

t.test("areas of bubbles are as their values, and their legend says how large", async (t) => {
  await layerOf("amounts", [
    { n: 16, geom: point(2, 5) },
    { n: 4, geom: point(5, 5) },
    { n: 1, geom: point(7, 5) },
    { n: 0, geom: point(9, 5) },
  ]);
  const shown = async () => (await api("GET", "m/layers/amounts/")).json.visualSettings;
  await show("amounts", {
    type: 3,
    columnCode: "n",
    showBorder: false,
    classesSettings: { pointSizeMin: 6, pointSizeMax: 48 },
  });
  t.match(await shown(), { classesSettings: { sizing: "continuous" } });
  const tile = await draw("amounts", place);
  const widthAt = (lon: number) => {
    let width = 0;
    for (let dx = -28; dx <= 28; dx++) if (tile.at(lon, 5, dx)[3]! > 127) width++;
    return width;
  };
  for (const [lon, expected] of [
    [2, 48],
    [5, 24],
    [7, 12],
    [9, 6],
  ] as const)
    t.ok(Math.abs(widthAt(lon) - expected) <= 1, `${lon}: ${widthAt(lon)}`);
  const { classificators } = (await api("GET", "m/layers/amounts/legend/?extended=1")).json;
  t.equal(classificators.at(-1).value, 15);
  for (const { value, size } of classificators)
    t.ok(Math.abs(size - Math.max(6, 48 * Math.sqrt(value / 16))) < 0.1, `${value}: ${size}`);
  await show("amounts", { type: 3, columnCode: "n", algorithm: 1, classesCount: 3 });
  t.match(await shown(), { algorithm: 1, classesSettings: { sizing: "classes" } });
});

t.test("rims of bubbles are a shade of their fill, and thin on small ones", async (t) => {
  await layerOf("rimmed", [
    { n: 100, geom: point(3, 5) },
    { n: 1, geom: point(8, 5) },
  ]);
  const settings = {
    ...{ type: 3, columnCode: "n" },
    classesSettings: { color: "#ff8800", pointSizeMin: 5, pointSizeMax: 60 },
  };
  const across = async (lon: number) => {
    const tile = await draw("rimmed", place, 2);
    return Array.from({ length: 140 }, (_, dx) => tile.at(lon, 5, dx - 70));
  };
  const isRim = ([red, , , alpha]: readonly number[]) => alpha! > 200 && red! < 180;
  const stored = await show("rimmed", settings);
  t.equal(stored.borderSettings.colorByFill, true);
  const large = await across(3);
  t.ok(large.some(isRim), "a darker rim");
  t.notOk(
    large.some((found) => near(found, "#ffffff")),
    "no white one",
  );
  t.notOk((await across(8)).some(isRim), "thinner than a pixel on a small one");
  const item = async () => (await api("GET", "m/layers/rimmed/legend/?extended=1")).json.classificators[0];
  t.equal((await item()).rim, "#995200");
  const again = await show("rimmed", stored);
  t.equal(again.borderSettings.colorByFill, true, "what is answered can be sent back");
  const borderSettings = { ...again.borderSettings, width: 3 };
  t.equal((await show("rimmed", { ...again, borderSettings })).borderSettings.colorByFill, false);
  const white = { borderSettings: { color: "#ffffff", width: 2 } };
  t.equal((await show("rimmed", { ...settings, ...white })).borderSettings.colorByFill, false);
  t.ok(
    (await across(3)).some((found) => near(found, "#ffffff")),
    "that of the request",
  );
  t.equal((await item()).rim, "#ffffff");
  await show("rimmed", { type: 3, columnCode: "n", classesSettings: { color: "#2a6fbb" } });
  t.equal((await item()).rim, "#aac5e4", "of a dark colour a lighter one");
});

t.test("categories: points, lines, a default class, labels", async (t) => {
  await layerOf("kinds", [
    { kind: "a", geom: point(2, 5) },
    { kind: "b", geom: point(4, 5) },
    {
      kind: "it's",
      geom: {
        type: "LineString",
        coordinates: [
          [1, 8],
          [9, 8],
        ],
      },
    },
    { kind: "other", geom: point(8, 5) },
    { kind: "b", geom: square(3, 1, 2) },
  ]);
  const classes = [
    { value: "a", color: "#ff0000" },
    { value: "b", color: "#00aa00" },
    { value: "it's", color: "#0000ff" },
  ];
  await show("kinds", {
    type: 2,
    columnCode: "kind",
    pointSettings: { size: 20, sizeEnabled: true },
    classesSettings: { classes, lineWidth: 5, defaultClass: { color: "#888888" } },
  });
  const tile = await draw("kinds", place);
  t.ok(near(tile.at(2, 5), "#ff0000"));
  t.ok(near(tile.at(2, 5, 7), "#ff0000"), "of the size set");
  t.equal(tile.at(2, 5, 13)[3], 0);
  t.ok(near(tile.at(4, 5), "#00aa00"));
  t.ok(near(tile.at(4, 2), "#00aa00"));
  t.ok(near(tile.at(5, 8), "#0000ff"));
  t.ok(near(tile.at(8, 5), "#888888"));
  await show("kinds", {
    type: 2,
    columnCode: "kind",
    showText: true,
    textSettings: { allowOverlap: true, fontColor: "#cc00cc", offsetEnabled: true, textOffset: -16 },
    classesSettings: { classes: [{ value: "a", checked: false }], defaultClass: { checked: false } },
  });
  t.ok((await draw("kinds", place)).painted > 100, "labels");
});

t.test("labels of areas are light on dark fills, unless they have a colour of their own", async (t) => {
  await layerOf("captioned", [
    { n: 1, name: "MMMM", geom: square(1, 2, 4) },
    { n: 2, name: "MMMM", geom: square(6, 2, 4) },
  ]);
  const texts = async (textSettings: object) => {
    const classesSettings = { minColor: "#ffffcc", midColor: "#ffffcc", maxColor: "#000080" };
    await show("captioned", {
      ...{ type: 1, columnCode: "n", classesCount: 2, showBorder: false, classesSettings },
      ...{ showText: true, textSettings: { column: "name", fontSize: 16, halo: false, ...textSettings } },
    });
    const drawn = await draw("captioned", place);
    const around = (lon: number) =>
      [...Array(40 * 16).keys()].map((n) =>
        drawn.at(lon, 4, (n % 40) - 20, Math.floor(n / 40) - 8).slice(0, 3),
      );
    const has = (lon: number, colour: string) => around(lon).some((found) => near([...found, 255], colour));
    return { pale: has(3, "#000000"), dark: has(8, "#ffffff"), darkOnDark: has(8, "#000000") };
  };
  t.same(await texts({}), { pale: true, dark: true, darkOnDark: false });
  t.same(await texts({ fontColor: "#000000" }), { pale: true, dark: false, darkOnDark: true });
  const shown = await show("captioned", { type: 1, columnCode: "n" });
  t.equal(shown.textSettings.colorByFill, true);
  const again = await show("captioned", shown);
  t.equal(again.textSettings.colorByFill, true, "what is answered can be sent back");
  const own = await show("captioned", {
    ...again,
    textSettings: { ...again.textSettings, fontColor: "#ff0000" },
  });
  t.equal(own.textSettings.colorByFill, false);
});

t.test("labels of areas have halos in a shade of what they stand on, none of them black", async (t) => {
  await layerOf("haloed", [
    { n: 1, name: "MMMM", geom: square(1, 2, 4) },
    { n: 2, name: "MMMM", geom: square(6, 2, 4) },
  ]);
  const darkest = async (colour: string) => {
    const classesSettings = { minColor: "#ffffcc", midColor: "#ffffcc", maxColor: colour };
    const textSettings = { column: "name", fontSize: 16 };
    await show("haloed", {
      ...{ type: 1, columnCode: "n", classesCount: 2, showBorder: false, classesSettings },
      ...{ showText: true, textSettings },
    });
    const drawn = await draw("haloed", place);
    const around = [...Array(40 * 16).keys()].map((n) =>
      drawn.at(8, 4, (n % 40) - 20, Math.floor(n / 40) - 8),
    );
    return Math.min(...around.map((found) => found[0]! + found[1]! + found[2]!));
  };
  t.ok((await darkest("#2166ac")) > 120, "a darker blue round white letters on blue");
  t.ok((await darkest("#41b6c4")) < 60, "black letters on what is light");
});

t.test("labels keep clear of each other", async (t) => {
  const apart = 360 / 256 / 2 ** place.z;
  const row = (code: string, pixels: number) =>
    layerOf(code, [
      { name: "MMMM", geom: square(4, 5, apart) },
      { name: "MMMM", geom: square(4 + pixels * apart, 5, apart) },
    ]);
  const shown = async (code: string) => {
    const textSettings = { column: "name", fontSize: 16, halo: false, fromZoom: 0 };
    const classesSettings = { classes: [], opacity: 0 };
    await show(code, {
      ...{ type: 2, columnCode: "name", showBorder: false, classesSettings },
      ...{ showText: true, textSettings },
    });
    return (await draw(code, place)).painted;
  };
  await row("close", 58);
  await row("clear", 68);
  t.ok((await shown("clear")) > 1.8 * (await shown("close")), "of two that nearly touch there is one");
});

t.test("long labels of areas and points are wrapped", async (t) => {
  const rows = async (code: string, name: string, geom: Geometry) => {
    await layerOf(code, [{ name, geom }]);
    const textSettings = { column: "name", fontSize: 12, halo: false, fromZoom: 0 };
    const classesSettings = { classes: [], opacity: 0 };
    const look = { type: 2, columnCode: "name", showBorder: false, classesSettings };
    await show(code, { ...look, showText: true, textSettings });
    const drawn = await draw(code, place);
    const isDark = (x: number, y: number) => drawn.at(5, 5, x - 120, y - 40)[3]! > 100;
    const [xs, ys] = [[...Array(240).keys()], [...Array(80).keys()]];
    const columns = xs.filter((x) => ys.some((y) => isDark(x, y)));
    return {
      lines: ys.filter((y) => xs.some((x) => isDark(x, y))).length,
      width: columns.at(-1)! - columns[0]!,
    };
  };
  for (const [kind, most, geom] of [
    ["area", 96, square(3, 3, 4)],
    ["point", 120, point(5, 5)],
  ] as const) {
    const long = await rows(`wrapped_${kind}`, "Mmmm Mmmm Mmmm Mmmm Mmmm", geom);
    const short = await rows(`short_${kind}`, "Mmmm", geom);
    t.ok(long.lines > 1.8 * short.lines, `${kind}: ${long.lines} rows of pixels, ${short.lines} of one line`);
    t.ok(long.width <= most, `${kind}: ${long.width} pixels`);
  }
});

t.test("the name of a line is not repeated for each of its parts", async (t) => {
  const line = (from: number, to: number) => [
    [from, 5],
    [to, 5],
  ];
  const shown = async (code: string, coordinates: unknown) => {
    await layerOf(code, [{ name: "MMMM", geom: { type: "MultiLineString", coordinates } }]);
    // As an import of lines makes it.
    await server.sql.query("update layer set geometry_kind = 'LineString' where id = $1", [ids.get(code)]);
    await server.nodes[0]!.services.changes.propagate();
    const textSettings = { column: "name", fontSize: 12, halo: false, fromZoom: 0 };
    const classesSettings = { classes: [], opacity: 0 };
    await show(code, { type: 2, columnCode: "name", classesSettings, showText: true, textSettings });
    return (await draw(code, place)).painted;
  };
  const one = await shown("one_line", [line(3, 5)]);
  const two = await shown("two_lines", [line(3, 5), line(5.01, 7)]);
  t.ok(one > 50 && two < 1.2 * one, `${one}, ${two}`);
});

t.test("labels of points stand beside the symbols, which stay to be seen", async (t) => {
  await layerOf("named", [
    { n: 1, name: "MMMM", geom: point(3, 5) },
    { n: 2, name: "MMMM", geom: point(7, 5) },
  ]);
  const textSettings = { column: "name", fontSize: 16, halo: false, fromZoom: 0 };
  const labelled = { showText: true, textSettings };
  const kinds = {
    thematic: {
      type: 1,
      classesSettings: { opacity: 1, minColor: "#00aa00", midColor: "#00aa00", maxColor: "#00aa00" },
    },
    bubbles: {
      type: 3,
      classesSettings: { color: "#00aa00", opacity: 1, pointSizeMin: 20, pointSizeMax: 20 },
    },
  };
  for (const [kind, settings] of Object.entries(kinds)) {
    await show("named", { ...settings, columnCode: "n", ...labelled });
    const drawn = await draw("named", place);
    for (const lon of [3, 7]) for (const dx of [-3, 0, 3]) t.ok(near(drawn.at(lon, 5, dx), "#00aa00"), kind);
    t.ok(drawn.painted > 500, "with their names");
  }
});

t.test("the name of the larger of two areas is placed first", async (t) => {
  await layerOf("ranked", [
    { name: "i", geom: square(4.5, 4.5, 1) },
    { name: "MMMM", geom: square(2, 2, 6) },
  ]);
  await show("ranked", {
    ...{ type: 2, columnCode: "name", showBorder: false, classesSettings: { classes: [], opacity: 0 } },
    ...{ showText: true, textSettings: { column: "name", fontSize: 16, halo: false, fontColor: "#000000" } },
  });
  const { painted } = await draw("ranked", place);
  t.ok(painted > 200, `${painted}`);
});

t.test("a pie without a value in the column of sizes is as small as the smallest", async (t) => {
  await layerOf("unsized", [
    { a: 1, s: 5, geom: point(3, 5) },
    { a: 1, s: 9, geom: point(5, 5) },
    { a: 1, geom: point(7, 5) },
  ]);
  const columns = [{ code: "a", color: "#00aa00" }];
  const size = { sizeType: 3, sizeColumnCode: "s", sizeFrom: 16, sizeTo: 30 };
  await show("unsized", { type: 4, classesSettings: { columns, opacity: 1, ...size } });
  const drawn = await draw("unsized", place);
  for (const lon of [3, 5, 7]) t.ok(near(drawn.at(lon, 5, 2, 2), "#00aa00"), `at ${lon}`);
});

t.test("a tile after another palette has its colours", async (t) => {
  await layerOf("shares", [
    { n: 1, geom: point(3, 5) },
    { n: 2, geom: point(5, 5) },
    { n: 3, geom: point(8, 5) },
  ]);
  for (const [palette, colours] of Object.entries({
    Greens: ["#e5f5e0", "#a1d99b", "#31a354"],
    OrRd: ["#fee8c8", "#fdbb84", "#e34a33"],
  })) {
    const look = { type: 1, columnCode: "n", algorithm: 1, classesCount: 3, showBorder: false };
    await show("shares", { ...look, classesSettings: { palette } });
    const tile = await draw("shares", place);
    for (const [at, lon] of [3, 5, 8].entries()) t.ok(near(tile.at(lon, 5), colours[at]!), palette);
  }
});

t.test("patterns of lines show their gaps at any width", async (t) => {
  const path = (lat: number) => ({
    type: "LineString",
    coordinates: [
      [1, lat],
      [10, lat],
    ],
  });
  await layerOf("dashed", [{ n: 1, geom: path(5) }]);
  for (const lineWidth of [1, 2, 4, 8, 16])
    for (const linePattern of ["dash", "dot", "dashdot", "6 4"]) {
      const classes = [{ value: "1", color: "#0000ff" }];
      await show("dashed", {
        ...{ type: 2, columnCode: "n", showBorder: false },
        classesSettings: { classes, lineWidth, linePattern },
      });
      const tile = await draw("dashed", place, 2);
      const drawn = Array.from({ length: 300 }, (_, dx) => tile.at(2, 5, dx)[3]! > 128);
      const share = drawn.filter(Boolean).length / drawn.length;
      t.ok(share > 0.2 && share < 0.8, `${linePattern}, ${lineWidth} pixels: ${share}`);
    }
});

t.test("lines and points of greater values lie over those of lesser ones", async (t) => {
  const line = (...coordinates: unknown[]) => ({ type: "LineString", coordinates });
  await layerOf("crossing", [
    { n: 40, geom: line([1, 5], [10, 5]) },
    { n: 10, geom: line([5, 1], [5, 10]) },
    { n: 20, geom: line([5, 1], [5, 10]) },
  ]);
  await layerOf("stacked", [
    { n: 40, geom: point(5, 5) },
    { n: 10, geom: point(5, 5) },
    { n: 20, geom: point(5, 5) },
  ]);
  for (const code of ["crossing", "stacked"]) {
    const look = { type: 1, columnCode: "n", classesCount: 3, algorithm: 1 };
    await show(code, { ...look, classesSettings: { lineWidth: 8 } });
    const legend = (await api("GET", `m/layers/${code}/legend/`)).json.classificators;
    t.ok(near((await draw(code, place)).at(5, 5), legend.at(-1).fill), code);
  }
});

t.test("bubbles of the classes' sizes, small over large, over a seam", async (t) => {
  await layerOf("towns", [
    { n: 0, geom: point(3, 5) },
    { n: 100, geom: point(8, 5) },
    { n: 0, geom: point(8.2, 5) },
    { n: 100, geom: point(0, 8) },
  ]);
  const classesSettings = { pointSizeMin: 10, pointSizeMax: 60, color: "#3366cc" };
  await show("towns", { type: 3, columnCode: "n", classesCount: 2, showBorder: false, classesSettings });
  const tile = await draw("towns", place);
  t.ok(near(tile.at(3, 5, 3), "#3366cc"));
  t.equal(tile.at(3, 5, 7)[3], 0);
  t.ok(near(tile.at(8, 5, 28), "#3366cc"));
  t.ok(near(tile.at(0, 8, 25), "#3366cc"));
  t.ok(near((await draw("towns", { ...place, lon: -1 })).at(0, 8, -25), "#3366cc"), "the other half");
});

const charted = [
  { a: 10, b: 10, c: 20, size: 1, geom: point(3, 6) },
  { a: 0, b: 40, c: 0, size: 4, geom: point(8, 6) },
  { a: 5, b: -10, c: 0, size: 1, geom: square(2, 1, 2) },
  { a: 40, b: 20, c: 10, size: 2, geom: point(0, 9) },
];
const colours = ["#ee6677", "#228833", "#4477aa"];
const columns = ["a", "b", "c"].map((code, at) => ({ code, color: colours[at] }));

t.test("pies", async (t) => {
  await layerOf("pies", charted);
  await show("pies", {
    type: 4,
    classesSettings: { columns, sizeType: 3, sizeColumnCode: "size", allowOverlap: true },
  });
  const tile = await draw("pies", place);
  t.ok(near(tile.at(3, 6, 4, -4), colours[0]!));
  t.ok(near(tile.at(3, 6, 4, 4), colours[1]!));
  t.ok(near(tile.at(3, 6, -5, 0), colours[2]!));
  t.equal(tile.at(3, 6, 13)[3], 0, "of the least size");
  t.ok(near(tile.at(8, 6, -25, 0), colours[1]!), "one value alone is a circle of the greatest size");
  t.ok(near(tile.at(8, 6, 0, -10), colours[1]!));
  const fine = await draw("pies", place, 2);
  t.ok(near(fine.at(8, 6, -52, 0), colours[1]!), "in pixels of an unscaled tile");
  t.equal(fine.at(3, 6, 26)[3], 0);
  await show("pies", {
    type: 4,
    showText: true,
    textSettings: { column: "a" },
    classesSettings: { columns },
  });
  t.ok(near((await draw("pies", place)).at(8, 6, 15, 5), colours[1]!), "of a fixed size");
});

t.test("the scale of pies: a ring with tenths, and the values of the sectors", async (t) => {
  await layerOf("ringed", [{ a: 30, b: 70, geom: point(5, 6) }]);
  const classesSettings = { columns: columns.slice(0, 2), sizeValue: 60 };
  await show("ringed", { type: 4, showBorder: false, showText: true, classesSettings });
  const plain = await draw("ringed", place, 2);
  await show("ringed", {
    type: 4,
    showBorder: false,
    classesSettings: { ...classesSettings, showScale: true },
  });
  const scaled = await draw("ringed", place, 2);
  // A radius of 60 pixels at this density, then the ring; a tenth of the way round there is a mark, between them none.
  const at = (tile: typeof plain, turn: number, radius: number) =>
    tile.at(
      5,
      6,
      ...([Math.sin(turn), -Math.cos(turn)].map((each) => Math.round(each * radius)) as [number, number]),
    )[3]!;
  const tenth = (2 * Math.PI) / 10;
  const marked = (tile: typeof plain, turn: number, from: number, to: number) =>
    Math.max(...Array.from({ length: to - from }, (_, step) => at(tile, turn, from + step)));
  t.equal(marked(plain, 0.5 * tenth, 63, 69), 0);
  t.ok(marked(scaled, 0.5 * tenth, 63, 69) > 128, "a ring");
  t.ok(marked(scaled, 6 * tenth, 68, 71) > 100, "a mark at six tenths");
  t.equal(marked(scaled, 5.5 * tenth, 69, 72), 0);
  const around = (tile: typeof plain, turn: number) =>
    [-8, -4, 0, 4, 8].reduce((sum, off) => sum + marked(tile, turn + off / 90, 80, 110), 0);
  t.equal(around(plain, 1.5 * tenth), 0);
  t.ok(around(scaled, 1.5 * tenth) > 255, "the first value beside its sector");
  t.ok(around(scaled, 6.5 * tenth) > 255, "the second one");
});

t.test("bars and lines, by one scale for all objects", async (t) => {
  await layerOf("bars", charted);
  await show("bars", { type: 5, classesSettings: { columns, showScale: true, sizeValue: 50 } });
  const bars = await draw("bars", place);
  // The values are from -10 to 40: 10 pixels below the line of 0, 40 above it.
  t.ok(near(bars.at(8, 6, 0, -22), colours[1]!));
  t.ok(near(bars.at(3, 6, -16, 12), colours[0]!));
  t.ok(near(bars.at(3, 6, -16, 0), "#ffffff", 60), "the panel behind");
  t.ok(near(bars.at(3, 2, 0, 20), colours[1]!, 20), "below 0");
  await layerOf("lines", charted);
  await show("lines", { type: 6, classesSettings: { columns, sizeValue: 50, showScale: true } });
  const lines = await draw("lines", place);
  t.ok(near(lines.at(8, 6, -13, -5), colours[1]!, 30));
});

t.test("charts that may not overlap leave the larger", async (t) => {
  await layerOf("near", [
    { a: 1, b: 1, geom: point(4, 5) },
    { a: 9, b: 9, geom: point(4.5, 5) },
  ]);
  await show("near", { type: 4, classesSettings: { columns: columns.slice(0, 2), sizeType: 2, opacity: 1 } });
  const tile = await draw("near", place);
  t.ok(near(tile.at(4.5, 5, 20), colours[0]!));
  t.ok(near(tile.at(4.5, 5, -20), colours[1]!), "nothing over it");
});

t.test("charts without room are half as large, or dots", async (t) => {
  const pair = ["#ff0000", "#0000ff"].map((color, at) => ({ code: "ab"[at], color }));
  const [lon, lat] = [5, 5];
  // Pixels at zoom 5.
  const right = (pixels: number) => lon + (pixels * 360) / 8192;
  await layerOf("rooms", [
    { a: 1, b: 1, geom: point(right(34), lat) },
    { a: 1, b: 1, geom: point(lon, lat) },
    { a: 1, b: 1, geom: point(right(-10), lat) },
    { a: 0, b: 0, geom: point(right(70), lat) },
    { a: 1, b: 1, geom: point(right(82), lat) },
  ]);
  const pies = (settings: object = {}) =>
    show("rooms", { type: 4, showBorder: false, classesSettings: { columns: pair, ...settings } });
  await pies();
  const tile = await draw("rooms", { lon, lat, z: 5 });
  t.ok(near(tile.at(lon, lat, 17), "#ff0000"), "the first");
  t.ok(near(tile.at(right(34), lat, 7), "#ff0000"), "the second, smaller");
  t.equal(tile.at(right(34), lat, 14)[3], 0);
  t.ok(near(tile.at(right(-10), lat), "#4d5761", 30), "the third is a dot");
  t.ok(near(tile.at(right(82), lat, 17), "#ff0000"), "what has nothing to show takes no room");
  await pies({ sizeType: 2 });
  const sized = await draw("rooms", { lon, lat, z: 5 });
  t.ok(near(sized.at(right(34), lat), "#4d5761", 30), "a size that tells a value is never another");
});

t.test("legends of charts say what becomes of those without room", async (t) => {
  const pies = (settings: object) =>
    show("rooms", { type: 4, classesSettings: { columns: columns.slice(0, 2), ...settings } });
  const items = async (query = "?extended=1") =>
    (await api("GET", `m/layers/rooms/legend/${query}`)).json.classificators;
  await pies({});
  t.equal((await items("")).length, 2, "clients of the contract see the columns");
  const [, , last] = await items();
  t.match(last, { value: null, noRoom: "smaller", text: null });
  const dot = await picture(await (await fetch(server.url + last.icon)).arrayBuffer());
  t.ok(near(dot.at(dot.width / 2, dot.height / 2), last.fill));
  await pies({ sizeType: 2 });
  t.match((await items()).at(-1), { noRoom: "dot" });
  await pies({ allowOverlap: true });
  t.equal((await items()).length, 2);
});

t.test("legends of pies tell their sizes, as tiles draw them", async (t) => {
  await layerOf("sized", [
    { a: 1, b: 0, n: 100, geom: point(2, 5) },
    { a: 1, b: 0, n: 500, geom: point(5, 5) },
    { a: 1, b: 0, n: 1000, geom: point(8, 5) },
  ]);
  const pair = columns.slice(0, 2);
  const pies = (settings: object) =>
    show("sized", { type: 4, showBorder: false, classesSettings: { columns: pair, ...settings } });
  const read = async (query = "?extended=1") => (await api("GET", `m/layers/sized/legend/${query}`)).json;
  const sizes = { sizeFrom: 10, sizeTo: 60 };
  await pies({ ...sizes, sizeType: 3, sizeColumnCode: "n", allowOverlap: true });
  t.equal((await read("")).classificators.length, 2, "clients of the contract see the columns");
  const legend = await read();
  const items = legend.classificators.slice(2);
  t.equal(legend.sizeTitle, "n");
  t.same(
    items.map(({ value, text }: { value: number; text: string }) => [value, text]),
    [
      [100, "100"],
      [500, "500"],
      [1000, "1,000"],
    ],
  );
  const tile = await draw("sized", place);
  for (const [at, lon] of [2, 5, 8].entries()) {
    let width = 0;
    for (let dx = -35; dx <= 35; dx++) if (tile.at(lon, 5, dx)[3]! > 127) width++;
    t.ok(Math.abs(width - items[at].size) <= 1.5, `${lon}: ${width}, ${items[at].size}`);
  }
  const widths: number[] = [];
  for (const { icon } of items) {
    const drawn = await picture(await (await fetch(`${server.url}${icon}&size=128`)).arrayBuffer());
    widths.push(drawn.width);
  }
  t.same(widths, [128, 128, 128], "each has a symbol");
  await pies({ ...sizes, sizeType: 2, allowOverlap: true });
  t.match(await read(), { sizeTitle: null }, "of a sum the client says so");
  await pies({ sizeType: 1 });
  t.notOk("sizeTitle" in (await read()));
  await pies({ ...sizes, sizeType: 3, sizeColumnCode: "n" });
  t.match((await read()).classificators.at(-1), { noRoom: "dot" }, "after the sizes");
});

t.test("what becomes of a chart does not depend on how far beyond a tile objects are read", async (t) => {
  const layer = {
    token,
    body: { code: "wider", css_style: "#wider { marker-width: 256; marker-line-width: 90; }" },
  };
  const wider = (await api("POST", "m/layers/", layer)).json.id as number;
  t.type(wider, "number");
  await layerOf("crowd", [{ a: 1, geom: point(0, 0) }]);
  const [column] = (await api("GET", "m/layers/crowd/structure/")).json.filter(
    ({ code }: { code: string }) => code === "a",
  );
  const id = ids.get("crowd");
  await server.sql.query(
    `insert into layers.l${id} (geom, c${column.id}) select st_setsrid(st_makepoint(
       (n * 0.6180339887)::numeric % 1 * 20 - 10, (n * 0.7548776662)::numeric % 1 * 20 - 10), 4326), n from generate_series(1, 400) n`,
  );
  await server.nodes[0]!.services.changes.propagate();
  for (const [type, settings] of [
    [4, {}],
    [5, {}],
    [6, {}],
    [4, { sizeType: 2, sizeFrom: 10, sizeTo: 40 }],
  ] as const) {
    await show("crowd", { type, classesSettings: { columns: [{ code: "a" }], ...settings } });
    for (const place of ["15/15", "16/15", "15/16", "16/16"]) {
      const pixels = async (layers: string) => {
        const answer = await fetch(`${server.url}/tms/p/m/5/${place}.png?base=0&layers=${layers}`);
        return sharp(await answer.arrayBuffer())
          .raw()
          .toBuffer();
      };
      t.ok((await pixels(`${id}`)).equals(await pixels(`${id},${wider}`)), `type ${type}, ${place}`);
    }
  }
});

t.test("heat maps: hot where objects are close, weights, seams", async (t) => {
  await layerOf("heat", [
    { w: 10, geom: point(4, 5) },
    { w: 5, geom: point(8, 5) },
    { w: 0, geom: point(6, 9) },
    { w: 10, geom: point(0, 8) },
  ]);
  const column = (await api("GET", "m/layers/heat/structure/")).json.find(
    (one: { code: string }) => one.code === "w",
  );
  const colors = ["#0000ff", "#00ff00", "#ff0000"];
  const weighted = { useWeight: true, useWeightField: column.id, weightNormalize: true };
  await show("heat", { type: 7, classesSettings: { ...weighted, colors, markerSize: 30, markerOpacity: 1 } });
  const tile = await draw("heat", place);
  t.ok(near(tile.at(4, 5), "#ff0000", 30));
  t.match(tile.at(8, 5)[1] > 150, true, "half the weight");
  t.ok(tile.at(8, 5)[3]! > 220, "which is more than a tint");
  t.equal(tile.at(6, 9)[3], 0, "no weight");
  const [left, right] = [(await draw("heat", { ...place, lon: -1 })).at(0, 8, -1), tile.at(0, 8, 1)];
  t.ok(
    left.every((value, at) => Math.abs(value - right[at]!) < 16),
    "no seam",
  );
});

t.test(
  "heat maps: each zoom has a scale of its own, by which few objects are pale beside many",
  async (t) => {
    const many = Array.from({ length: 25 }, (_, at) => ({
      geom: point(10 + (at % 5), 5 + Math.floor(at / 5)),
    }));
    await layerOf("dense", [...many, { geom: point(60, 7) }]);
    await show("dense", { type: 7 });
    const far = await draw("dense", { lon: 12, lat: 7, z: 1 });
    t.ok(far.at(12, 7)[3]! > 150, "many");
    t.ok(far.at(60, 7)[3]! < 60, "one beside many");
    t.notOk(near(far.at(12, 7), "#d71c1c", 20), "many are not beyond the last colour");
    t.ok(
      (await draw("dense", { lon: 60, lat: 7, z: 7 })).at(60, 7)[3]! > 100,
      "one where none is beside another",
    );
  },
);

t.test("heat maps: an object that is drawn as one with another changes the tiles of both", async (t) => {
  // Others, so that it is not the scale that changes.
  const others = Array.from({ length: 60 }, (_, at) => ({
    geom: point(-172 + 16 * (at % 10), -60 + 22 * Math.floor(at / 10)),
  }));
  await layerOf("joined", [...others, { geom: point(2.514, 5) }]);
  await show("joined", { type: 7, classesSettings: { markerOpacity: 1, markerSize: 59 } });
  const beside = { lon: -5, lat: 5, z: 5 };
  t.ok((await draw("joined", beside)).painted > 0, "57 pixels away");
  await add("joined", [{ geom: point(3.296, 5) }]);
  t.equal((await draw("joined", beside)).painted, 0, "they are drawn 66 pixels away");
});

t.test("heat maps: an edit that changes the scale redraws the layer, others what they touch", async (t) => {
  const crowd = (lon: number) => Array.from({ length: 4 }, (_, at) => ({ geom: point(lon + at / 50, 5) }));
  await layerOf("scaled", [{ geom: point(-120, 5) }, ...crowd(5)]);
  await show("scaled", { type: 7 });
  const renders = () => server.nodes[0]!.services.tiles.rendered;
  const far = { lon: -120, lat: 5, z: 5 };
  const heat = async () => (await draw("scaled", far)).at(-120, 5)[3]!;
  const before = await heat();
  await add("scaled", [{ geom: point(60, 50) }]);
  const drawn = renders();
  t.equal(await heat(), before);
  t.equal(renders(), drawn, "far away nothing is drawn again");
  await add("scaled", [...crowd(5), ...crowd(5), ...crowd(5)]);
  t.ok((await heat()) < before / 2, "one beside many more is paler");
});

t.test(
  "clusters: close objects are one circle with their number, which parts at larger scales",
  async (t) => {
    const crowd = Array.from({ length: 30 }, (_, at) => ({
      geom: point(5 + (at % 6) / 10, 4 + Math.floor(at / 6) / 10),
    }));
    await layerOf("town", [...crowd, { geom: point(9, 9) }]);
    await show("town", { type: 8, showBorder: false, classesSettings: { color: "#ffee00" } });
    const far = await draw("town", place);
    t.ok(
      near(far.at(5.25, 4.2, -11), "#ffee00"),
      "a circle where they are on average, wider than one object's marker",
    );
    t.equal(far.at(5.25, 4.2, -30)[3], 0, "of the least width and a little more");
    t.ok(near(far.at(9, 9), "#ffee00"), "one that is alone");
    t.equal(far.at(9, 9, 8)[3], 0, "is small");
    // The number is dark upon a pale colour.
    const dark = [...Array(9).keys()].filter((dx) =>
      far
        .at(5.25, 4.2, dx - 4)
        .slice(0, 3)
        .every((part) => part < 120),
    );
    t.ok(dark.length > 0, "a number stands in it");
    const close = await draw("town", { lon: 5, lat: 4, z: 12 });
    t.ok(near(close.at(5, 4), "#ffee00"), "they part");
    t.equal(close.at(5.02, 4.02)[3], 0);
    await show("town", { type: 8, showBorder: false, classesSettings: { color: "#ffee00", maxZoom: 4 } });
    t.equal(
      (await draw("town", place)).at(5.25, 4.2, -15)[3],
      0,
      "beyond the last zoom they are drawn singly",
    );
  },
);

t.test("clusters: labels of single objects keep clear of circles", async (t) => {
  const crowd = Array.from({ length: 30 }, (_, at) => ({ name: "", geom: point(5 + at / 100, 4) }));
  // Its label would be upon the circle below it.
  await layerOf("labelled", [
    ...crowd,
    { name: "MMMM", geom: point(5.3, 6.1) },
    { name: "MMMM", geom: point(9, 9) },
  ]);
  const textSettings = { column: "name", fontColor: "#ff0000", fontSize: 14, halo: false };
  const look = {
    type: 8,
    showBorder: false,
    classesSettings: { color: "#ffee00", radius: 30, pointSizeMin: 30 },
  };
  await show("labelled", { ...look, showText: true, textSettings });
  const drawn = await draw("labelled", place);
  const isRed = ([red = 0, green = 0, , alpha = 0]: readonly number[]) =>
    red > 200 && green < 90 && alpha > 200;
  const redsBelow = (lon: number, lat: number) =>
    [...Array(40 * 16).keys()].filter((n) => isRed(drawn.at(lon, lat, (n % 40) - 20, 6 + Math.floor(n / 40))))
      .length;
  t.ok(redsBelow(9, 9) > 10, "one that is free has its label");
  t.ok(near(drawn.at(5.3, 6.1), "#ffee00"));
  t.equal(redsBelow(5.3, 6.1), 0);
});

t.test(
  "clusters: neighbouring metatiles agree, and an edit changes all tiles that its circle is on",
  async (t) => {
    // 0° is the border of two metatiles at each zoom; the circle is at its own square's border, and moves with the new one.
    await layerOf("border", [{ geom: point(0.4, 5) }, { geom: point(1.2, 5) }]);
    await show("border", {
      type: 8,
      showBorder: false,
      classesSettings: { radius: 128, pointSizeMin: 60, pointSizeMax: 60 },
    });
    const at = { lon: 1, lat: 5, z: 5 };
    const before = await draw("border", { ...at, lon: -1 });
    t.equal(before.painted, 0, "a circle keeps within its square");
    await add("border", [{ geom: point(-0.5, 5) }]);
    t.ok(near((await draw("border", { ...at, lon: -1 })).at(-0.5, 5), "#2a6fbb"), "one alone beside it");
    await add("border", [{ geom: point(-0.7, 5) }]);
    const [left, right] = [await draw("border", { ...at, lon: -1 }), await draw("border", at)];
    t.ok(near(left.at(-1.35, 5, 20), "#2a6fbb"));
    t.ok(near(right.at(1.3, 5, -20), "#2a6fbb"));
  },
);

t.test("an edit redraws a layer when it moves a border, else only what it touches", async (t) => {
  const at = (lon: number, n: number) => ({ n, geom: square(lon, 1, 2) });
  await layerOf("edited", [at(1, 0), at(3, 5), at(-121, 10), at(-124, 0)]);
  await show("edited", { type: 1, columnCode: "n", classesCount: 2, showBorder: false });
  const renders = () => server.nodes[0]!.services.tiles.rendered;
  const far = { lon: -120, lat: 2, z: 5 };
  const before = await draw("edited", far);
  const drawn = renders();
  await add("edited", [at(5, 4)]);
  t.ok(near((await draw("edited", place)).at(6, 2), "#a1dab4"));
  const near1 = renders();
  t.same((await draw("edited", far)).at(-120, 2), before.at(-120, 2));
  t.equal(renders(), near1, "far away nothing is drawn again");
  t.ok(near1 > drawn);
  await add("edited", [at(7, 100)]);
  t.ok(near(before.at(-120, 2), "#253494"));
  t.ok(near((await draw("edited", far)).at(-120, 2), "#a1dab4"), "the border is a higher one");
});

t.test("virtual layers, localised values, timestamps", async (t) => {
  await layerOf("dated", [
    { born: "2020-01-01T00:00:00Z", geom: square(2, 2, 1) },
    { born: "2021-01-01T00:00:00Z", geom: square(5, 2, 1) },
  ]);
  await api("POST", "m/layers/dated/structure/", {
    token,
    body: { code: "rank", type: "number", localized_value: true },
  });
  await api("POST", "m/layers/dated/objects/?lng=en", {
    token,
    body: { fields: { rank: 5, born: "2022-01-01T00:00:00Z" }, geom: square(8, 2, 1) },
  });
  const source = { layer: "dated", filter: "svc_id > 1" };
  const view = await api("POST", "m/layers/", { token, body: { code: "view", type: "virtual", source } });
  ids.set("view", view.json.id);
  await show("view", { type: 1, columnCode: "born", classesCount: 2 });
  const tile = await draw("view", place);
  t.equal(tile.at(2.5, 2.5)[3], 0, "not in the view");
  t.ok(near(tile.at(5.5, 2.5), "#a1dab4"));
  t.ok(near(tile.at(8.5, 2.5), "#253494"));
  await show("view", { type: 3, columnCode: "rank", showText: true, textSettings: { column: "rank" } });
  const bubbles = await draw("view", place);
  t.ok(near(bubbles.at(5.5, 2.5), "#f1f1f1"), "a pale dot where there is no value");
  t.ok(near(bubbles.at(8.5, 2.5, -10), "#2a6fbb"));
  await show("view", { type: 2, columnCode: "rank", classesSettings: { classes: [{ value: 5 }] } });
  const categories = await draw("view", place);
  t.ok(near(categories.at(8.5, 2.5), "#4477aa"));
  t.ok(near(categories.at(5.5, 2.5), "#bbbbbb"));
});

t.test("the largest settings, and values that look like SQL or XML, are drawn", async (t) => {
  const strange = `a'"]]> & <Layer/> \\ [b]`;
  await layerOf("many", [{ kind: strange, geom: square(2, 2, 1) }]);
  const classes = Array.from({ length: 999 }, (_, at) => ({ value: `value ${at}`, color: "#ff0000" }));
  await show("many", {
    type: 2,
    columnCode: "kind",
    showText: true,
    borderSettings: { width: 10_000, pattern: "0 0" },
    textSettings: { fontSize: 10_000, haloWidth: 10_000, fontFamily: strange },
    classesSettings: { classes: [...classes, { value: strange, color: "#00aa00" }], lineWidth: 10_000 },
  });
  t.ok((await draw("many", place)).painted > 0);
  await show("many", {
    type: 2,
    columnCode: "kind",
    showBorder: false,
    classesSettings: { classes: [...classes, { value: strange, color: "#00aa00" }] },
  });
  t.ok(near((await draw("many", place)).at(2.5, 2.5), "#00aa00"));
  const charts = Array.from({ length: 100 }, () => ({ code: "svc_id" }));
  for (const type of [4, 5, 6]) {
    await show("many", {
      type,
      classesSettings: { columns: charts, sizeType: 2, sizeFrom: 10_000, sizeTo: 10_000 },
    });
    t.ok((await draw("many", place)).painted > 0, `charts of type ${type}`);
  }
  const colors = Array.from({ length: 100 }, (_, at) => `#0000${(at + 100).toString(16)}`);
  await show("many", {
    type: 7,
    classesSettings: { colors, markerSize: 10_000, linkToScale: true, linkToScaleZoom: 22 },
  });
  t.ok((await draw("many", place)).painted >= 0);
});

t.test(
  "classes and bubbles have the icons that they are given, and plain markers without them",
  async (t) => {
    const admin = await server.token("admin");
    const green =
      '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><path d="M0 0h40v40h-40z" fill="#00ff00"/></svg>';
    const put = await fetch(`${server.url}/api/2.8/p/pictures/marks/green.svg`, {
      method: "PUT",
      headers: { "x-token": admin, "content-type": "image/svg+xml" },
      body: green,
    });
    t.equal(put.status, 200, await put.clone().text());
    await layerOf(
      "icons",
      ["a", "b", "c", "d"].map((name, at) => ({ name, n: at + 1, geom: point(2 + at * 2, 4) })),
    );
    const item = (value: string, icon: string, useIcon = true) => ({
      value,
      icon,
      useIcon,
      color: "#0000ff",
    });
    await show("icons", {
      type: 2,
      columnCode: "name",
      classesSettings: {
        classes: [
          item("a", "marks/green.svg"),
          item("b", "/marks/green.svg"),
          item("c", "marks/none.svg"),
          item("d", "marks/green.svg", false),
        ],
      },
    });
    const tile = await draw("icons", place);
    const colours = [2, 4, 6, 8].map((lon) => tile.at(lon, 4));
    for (const [at, colour] of ["#00ff00", "#00ff00", "#0000ff", "#0000ff"].entries())
      t.ok(near(colours[at]!, colour), `class ${at}: ${colours[at]}`);
    t.ok(near(tile.at(2, 4, 15, 15), "#00ff00"), "in its own size");
    t.equal(tile.at(2, 4, 24, 0)[3], 0);
    await show("icons", {
      type: 3,
      columnCode: "n",
      classesCount: 4,
      classesSettings: { icon: "marks/green.svg", useIcon: true, pointSizeMin: 8, pointSizeMax: 32 },
    });
    const bubbles = await draw("icons", place, 2);
    t.ok(near(bubbles.at(8, 4, 28, 28), "#00ff00"), "the largest, on a dense screen");
    t.ok(near(bubbles.at(2, 4, 5, 5), "#00ff00"), "the smallest");
    t.equal(bubbles.at(2, 4, 11, 11)[3], 0);
  },
);

t.test("values at the limits of numbers are drawn", async (t) => {
  const most = 1.7e308;
  const places = [point(3, 6), point(8, 6), point(3, 2)];
  await layerOf(
    "extreme",
    places.map((geom, at) => ({ a: [1, -1, 1][at], b: [1, -1, 1][at], c: 1, geom })),
  );
  const structure = (await api("GET", "m/layers/extreme/structure/")).json;
  const [a, b] = ["a", "b"].map((code) => structure.find((one: { code: string }) => one.code === code).id);
  // The API refuses such values; other clients of the database can store them.
  await server.nodes[0]!.services.db.execute(
    `update layers.l${ids.get("extreme")} set c${a} = c${a} * ${most}::float8, c${b} = c${b} * ${most}::float8`,
  );
  const charts = { columns, sizeValue: 50, showScale: true };
  for (const type of [4, 5, 6])
    for (const sizeType of [1, 2, 3]) {
      const classesSettings = { ...charts, sizeType, ...(sizeType === 3 && { sizeColumn: a }) };
      await show("extreme", { type, classesSettings });
      const tile = await draw("extreme", place);
      const one = [0, -6].some((dy) => [8, -12].some((dx) => tile.at(3, 6, dx, dy)[3] > 0));
      t.ok(one, `charts of type ${type}, size ${sizeType}`);
    }
  await show("extreme", { type: 7, classesSettings: { useWeight: true, useWeightField: a } });
  t.ok((await draw("extreme", place)).painted > 100, "weights");
  const size = { markerSizeType: "field", markerSizeField: a };
  const normalized = { useWeight: true, useWeightField: a, weightNormalize: true };
  await show("extreme", { type: 7, classesSettings: { ...size, ...normalized } });
  t.ok((await draw("extreme", place)).painted > 100, "sizes and weights by range");
  for (const type of [1, 3])
    for (const algorithm of [1, 2, 3]) {
      await show("extreme", { type, columnCode: "a", classesCount: 3, algorithm });
      const tile = await draw("extreme", place);
      t.ok(tile.at(3, 6)[3]! > 0, `type ${type}, algorithm ${algorithm}`);
      t.ok(tile.at(8, 6)[3]! > 0);
    }
  const legend = (await api("GET", "m/layers/extreme/legend/")).json;
  t.same([legend.minValue, legend.maxValue], [-most, most], "as they are");
});

t.test("values next to 0 are drawn", async (t) => {
  await layerOf("tiny", [{ a: 5e-324, b: 5e-324, c: 1e-310, geom: point(3, 6) }]);
  for (const type of [4, 5, 6]) {
    await show("tiny", { type, classesSettings: { columns, sizeValue: 50 } });
    t.ok((await draw("tiny", place)).painted >= 0, `type ${type}`);
  }
});

t.test("values that look like tokens of Mapnik's queries are values", async (t) => {
  const tokens = ["!bbox!", "!pixel_width!", "!@value!", "it's !scale_denominator!", "@value", "!"];
  await layerOf(
    "tokens",
    tokens.map((kind, at) => ({ kind, geom: square(0.5 + at * 1.5, 4, 1) })),
  );
  const classes = tokens.map((value, at) => ({ value, color: `#00${(100 + at * 20).toString(16)}ff` }));
  await show("tokens", { type: 2, columnCode: "kind", showBorder: false, classesSettings: { classes } });
  const tile = await draw("tokens", place);
  for (const [at, { value, color }] of classes.entries())
    t.ok(near(tile.at(1 + at * 1.5, 4.5), color, 4), value);
});

t.test("all kinds draw objects beyond 180 degrees in each copy of the world", async (t) => {
  await layerOf("beyond", [
    { kind: "a", a: 20, b: 10, c: 10, geom: square(172, 2, 15) },
    { kind: "b", a: 10, b: 20, c: 20, geom: point(-190, 7) },
    { kind: "a", a: 30, b: 10, c: 40, geom: square(-60, 2, 15) },
  ]);
  const border = { showBorder: false };
  const whole = { classes: [{ value: "a", color: "#ff0000" }], opacity: 1 };
  const classed = [
    { type: 1, columnCode: "a", classesCount: 2 },
    { type: 2, columnCode: "kind", classesSettings: whole },
  ];
  const [east, west] = [
    { lon: 175, lat: 5, z: 4 },
    { lon: -175, lat: 5, z: 4 },
  ];
  for (const settings of classed) {
    await show("beyond", { ...border, ...settings });
    const [one, other] = [(await draw("beyond", east)).at(176, 5), (await draw("beyond", west)).at(-176, 5)];
    t.ok(one[3] > 200, `type ${settings.type}`);
    t.same(one, other, "one colour on both sides");
  }
  const charts = { columns, sizeType: 1, sizeValue: 60, allowOverlap: true, showScale: true };
  const onPoints = [
    { type: 3, columnCode: "a", classesSettings: { pointSizeMin: 40, pointSizeMax: 40 } },
    ...[4, 5, 6].flatMap((type) =>
      [true, false].map((allowOverlap) => ({ type, classesSettings: { ...charts, allowOverlap } })),
    ),
    { type: 7, classesSettings: { markerSize: 30, markerOpacity: 1 } },
  ];
  for (const settings of onPoints) {
    await show("beyond", { ...border, ...settings });
    t.ok((await draw("beyond", east)).at(170, 7, 3, 3)[3]! > 100, `type ${settings.type}: 170 for -190`);
  }
  await show("beyond", { type: 4, ...border, classesSettings: charts });
  const world = await draw("beyond", { lon: 0, lat: 0, z: 0 });
  t.ok(near(world.at(-52.5, 9.5, 10, -15), colours[0]!), "shares of each object once");
  t.ok(near(world.at(170, 7, 10, -15), colours[0]!), "where it is drawn twice too");
  t.ok(near(world.at(170, 7, -15, 15), colours[2]!), "the last share");
});
