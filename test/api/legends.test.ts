import t from "tap";
import { makeMap, makeStyledLayer, square } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { geoTiff, type TestImage } from "../support/rasters.js";
import { startServer } from "../support/server.js";

/** Legends of layers that are drawn by their styles, and the symbols of classes. */

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const token = await server.token("editor");
await makeMap(server, "m");

interface Item {
  readonly value: string | number | null;
  readonly fill: string;
  readonly isIcon: boolean;
  readonly noRoom?: string;
  readonly icon: string;
  readonly minZoom: number | null;
  readonly maxZoom: number | null;
}

async function layer(code: string, css: string, kind: string, columns: Record<string, string> = {}) {
  const { id } = await makeStyledLayer(server, "m", code, "");
  for (const [column, type] of Object.entries(columns))
    await api("POST", `m/layers/${code}/structure/`, { token, body: { code: column, type } });
  const body = { parent_id: 0, css_style: css };
  const saved = await api("PATCH", `m/layers/${code}/`, { token, body });
  if (saved.status !== 200) throw new Error(saved.text);
  await server.sql.query("update layer set geometry_kind = $2 where id = $1", [id, kind]);
  await server.nodes[0]!.services.changes.propagate();
}

const legend = async (code: string, query = "") => api("GET", `m/layers/${code}/legend/?extended=1${query}`);
const items = async (code: string, query = ""): Promise<Item[]> =>
  (await legend(code, query)).json.classificators;
const symbol = async ({ icon }: Item, size = 64) => {
  const answer = await fetch(`${server.url}${icon}&size=${size}`);
  if (answer.status !== 200) throw new Error(await answer.text());
  return picture(await answer.arrayBuffer());
};
const near = (found: readonly number[], colour: string, tolerance = 6) =>
  [1, 3, 5].every(
    (at, index) => Math.abs(Number.parseInt(colour.slice(at, at + 2), 16) - found[index]!) <= tolerance,
  ) && found[3]! > 200;

/** Opaque pixels of the row in the middle. */
const opaqueAcross = (drawn: Awaited<ReturnType<typeof symbol>>): number =>
  Array.from({ length: drawn.width }, (_, x) => drawn.at(x, drawn.height / 2)[3]!).filter((a) => a > 200)
    .length;

t.test(
  "rules are classes in words, in the order of the style, and their symbols what tiles show",
  async (t) => {
    const css = `#a { marker-fill: #808080; marker-width: 10; marker-line-width: 0;
      [population >= 100000] { marker-fill: #ff8800; [zoom < 4] { marker-width: 4; } }
      [population >= 1000000] { marker-fill: #cc0000; marker-width: 20; } }
    #a::label { [population >= 1000000] { text-name: [name]; text-face-name: 'DejaVu Sans Book'; text-fill: #0000ff; text-dy: 14; } }`;
    await layer("towns", css, "Point", { population: "number", name: "string" });
    const found = await items("towns");
    t.same(
      found.map(({ value, fill, isIcon }) => ({ value, fill, isIcon })),
      [
        { value: null, fill: "#808080", isIcon: false },
        { value: "population ≥ 100,000", fill: "#ff8800", isIcon: false },
        { value: "population ≥ 1,000,000", fill: "#cc0000", isIcon: false },
      ],
    );
    for (const one of found) {
      const drawn = await symbol(one);
      t.match(drawn, { width: 64, height: 64 });
      t.ok(near(drawn.at(32, 32), one.fill), `${one.value}: ${drawn.at(32, 32)}`);
    }
    const [small, , large] = [await symbol(found[0]!), 0, await symbol(found[2]!)];
    t.equal(small.at(32 + 15, 32)[3], 0, "of the size on tiles");
    t.ok(near(large.at(32 + 15, 32), "#cc0000"), `${large.at(32 + 15, 32)}`);
    const russian = await items("towns", "&lng=ru");
    t.equal(russian[2]!.value, "population ≥ 1 000 000".replaceAll(/(?<=\d) /g, "\u00a0"));
    const { json } = await legend("towns");
    t.match(json, { type: null, column: null, name: "towns", more: 0, minValue: null });
  },
);

