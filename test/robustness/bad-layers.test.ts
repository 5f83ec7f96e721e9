import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import t from "tap";
import { blockFont } from "../support/fonts.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { readPdf } from "../support/pdf.js";
import { picture } from "../support/pictures.js";
import { geoTiff } from "../support/rasters.js";
import { startServer, type TestServer } from "../support/server.js";

/** A layer that cannot be drawn is left out of tiles, and named; the others are drawn, and nothing is kept of it. */

const folder = mkdtempSync(join(tmpdir(), "mapwright-bad-layers-"));
const plugin = join(folder, "moody.mjs");
writeFileSync(
  plugin,
  `import { existsSync } from "node:fs";
  export default { name: "moody", read: (settings) => settings, style: () => {
    if (existsSync(${JSON.stringify(join(folder, "moody"))})) throw new Error("a mood");
    return "#any { polygon-fill: #0000ff; }";
  } };`,
);

/** Images of an external service. */
let isAway = false;
const blue = sharp({ create: { width: 256, height: 256, channels: 4, background: "#0000ff" } })
  .png()
  .toBuffer();
const source = createServer((_request, response) => {
  if (isAway) response.writeHead(503).end();
  else void blue.then((bytes) => response.writeHead(200, { "content-type": "image/png" }).end(bytes));
});
await new Promise<void>((resolve) => source.listen(0, "127.0.0.1", resolve));
const host = `127.0.0.1:${(source.address() as AddressInfo).port}`;

const dataDir = join(folder, "data");
const server: TestServer = await startServer({
  config: {
    dataDir,
    visualPlugins: [plugin],
    externalHosts: [host],
    "externalLayers.privateAddresses": true,
    "externalLayers.retrySeconds": 1,
    "tiles.deadlineMs": 8_000,
    statementTimeoutMs: 1_000,
  },
});
t.teardown(async () => {
  await server.stop();
  source.closeAllConnections();
  source.close();
  rmSync(folder, { recursive: true, force: true });
});
const { api, sql } = server;
const [token, admin] = [await server.token("editor"), await server.token("admin")];
const node = server.nodes[0]!;

type Colour = readonly [number, number, number, number];
const [red, drawn, nothing]: Colour[] = [
  [255, 0, 0, 255],
  [0, 0, 255, 255],
  [0, 0, 0, 0],
] as const as never;

/** A map whose tile 3/4/3 shows the healthy layer at its left and has room for the other at its right. */
let made = 0;
async function makeHealthy(): Promise<string> {
  const map = `m${++made}`;
  await makeMap(server, map);
  await makeStyledLayer(server, map, "good", "#a { polygon-fill: #ff0000; }");
  await addObject(server, "good", square(2, 5, 18), { map });
  return map;
}

/** Adds the layer that is to fail, with a square at the right. */
async function addBad(map: string, css = "#a { polygon-fill: #0000ff; }"): Promise<number> {
  const { id } = await makeStyledLayer(server, map, "bad", css);
  await addObject(server, "bad", square(25, 5, 18), { map });
  return id;
}

interface Asked {
  readonly left: Colour;
  readonly right: Colour;
  readonly incomplete: string | null;
  readonly caching: string | null;
  readonly etag: string | null;
}

async function ask(map: string, query = "base=0", place = "3/4/3", more = ".png"): Promise<Asked> {
  const answer = await fetch(`${server.url}/tms/p/${map}/${place}${more}?${query}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (answer.status !== 200) throw new Error(`${answer.status} ${bytes.toString("latin1", 0, 300)}`);
  const image = await picture(bytes);
  const side = image.width / 256;
  return {
    left: image.at(60 * side, 160 * side),
    right: image.at(200 * side, 160 * side),
    incomplete: answer.headers.get("x-tile-incomplete"),
    caching: answer.headers.get("cache-control"),
    etag: answer.headers.get("etag"),
  };
}

/** Until the layer is drawn again, for some seconds. */
async function until<T>(asked: () => Promise<T>, is: (found: T) => boolean): Promise<T> {
  for (const end = Date.now() + 20_000; ; ) {
    const found = await asked();
    if (is(found) || Date.now() > end) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Blobs that were stored while `work` ran. */
async function blobsOf(work: () => Promise<unknown>): Promise<string[]> {
  const list = async () =>
    (await readdir(dataDir, { recursive: true }))
      .filter((name) => /[0-9a-f]{2}\/[0-9a-f]{8}-[0-9a-f-]{27}$/.test(name))
      .map((name) => join(dataDir, name));
  const before = new Set(await list());
  await work();
  return (await list()).filter((name) => !before.has(name));
}

interface Trouble {
  readonly cause: string;
  /** What tiles name. */
  readonly name?: string;
  readonly query?: string;
  readonly repair: () => Promise<unknown>;
  readonly after?: () => Promise<unknown>;
  /** Of the layer when it is drawn; absent = blue. */
  readonly colour?: "any";
}
/** Makes the map's layer "bad", which fails; before it has been drawn. */
type MakeTrouble = (map: string) => Promise<Trouble>;

async function send(path: string, bytes: Buffer, name: string, method = "POST"): Promise<void> {
  const answer = await fetch(`${server.url}/api/2.8/p/${path}`, {
    method,
    headers: { "x-token": admin, "x-filename": name, "content-type": "application/octet-stream" },
    body: bytes as never,
  });
  if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`);
}

/** An image of the right half of the tile. */
const image = geoTiff({
  width: 200,
  height: 200,
  value: () => [0, 0, 255],
  epsg: 3857,
  transform: [2_700_000, 10_000, 0, 2_700_000, 0, -10_000],
});

const raster =
  (spoil: (blob: string) => Promise<() => Promise<unknown>>): MakeTrouble =>
  async (map) => {
    await makeStyledLayer(server, map, "bad", "");
    const blobs = await blobsOf(() => send(`${map}/layers/bad/import/`, image, "a.tif"));
    const repairs = await Promise.all(blobs.map(spoil));
    return { cause: "file", repair: () => Promise.all(repairs.map((repair) => repair())) };
  };

const away = async (path: string) => {
  await rename(path, `${path}.away`);
  return () => rename(`${path}.away`, path);
};
const damaged = async (path: string) => {
  const bytes = await readFile(path);
  await writeFile(path, Buffer.alloc(bytes.length, 7));
  return () => writeFile(path, bytes);
};

/** A picture or font of the layer's style, which was not drawn before. */
const styled =
  (path: string, bytes: () => Promise<Buffer> | Buffer, css: string, spoil = away): MakeTrouble =>
  async (map) => {
    const name = `${map}-${path}`;
    const content = await bytes();
    const blobs = await blobsOf(() =>
      send(
        `${path.endsWith("ttf") || path.endsWith("otf") ? "fonts" : "pictures"}/${name}`,
        content,
        name,
        "PUT",
      ),
    );
    if (blobs.length === 0) throw new Error("no blob was stored");
    await addBad(map, css.replaceAll("NAME", name));
    const repairs = await Promise.all(blobs.map(spoil));
    return { cause: "file", repair: () => Promise.all(repairs.map((repair) => repair())) };
  };

const square8 = (fill: string, side = 8) =>
  Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}"><rect width="${side}" height="${side}" fill="${fill}"/></svg>`,
  );

const renamed: MakeTrouble = async (map) => {
  const id = await addBad(map);
  await sql.query(`alter table layers.l${id} rename to away${id}`);
  return { cause: "database", repair: () => sql.query(`alter table layers.away${id} rename to l${id}`) };
};

/** A font of which the letter A is a block, so that labels without it are thin. */
const font: MakeTrouble = async (map) => {
  const trouble = await styled(
    "block.otf",
    () => blockFont({ family: "Block" }),
    `#a { text-name: "'A'"; text-size: 90; text-fill: #0000ff; text-face-name: 'Block Regular'; text-allow-overlap: true; }`,
  )(map);
  return trouble;
};

const external: MakeTrouble = async (map) => {
  isAway = true;
  // Its images lie below the healthy layer.
  const body = { code: "bad", type: "external", source: { url: `http://${host}/${map}/{z}/{x}/{y}.png` } };
  await must(api("POST", `${map}/layers/`, { token, body }));
  await must(api("PATCH", `${map}/layers/good/`, { token, body: { parent_id: 0, sort: 1 } }));
  return {
    cause: "source",
    repair: async () => {
      isAway = false;
    },
  };
};

const baseMap: MakeTrouble = async (map) => {
  isAway = true;
  const base = { kind: "tiles", url: `http://${host}/base-${map}/{z}/{x}/{y}.png` };
  const set = async (value: unknown) => {
    await sql.query("update project set base_map = $1 where code = 'p'", [value]);
    await node.services.changes.propagate();
  };
  await set(base);
  return {
    cause: "source",
    name: "_base",
    query: "",
    repair: async () => {
      isAway = false;
    },
    after: () => set({ kind: "builtin" }),
  };
};