t.test("kinds of geometry are told in words of the reader's language", async (t) => {
  const css = `#a { ['mapnik::geometry_type' = 3] { polygon-fill: #010101; } ['mapnik::geometry_type' = 2] { line-color: #020202; }
    ['mapnik::geometry_type' = 1] { marker-fill: #030303; } }`;
  await layer("mixed", css, "Unknown");
  for (const [language, words] of [
    ["en", ["Areas", "Lines", "Points"]],
    ["de", ["Flächen", "Linien", "Punkte"]],
    ["ja", ["Areas", "Lines", "Points"]],
  ] as const)
    t.same(
      (await items("mixed", `&lng=${language}`)).map(({ value }) => value),
      words,
      language,
    );
});

t.test("without being asked for, only visualizations have legends", async (t) => {
  t.match(await api("GET", "m/layers/towns/legend/"), {
    status: 404,
    text: /no visualization of the layer &quot;towns&quot;: extended=1 makes a legend of the rules of its style\./,
  });
  t.equal((await legend("none")).status, 404);
});

t.test("filters of all sorts are readable", async (t) => {
  const css = `#a { [kind='oak'] { polygon-fill: #010101; } [height >= 10][height < 20] { polygon-fill: #020202; }
    [kind != 'oak'][open = true] { polygon-fill: #030303; } [height = null] { polygon-fill: #040404; }
    [height < -5.25] { polygon-fill: #050505; } [kind = ''] { polygon-fill: #060606; } }`;
  await layer("all", css, "Polygon", { kind: "string", height: "number", open: "bool" });
  const found = await items("all");
  t.same(
    found.map(({ value }) => value),
    ["kind = oak", "height = ∅", "height < −5.25", "kind = “”", "10 ≤ height < 20", "kind ≠ oak and open"],
    "single conditions first, as Mapnik tries them last",
  );
  for (const one of found) t.ok(near((await symbol(one, 16)).at(8, 8), one.fill, 0), String(one.value));
  t.same(
    found.map(({ fill }) => fill),
    [1, 4, 5, 6, 2, 3].map((at) => `#${`0${at}`.repeat(3)}`),
  );
});

t.test("attachments are put together, each as its rules select the class", async (t) => {
  const css = `#r::casing { line-color: #000000; line-width: 12; [kind = 'path'] { line-width: 0; } }
    #r { [kind = 'road'] { line-color: #ffcc00; line-width: 8; } [kind = 'path'] { line-color: #00aa00; line-width: 2; } }`;
  await layer("roads", css, "LineString", { kind: "string" });
  const found = await items("roads");
  t.same(
    found.map(({ value }) => value),
    [null, "kind = path", "kind = road"],
  );
  const road = await symbol(found[2]!, 128);
  const colours = new Set<string>();
  for (let x = 0; x < 128; x++)
    for (let y = 0; y < 128; y++) if (road.at(x, y)[3] === 255) colours.add(road.at(x, y).join());
  t.ok(colours.has("0,0,0,255") && colours.has("255,204,0,255"), "a casing and a filling");
  t.equal((await items("roads"))[1]!.fill, "#00aa00");
});

t.test("symbols are sharp in each size, and there are none of other numbers", async (t) => {
  const [one] = await items("towns");
  for (const size of [8, 33, 512]) t.match(await symbol(one!, size), { width: size, height: size });
  const edge = await symbol(one!, 512);
  const soft = Array.from({ length: 512 }, (_, x) => edge.at(x, 256)[3]!).filter((a) => a > 0 && a < 255);
  t.ok(soft.length <= 4, `${soft.length} pixels on both edges are neither`);
  for (const [number, status] of [
    ["99", 404],
    ["-1", 400],
    ["x", 400],
    ["1e9", 400],
  ] as const)
    t.equal((await fetch(`${server.url}/api/2.8/p/m/layers/towns/icon/?class=${number}`)).status, status);
});