const must = async (answer: Promise<{ readonly status: number; readonly text: string }>) => {
  const { status, text } = await answer;
  if (status !== 200) throw new Error(`${status} ${text}`);
};

/** A style of the database's, which was valid once. */
const outdatedStyle: MakeTrouble = async (map) => {
  const id = await addBad(map);
  const set = async (css: string) => {
    await sql.query("update node set css_style = $1 where id = $2", [css, id]);
    await node.services.changes.propagate();
  };
  await set("#a { polygon-thrill: #0000ff; }");
  return { cause: "style", repair: () => set("#a { polygon-fill: #0000ff; }") };
};

const moody: MakeTrouble = async (map) => {
  await addBad(map);
  await writeFile(join(folder, "moody"), "");
  const body = { visualCustomSettings: { type: "moody" } };
  await must(api("PUT", `${map}/layers/bad/visualization/`, { token, body }));
  return { cause: "plugin", repair: () => rm(join(folder, "moody")) };
};

/** A layer with two numbers, whose statistics cannot be had. @param settings of its visualization, and others */
const statistics =
  (settings: object, others: object): MakeTrouble =>
  async (map) => {
    await makeStyledLayer(server, map, "bad", "#a { polygon-fill: #0000ff; }");
    await must(api("POST", `${map}/layers/bad/structure/`, { token, body: { code: "n", type: "number" } }));
    for (const n of [1, 2]) {
      const body = { fields: { n }, geom: square(25, 5, 18) };
      await must(api("POST", `${map}/layers/bad/objects/`, { token, body }));
    }
    const { id } = (await sql.query("select id from node where code = 'bad' order by id desc limit 1"))
      .rows[0];
    await sql.query(`alter table layers.l${id} rename to away${id}`);
    const show = (visualSettings: object) =>
      must(api("PUT", `${map}/layers/bad/visualization/`, { token, body: { visualSettings } }));
    await show(settings);
    return {
      cause: "statistics",
      repair: async () => {
        await sql.query(`alter table layers.away${id} rename to l${id}`);
        // They would be tried again in half a minute.
        await show(others);
      },
      colour: "any",
    };
  };

/** Each of whose reads takes a minute. */
const slowView: MakeTrouble = async (map) => {
  await makeStyledLayer(server, map, "hidden", "#a[zoom>20] { polygon-fill: #0000ff; }");
  await addObject(server, "hidden", square(25, 5, 18), { map });
  const css = "#a { polygon-fill: #0000ff; }";
  const body = { code: "bad", type: "virtual", source: { layer: "hidden" }, css_style: css };
  const { id } = (await api("POST", `${map}/layers/`, { token, body })).json;
  const found = await sql.query(`select rtrim(pg_get_viewdef('layers.l${id}'::regclass), '; \n') as text`);
  const { text } = found.rows[0];
  await sql.query(`create or replace view layers.l${id} as ${text} where pg_sleep(60) is not null`);
  return {
    cause: "overrun",
    repair: async () => {
      await sql.query(`create or replace view layers.l${id} as ${text}`);
      // Otherwise it would be tried again in half a minute.
      const changed = { parent_id: 0, css_style: `${css}#a { line-width: 0; }` };
      await must(api("PATCH", `${map}/layers/bad/`, { token, body: changed }));
    },
  };
};

/** Thousands of lines that are drawn with thousands of wide markers each: several times what any machine draws in time. */
const endless: MakeTrouble = async (map) => {
  const id = await addBad(map, endlessStyle);
  await sql.query(
    `insert into layers.l${id} (geom) select st_setsrid(st_makeline(st_makepoint(25, 5 + n / 2000.0), st_makepoint(43, 5 + n / 1999.0)), 4326)
     from generate_series(1, 20000) n`,
  );
  return {
    cause: "overrun",
    repair: () =>
      must(
        api("PATCH", `${map}/layers/bad/`, {
          token,
          body: {
            parent_id: 0,
            css_style: "#a { polygon-fill: #0000ff; line-width: 3; line-color: #0000ff; }",
          },
        }),
      ),
  };
};
const endlessStyle = Array.from(
  { length: 60 },
  (_, n) =>
    `#a::n${n} { marker-placement: line; marker-spacing: 1; marker-width: 250; marker-fill: #0000ff; ` +
    "marker-allow-overlap: true; marker-ignore-placement: true; marker-opacity: 0.5; }",
).join("");