t.test("labels are whole where they are all there is, and leave symbols alone", async (t) => {
  const text =
    "text-name: [name]; text-face-name: 'DejaVu Sans Bold'; text-size: 30; text-fill: #0000ff; text-dy: 12;";
  await layer("names", `#a { ${text} }`, "Point", { name: "string" });
  await layer(
    "labelled",
    `#a { marker-width: 8; marker-fill: #ff0000; marker-line-width: 0; ${text} }`,
    "Point",
    {
      name: "string",
    },
  );
  const alone = await symbol((await items("names"))[0]!);
  const [across, edge] = [Array.from({ length: 64 }, (_, at) => at), [0, 63]];
  t.ok(
    across.some((x) => across.some((y) => alone.at(x, y)[3]! > 200)),
    "it is drawn",
  );
  t.ok(
    across.every((at) => edge.every((end) => alone.at(at, end)[3] === 0 && alone.at(end, at)[3] === 0)),
    "nothing of it is cut",
  );
  const dot = await symbol((await items("labelled"))[0]!);
  t.ok(
    across.every((x) => across.every((y) => dot.at(x, y)[3] === 0 || dot.at(x, y)[2]! < 50)),
    "there is nothing blue",
  );
});

t.test("small markers and thin lines are large enough to be seen, and keep their order", async (t) => {
  const rules = (name: string, sizes: readonly number[]) =>
    sizes.map((size, at) => `[n = ${at}] { ${name}: ${size}; }`).join(" ");
  await layer(
    "specks",
    `#a { marker-fill: #0000ff; marker-line-width: 0; ${rules("marker-width", [1, 2, 5, 9, 16])} }`,
    "Point",
    { n: "number" },
  );
  const discs: number[] = [];
  for (const one of (await items("specks")).slice(1)) discs.push((await symbol(one, 320)).painted);
  const least = Math.PI * 30 ** 2;
  t.ok(discs[0]! > least, `${discs}: 6 of 32 pixels wide`);
  t.ok(Math.abs(discs.at(-1)! / (Math.PI * 80 ** 2) - 1) < 0.05, `${discs.at(-1)}: the largest as on tiles`);
  await layer(
    "hairs",
    `#a { line-color: #0000ff; ${rules("line-width", [0.2, 0.5, 1, 1.8, 6])} }`,
    "LineString",
    {
      n: "number",
    },
  );
  const lines: number[] = [];
  for (const one of (await items("hairs")).slice(1)) lines.push((await symbol(one, 320)).painted);
  t.ok(lines[0]! > lines.at(-1)! / 6, `${lines}: a fifth as wide as a line of 6`);
  for (const sizes of [discs, lines])
    t.ok(
      sizes.length === 5 && sizes.every((size, at) => at === 0 || size > sizes[at - 1]!),
      `${sizes}: each is larger than the one before`,
    );
});

t.test("an outline keeps its share of a small symbol", async (t) => {
  const css = `#a::casing { line-color: #000000; line-width: 0.9; } #a { line-color: #ffff00; line-width: 0.3; }`;
  await layer("cased", css, "LineString");
  const drawn = await symbol((await items("cased"))[0]!, 320);
  const count = (isOf: (colour: readonly number[]) => boolean) => {
    let found = 0;
    for (let x = 0; x < 320; x++) for (let y = 0; y < 320; y++) if (isOf(drawn.at(x, y))) found++;
    return found;
  };
  const yellow = count(([red, , , alpha]) => red! > 200 && alpha! > 200);
  const black = count(([red, , , alpha]) => red! < 50 && alpha! > 200);
  t.ok(black / yellow > 1.5 && black / yellow < 2.5, `${black} black and ${yellow} yellow pixels`);
});

t.test("a legend is bounded, however many rules there are", async (t) => {
  const rules = Array.from({ length: 500 }, (_, n) => `[n = ${n}] { polygon-fill: #00ff00; }`);
  await layer("many", `#a { ${rules.join(" ")} }`, "Polygon", { n: "number" });
  const { json } = await legend("many");
  t.equal(json.classificators.length, 100);
  t.equal(json.more, 400);
});