const troubles: readonly (readonly [string, MakeTrouble])[] = [
  ["a raster whose file is gone", raster(away)],
  ["a raster whose file is damaged", raster(damaged)],
  [
    "a picture that is gone",
    styled("a.svg", () => square8("#0000ff"), "#a { polygon-pattern-file: url(NAME); }"),
  ],
  [
    "a picture that is damaged",
    styled("a.svg", () => square8("#0000ff", 9), "#a { polygon-pattern-file: url(NAME); }", damaged),
  ],
  ["a font that is gone", font],
  ["an external service that is away", external],
  ["a base map of others that is away", baseMap],
  ["a stored style that does not compile", outdatedStyle],
  ["a plug-in that throws", moody],
  [
    "statistics that are late",
    statistics({ type: 1, columnCode: "n", classesCount: 3 }, { type: 1, columnCode: "n", classesCount: 2 }),
  ],
  [
    "a heat map whose scale is late",
    statistics(
      { type: 7, classesSettings: { markerSize: 90 } },
      { type: 7, classesSettings: { markerSize: 128 } },
    ),
  ],
  ["a table that is away", renamed],
  ["a statement that takes too long", slowView],
  ["a style that is drawn without end", endless],
];

for (const [name, make] of troubles) {
  t.test(`${name} blanks nothing else`, async (t) => {
    const map = await makeHealthy();
    const { cause, repair, name: code = "bad", query = "base=0", after, colour } = await make(map);
    const lacking = { left: red, right: nothing, incomplete: code, caching: "no-store", etag: null };
    for (const more of cause === "overrun" ? ["", ""] : ["", "", "&retina=2", "&q=1"])
      t.same(await ask(map, query + more), lacking, more);
    const webp = await ask(map, query, "3/4/3", ".webp");
    t.match(webp, { right: nothing, incomplete: code, caching: "no-store" });
    await repair();
    const well = await until(
      () => ask(map, query),
      ({ incomplete }) => incomplete === null,
    );
    t.match(well, { left: red, caching: /^public/, etag: /./ });
    if (colour) t.ok(well.right[3]! > 200);
    else t.same(well.right, drawn);
    const { rendered } = node.services.tiles;
    t.same(await ask(map, query), well);
    await after?.();
    t.equal(node.services.tiles.rendered, rendered, "it is kept");
  });
}

t.test("vector tiles leave it out as well, and are whole again", async (t) => {
  const map = await makeHealthy();
  const { repair } = await renamed(map);
  const tile = async () => {
    const answer = await fetch(`${server.url}/tms/p/${map}/3/4/3.mvt`);
    const text = Buffer.from(await answer.arrayBuffer()).toString("latin1");
    const { headers } = answer;
    return {
      status: answer.status,
      layers: ["good", "bad"].filter((code) => text.includes(code)),
      headers: ["x-tile-incomplete", "cache-control", "etag"].map((name) => headers.get(name)),
    };
  };
  for (let round = 0; round < 2; round++)
    t.same(await tile(), { status: 200, layers: ["good"], headers: ["bad", "no-store", null] });
  await repair();
  const well = await until(tile, ({ headers }) => headers[0] === null);
  t.match(well, { layers: ["good", "bad"], headers: [null, /^public/, /./] });
});

t.test("of layers that a vector tile cannot show in time together, the slowest are left out", async (t) => {
  const map = `m${++made}`;
  await makeMap(server, map);
  for (const [code, seconds] of Object.entries({ quick: 0, slow: 0.4, slower: 0.45, slowest: 0.5 })) {
    const source = `of-${code}`;
    await makeStyledLayer(server, map, source, "#a[zoom>20] { polygon-fill: #0000ff; }");
    await addObject(server, source, square(25, 5, 18), { map });
    const body = {
      code,
      type: "virtual",
      source: { layer: source },
      css_style: "#a { polygon-fill: #0000ff; }",
    };
    const { id } = (await api("POST", `${map}/layers/`, { token, body })).json;
    const { rows } = await sql.query(
      `select rtrim(pg_get_viewdef('layers.l${id}'::regclass), '; \n') as text`,
    );
    await sql.query(
      `create or replace view layers.l${id} as ${rows[0].text} where pg_sleep(${seconds}) is not null`,
    );
  }
  const { status, headers } = await fetch(`${server.url}/tms/p/${map}/3/4/3.mvt`);
  t.equal(status, 200);
  t.equal(headers.get("cache-control"), "no-store");
  t.match(headers.get("x-tile-incomplete"), /slowest/);
  t.notMatch(headers.get("x-tile-incomplete"), /quick/);
});