t.test("classes tell the zooms at which tiles show them", async (t) => {
  const css = `#a { [kind = "a"] { polygon-fill: #ff0000; } [kind = "b"][zoom >= 5][zoom < 9] { polygon-fill: #00ff00; }
    [kind = "c"][zoom >= 12] { polygon-fill: #0000ff; } }`;
  await layer("zoomed", css, "Polygon", { kind: "string" });
  t.same(
    (await items("zoomed")).map(({ minZoom, maxZoom }) => [minZoom, maxZoom]),
    [
      [null, null],
      [12, 22],
      [5, 8],
    ],
  );
  await layer(
    "greyed",
    `#a { polygon-fill: #cccccc; [kind = "lake"][zoom >= 8] { polygon-fill: #0000ff; } }`,
    "Polygon",
    {
      kind: "string",
    },
  );
  t.same(
    (await items("greyed")).map(({ minZoom, maxZoom }) => [minZoom, maxZoom]),
    [
      [null, null],
      [8, 22],
    ],
  );
});

t.test("rules that draw as wider ones do at a zoom are no classes there", async (t) => {
  const css = `#a { [zoom = 3][rank <= 3], [zoom = 4][rank <= 4], [zoom >= 5] {
    marker-width: 4; [n >= 500] { marker-width: 6; } } }`;
  await layer("ranked", css, "Point", { rank: "number", n: "number" });
  t.same(
    (await items("ranked")).map(({ value, minZoom, maxZoom }) => [value, minZoom, maxZoom]),
    [
      [null, 5, 22],
      [null, 4, 4],
      [null, 3, 3],
      ["n ≥ 500", 5, 22],
      ["n ≥ 500", 4, 4],
      ["n ≥ 500", 3, 3],
    ],
  );
});

t.test("classes of visualizations have symbols as on tiles", async (t) => {
  await layer("visual", "", "Polygon", { n: "number", kind: "string" });
  for (const [n, kind] of [
    [1, "a"],
    [5, "b"],
    [9, "c"],
  ] as const)
    await api("POST", "m/layers/visual/objects/", {
      token,
      body: { fields: { n, kind }, geom: square(n, n, 1) },
    });
  const show = (visualSettings: object) =>
    api("PUT", "m/layers/visual/visualization/", { token, body: { visualSettings } });
  const classes = [
    { value: "a", color: "#ff0000" },
    { value: "b", color: "#0000ff" },
  ];
  const columns = [{ code: "n", color: "#00ff00" }];
  for (const settings of [
    { type: 1, columnCode: "n", classesCount: 3 },
    { type: 2, columnCode: "kind", classesSettings: { classes } },
    { type: 3, columnCode: "n", algorithm: 1 },
    { type: 4, classesSettings: { columns } },
    { type: 7, classesSettings: { colors: ["#ff00ff", "#ffff00"] } },
  ]) {
    t.equal((await show(settings)).status, 200);
    const { classificators: plain, maxValue } = (await api("GET", "m/layers/visual/legend/")).json;
    const found = await items("visual");
    if (settings.type === 3) {
      t.match(plain, [{ value: null }], "colours do not tell bubbles apart");
      t.equal(found.length, 5);
      t.equal(found.at(-1)!.value, maxValue);
      const widths = [];
      for (const one of found) widths.push(opaqueAcross(await symbol(one)));
      t.same(
        widths,
        widths.toSorted((a, b) => a - b),
      );
      t.ok(widths[0]! > 0 && widths[0]! < widths.at(-1)! / 4, `${widths}: in the scale of the largest`);
    } else
      t.same(
        found
          .filter(({ noRoom }) => noRoom === undefined)
          .map(({ value, fill, isIcon }) => ({ value, fill, isIcon })),
        plain,
      );
    t.ok(found.length > 0);
    for (const one of found)
      t.ok(near((await symbol(one)).at(32, 32), one.fill), `type ${settings.type}: ${one.value}`);
    const icon = await fetch(`${server.url}/api/2.8/p/m/layers/visual/icon/?size=64`);
    const whole = await picture(await icon.arrayBuffer());
    const stands = settings.type === 7 ? found.at(-1)! : found[0]!;
    t.ok(near(whole.at(32, 32), stands.fill), `type ${settings.type}: the icon is of ${stands.fill}`);
  }
});