t.test("many are named by twenty, and counted, and told to scripts and the operator", async (t) => {
  const map = await makeHealthy();
  const codes = Array.from({ length: 23 }, (_, n) => `l${n}`);
  for (const code of codes) await makeStyledLayer(server, map, code, "#a { polygon-fill: #0000ff; }");
  await sql.query("update node set css_style = '#a { polygon-thrill: 1; }' where code ~ '^l\\d+$'");
  await node.services.changes.propagate();
  const answer = await fetch(`${server.url}/tms/p/${map}/3/4/3.png?base=0`);
  const named = answer.headers.get("x-tile-incomplete") ?? "";
  t.match(named, /^(l\d+, ){20}\+3$/);
  t.equal(answer.headers.get("server-timing"), `incomplete;desc="${named}"`);
  t.match(answer.headers.get("access-control-expose-headers"), "X-Tile-Incomplete");
  const hidden = await fetch(`${server.url}/tms/p/${map}/3/4/3.png?base=0&token=${token}`);
  t.equal(hidden.headers.get("x-tile-incomplete"), named);
  t.equal(hidden.headers.get("cache-control"), "private, no-store");
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  t.match(metrics, 'mapwright_tile_layers_left_out_total{cause="style"}');
});

t.test("a document says what its map lacks", async (t) => {
  const map = await makeHealthy();
  const object = (await api("GET", `${map}/layers/good/objects/`, { token })).json[0].id;
  const print = async () => {
    const answer = await fetch(`${server.url}/api/2.8/p/${map}/layers/good/objects/${object}/?f=pdf`);
    const { text } = readPdf(Buffer.from(await answer.arrayBuffer()));
    return { incomplete: answer.headers.get("x-tile-incomplete"), says: text.includes("Not drawn: bad") };
  };
  const { repair } = await renamed(map);
  t.same(await print(), { incomplete: "bad", says: true });
  await repair();
  t.same(await until(print, ({ incomplete }) => incomplete === null), { incomplete: null, says: false });
});

t.test("an export of tiles is refused as long as it would lack a layer", async (t) => {
  const map = await makeHealthy();
  const { repair } = await outdatedStyle(map);
  const made = () => api("GET", `${map}/export/?format=pmtiles&minzoom=0&maxzoom=1&base=0`, { token });
  const refused = await made();
  t.match(refused, { status: 500, json: { code: "invalid_value", message: /bad/ } });
  await repair();
  t.equal((await until(made, ({ status }) => status === 200)).status, 200);
});

t.test("a symbol whose picture is away is kept by nobody, and whole when the picture is back", async (t) => {
  const map = await makeHealthy();
  const icon = async (size: number) => {
    const answer = await fetch(`${server.url}/api/2.8/p/${map}/layers/bad/icon/?size=${size}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    const { status, headers } = answer;
    return { status, bytes, etag: headers.get("etag"), caching: headers.get("cache-control") };
  };
  const trouble = await styled(
    "symbol.svg",
    () => square8("#0000ff", 11),
    "#a { marker-file: url(NAME); }",
  )(map);
  const asked = await icon(40);
  t.match(asked, { etag: null, caching: "no-store" });
  await trouble.repair();
  const whole = await icon(40);
  t.equal(whole.status, 200);
  t.type(whole.etag, "string", "nothing of the other one was kept");
  t.notSame(whole.bytes, asked.bytes);
  const middle = (await picture(whole.bytes)).at(20, 20);
  t.same(middle, drawn);
});

t.test("the icon of a raster whose file is away is a plain one, kept by nobody", async (t) => {
  const map = await makeHealthy();
  const trouble = await raster(away)(map);
  const icon = async () => {
    const { status, headers } = await fetch(`${server.url}/api/2.8/p/${map}/layers/bad/icon/?size=41`);
    return { status, etag: headers.get("etag"), caching: headers.get("cache-control") };
  };
  t.match(await icon(), { status: 200, etag: null, caching: "no-store" });
  await trouble.repair();
  t.match(await icon(), { status: 200, etag: String });
});