t.test("a raster layer has the stops of its style, or the image, and the image as its icon", async (t) => {
  const place = { width: 64, height: 64, epsg: 3857, transform: [0, 1000, 0, 64_000, 0, -1000] };
  const images: Record<string, TestImage> = {
    photo: { ...place, value: () => [0x33, 0x66, 0xaa] },
    heights: { ...place, type: "Float32", value: (x) => [x * 10] },
  };
  for (const [code, image] of Object.entries(images)) {
    await makeStyledLayer(server, "m", code, "");
    const answer = await fetch(`${server.url}/api/2.8/p/m/layers/${code}/import/`, {
      method: "POST",
      headers: { "x-token": token, "x-filename": "a.tif", "content-type": "application/octet-stream" },
      body: new Uint8Array(geoTiff(image)),
    });
    t.equal(answer.status, 200, await answer.text());
  }
  const [photo] = await items("photo");
  t.match(photo, { value: null, isIcon: true });
  t.ok(near((await symbol(photo!)).at(32, 32), "#3366aa"));
  const icon = await fetch(`${server.url}/api/2.8/p/m/layers/photo/icon/?size=64`);
  t.ok(near((await picture(await icon.arrayBuffer())).at(32, 32), "#3366aa"));
  const [least, most] = await items("heights");
  t.match([least, most], [{ value: 0, fill: "#000000" }, { fill: "#ffffff" }]);
  t.ok(Number(most!.value) > 300, "the values of the image");
  const css_style =
    "#a { raster-colorizer-default-mode: linear; raster-colorizer-stops: stop(0, #008000) stop(300, #ffff00) stop(630, #ffffff); }";
  t.equal(
    (await api("PATCH", "m/layers/heights/", { token, body: { parent_id: 0, css_style } })).status,
    200,
  );
  const stops = await items("heights");
  t.same(
    stops.map(({ value }) => value),
    [0, 300, 630],
  );
  for (const one of stops) t.ok(near((await symbol(one)).at(32, 32), one.fill), String(one.value));
  t.match((await legend("heights")).json, { minValue: 0, maxValue: 630 });
});

t.test("a legend is made once for each language, and again after a change", async (t) => {
  await layer("kept", "#a { [kind = 'oak'] { polygon-fill: #010101; } }", "Polygon", { kind: "string" });
  const { services } = server.nodes[0]!;
  const { texts } = services;
  let made = 0;
  const of: typeof texts.of = (source, make) =>
    texts.of(source, () => {
      made++;
      return make();
    });
  Object.assign(services, { texts: { of } });
  t.teardown(() => Object.assign(services, { texts }));
  const [first, again] = [await legend("kept"), await legend("kept")];
  t.equal(made, 1);
  t.equal(again.text, first.text);
  t.equal(again.headers.get("etag"), first.headers.get("etag"));
  t.equal((await legend("kept", `&token=${token}`)).headers.get("cache-control"), "private, no-store");
  t.equal(made, 1, "it is the same for all who may read it");
  await legend("kept", "&lng=ru");
  t.equal(made, 2);
  const renamed = { type: "string", name: { en: "Species", ru: "Вид" } };
  const answer = await api("PUT", "m/layers/kept/structure/kind/", { token, body: renamed });
  t.equal(answer.status, 200, answer.text);
  t.equal((await items("kept"))[0]!.value, "Species = oak");
  const body = { parent_id: 0, css_style: "#a { [kind = 'oak'] { polygon-fill: #020202; } }" };
  await api("PATCH", "m/layers/kept/", { token, body });
  t.equal((await items("kept"))[0]!.fill, "#020202");
});
