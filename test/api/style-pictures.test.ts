import sharp from "sharp";
import t from "tap";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";
import { zipOf } from "../support/zip.js";

/** Pictures for styles: uploads, what of them is kept, and tiles that show them. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const admin = await server.token("admin");

const svg = (color: string, rest = "") =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><path d="M0 0h16v16H0z" fill="${color}"/>${rest}</svg>`;

async function put(path: string, content: string | Buffer, type = "image/svg+xml") {
  const answer = await fetch(`${server.url}/api/2.8/p/pictures/${path}`, {
    method: "PUT",
    headers: { "content-type": type, "x-token": admin },
    body: content as never,
  });
  const text = await answer.text();
  return {
    status: answer.status,
    text,
    json: answer.headers.get("content-type")?.includes("json") && JSON.parse(text),
  };
}

const red = [255, 0, 0, 255];
const green = [0, 128, 0, 255];
const blue = [0, 0, 255, 255];

/** Pixel at the place of lon, lat 0 in the tile of zoom 2 that it is the upper left corner of. */
async function pixel(map: string, place: { x: number; y: number }, query = "", node = 0) {
  const answer = await fetch(tileUrl(server, map, { lon: 1, lat: -1, z: 2 }, `&base=0${query}`, node));
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  return (await picture(await answer.arrayBuffer())).at(place.x, place.y);
}

const centre = { type: "Point", coordinates: [45, -40] };
/** The pixel of `centre`. */
const middle = { x: 128, y: 124 };

t.test(
  "a picture is drawn where a style names its path, and a changed one at once on every node",
  async (t) => {
    t.match(await put("symbols/a.svg", svg("red")), {
      status: 200,
      json: { path: "symbols/a.svg", format: "svg", width: 16, height: 16 },
    });
    await makeMap(server, "markers");
    await makeStyledLayer(
      server,
      "markers",
      "l",
      "#l { marker-file: url('symbols/a.svg'); marker-allow-overlap: true; }",
    );
    await addObject(server, "l", centre, { map: "markers" });
    t.same(await pixel("markers", middle), red);
    t.same(await pixel("markers", { x: 2 * middle.x, y: 2 * middle.y }, "&retina=2"), red);
    t.same(await pixel("markers", middle, "", 1), red);
    t.match(await put("symbols/a.svg", svg("blue")), { status: 200 });
    t.same(await pixel("markers", middle, "", 1), blue, "of another node");
    t.same(await pixel("markers", middle), blue);
    const gone = await server.api("DELETE", "pictures/symbols/a.svg", { token: admin });
    t.equal(gone.status, 200);
    t.same(await pixel("markers", middle), [0, 0, 0, 0], "drawn without it");
    t.equal((await server.api("DELETE", "pictures/symbols/a.svg", { token: admin })).status, 404);
  },
);

t.test("what is empty around the shapes of an SVG belongs to it, as it does in a bitmap", async (t) => {
  const dot = (box: string) =>
    `<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" viewBox="${box}"><circle cx="12" cy="12" r="3" fill="red"/></svg>`;
  await put("dot.svg", dot("0 0 24 24"));
  await put(
    "dot.png",
    await sharp(Buffer.from(dot("0 0 24 24")))
      .png()
      .toBuffer(),
    "image/png",
  );
  const painted = async (code: string, style: string, geometry: unknown) => {
    await makeMap(server, code);
    await makeStyledLayer(server, code, "l", `#l { ${style} }`);
    await addObject(server, "l", geometry, { map: code });
    const answer = await fetch(tileUrl(server, code, { lon: 1, lat: -1, z: 2 }, "&base=0"));
    return (await picture(await answer.arrayBuffer())).painted;
  };
  const all = square(-10, -70, 120);
  for (const [name, style, geometry] of [
    ["pattern", "polygon-pattern-file: url(FILE);", all],
    ["marker", "marker-file: url(FILE); marker-allow-overlap: true;", centre],
    ["wide", "marker-file: url(FILE); marker-width: 64; marker-allow-overlap: true;", centre],
  ] as const) {
    const drawn = await painted(`${name}-svg`, style.replace("FILE", "dot.svg"), geometry);
    // Bitmaps have no width.
    const known =
      name === "wide"
        ? Math.PI * 8 ** 2
        : await painted(`${name}-png`, style.replace("FILE", "dot.png"), geometry);
    t.ok(Math.abs(drawn - known) < 0.35 * known + 10, `${name}: ${drawn} pixels, ${known} of the bitmap`);
  }
});

t.test("every symbolizer that shows pictures draws SVG, PNG and WebP", async (t) => {
  const side = { create: { width: 16, height: 16, channels: 4 as const, background: "#008000" } };
  await put("p/green.svg", svg("green"));
  await put("p/green.png", await sharp(side).png().toBuffer(), "image/png");
  t.match(await put("p/green.webp", await sharp(side).webp({ lossless: true }).toBuffer(), "image/webp"), {
    json: { format: "png", width: 16 },
  });
  await makeMap(server, "kinds");
  const styles = [
    "marker-file: url(FILE); marker-allow-overlap: true;",
    "point-file: url(FILE); point-allow-overlap: true;",
    "polygon-pattern-file: url(FILE);",
    `shield-file: url(FILE); shield-name: "'.'"; shield-size: 1; shield-face-name: x;`,
    "line-pattern-file: url(FILE);",
  ];
  let count = 0;
  for (const style of styles) {
    for (const file of ["p/green.svg", "./p/green.png", "p/green.webp"]) {
      const map = `kinds${count++}`;
      await makeMap(server, map);
      await makeStyledLayer(server, map, "l", `#l { ${style.replace("FILE", file)} }`);
      const isLine = style.startsWith("line");
      const isArea = style.startsWith("polygon");
      const line = {
        type: "LineString",
        coordinates: [
          [20, -40],
          [70, -40],
        ],
      };
      await addObject(server, "l", isLine ? line : isArea ? square(30, -60, 30) : centre, { map });
      const place = style.startsWith("shield") ? { x: middle.x + 6, y: middle.y + 6 } : middle;
      t.same(await pixel(map, place), green, `${style} ${file}`);
    }
  }
});

t.test("a pattern of a bitmap has its size on retina tiles too", async (t) => {
  const stripes = svg("green", '<path d="M0 0h8v16H0z" fill="red"/>');
  await put("p/stripes.png", await sharp(Buffer.from(stripes)).png().toBuffer(), "image/png");
  await makeMap(server, "stripes");
  await makeStyledLayer(server, "stripes", "l", "#l { polygon-pattern-file: url(p/stripes.png); }");
  await addObject(server, "l", square(1, -60, 80), { map: "stripes" });
  const colours = async (scale: number) => {
    const places = [100, 108, 116, 124];
    return Promise.all(
      places.map((x) => pixel("stripes", { x: x * scale, y: 124 * scale }, `&retina=${scale}`)),
    );
  };
  const plain = await colours(1);
  t.ok(plain.some((one) => one[0] === 255) && plain.some((one) => one[0] === 0));
  t.same(await colours(2), plain);
  t.same(await colours(3), plain);
});

t.test("columns in a picture's name stand for their values", async (t) => {
  await put("shields/road_1x2.svg", svg("red"));
  await put("shields/road_2x2.svg", svg("green"));
  await makeMap(server, "columns");
  const css = "#l { marker-file: url('shields/road_[lanes]x[h].svg'); marker-allow-overlap: true; }";
  await makeStyledLayer(server, "columns", "l", css);
  const token = await server.token("admin");
  for (const [code, type] of [
    ["lanes", "string"],
    ["h", "number"],
  ]) {
    await server.api("POST", "columns/layers/l/structure/", { token, body: { code, type } });
  }
  const add = await server.api("POST", "columns/layers/l/objects/", {
    token,
    body: { fields: { lanes: "2", h: 2 }, geom: centre },
  });
  t.equal(add.status, 200, add.text);
  t.same(await pixel("columns", middle), green);
  const change = (lanes: string) =>
    server.api("PUT", `columns/layers/l/objects/${add.json.id}/`, { token, body: { fields: { lanes } } });
  await change("1");
  t.same(await pixel("columns", middle), red);
  for (const value of ["../road_1", "1/../1", ".", "1x2.svg\u0001", "9"]) {
    await change(value);
    t.same(await pixel("columns", middle), [0, 0, 0, 0], JSON.stringify(value));
  }
});

t.test("a zip of pictures is saved by its paths, and what is refused is named", async (t) => {
  const archive = await zipOf({
    "symbols/one.svg": svg("red"),
    "symbols/deep/two.SVG": svg("green"),
    "README.md": "text",
    "symbols/.hidden.svg": svg("red"),
    "symbols/bad.svg": "<svg",
    "symbols/bad.png": "no picture",
  });
  const answer = await fetch(`${server.url}/api/2.8/p/pictures/`, {
    method: "POST",
    headers: { "content-type": "application/zip", "x-token": admin },
    body: archive as never,
  });
  const saved = (await answer.json()) as any;
  t.same(
    saved.pictures.map(({ path }: { path: string }) => path),
    ["symbols/one.svg", "symbols/deep/two.SVG"],
  );
  t.same(Object.keys(saved.refused).sort(), ["symbols/bad.png", "symbols/bad.svg"]);
  const list = await server.api("GET", "pictures/", { token: admin });
  t.ok(list.json.some(({ path }: { path: string }) => path === "symbols/deep/two.SVG"));
});

t.test(
  "of an SVG only shapes are kept; what is no picture, or costs without bound, is refused",
  async (t) => {
    const harmless = svg(
      "red",
      `<script>alert(1)</script><image href="http://127.0.0.1/x.png"/><text>t</text>
     <a href="http://127.0.0.1/"><path d="M0 0h1"/></a><use href="http://127.0.0.1/x.svg#a"/>
     <path onclick="x()" d="M0 0h1" style="fill:url(http://127.0.0.1/)"/><style>@import url(http://127.0.0.1/);</style>`,
    );
    t.equal((await put("kept.svg", harmless)).status, 200);
    const { rows } = await server.sql.query("select blob from picture where path = 'kept.svg'");
    const chunks: Uint8Array[] = [];
    for await (const chunk of server.nodes[0]!.services.blobs.read(rows[0].blob)) chunks.push(chunk);
    const kept = Buffer.concat(chunks).toString();
    t.match(kept, /<path fill="red" d="M0 0h16v16H0z"\/>/);
    t.notMatch(kept, /script|image|text|onclick|127\.0\.0\.1|import|<a/);
    const hostile: Record<string, string> = {
      entities:
        '<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>',
      "uses in a circle": svg("red", '<g id="a"><use href="#a"/></g>'),
      "uses in a circle by an id with spaces": svg("red", '<g id=" a "><use href="#a"/></g>'),
      "uses in a circle by an id that a style had": svg(
        "red",
        '<style id="a"/><g id="a"><use href="#a"/></g>',
      ),
      "uses of an id that two elements have": svg(
        "red",
        '<path id="a" d="M0 0h1"/><g id="a"><use href="#a"/></g>',
      ),
      "uses that multiply": svg(
        "red",
        Array.from(
          { length: 30 },
          (_, index) => `<g id="g${index + 1}"><use href="#g${index}"/><use href="#g${index}"/></g>`,
        ).join(""),
      ).replace("<path", '<path id="g0"'),
      depth: svg("red", `${"<g>".repeat(40)}${"</g>".repeat(40)}`),
      "1e9 pixels": svg("red").replace('width="16"', 'width="1e9"'),
      "no size": '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h1"/></svg>',
      "coordinates of 1e30": svg("red", '<path d="M0 0L1e30 1e30"/>'),
      "enlarged step by step": svg(
        "red",
        '<g transform="scale(900)"><g transform="scale(900)"><path d="M0 0h1"/></g></g>',
      ),
      "enlarged along uses": svg(
        "red",
        '<g id="a" transform="scale(900)"><path d="M0 0h1"/></g><use href="#a" transform="scale(900)"/>',
      ),
      "wide strokes by a style": svg(
        "red",
        `<style>path { stroke-width: 99999 }</style>${'<path d="M0 0h1"/>'.repeat(101)}`,
      ),
      "lengths in inches": svg("red", '<rect width="1000in" height="1000in"/>'.repeat(60)),
      HTML: "<html><body/></html>",
      "not closed": "<svg xmlns='http://www.w3.org/2000/svg'>",
    };
    for (const [name, content] of Object.entries(hostile)) {
      const { status, text } = await put("hostile.svg", content);
      t.equal(status, 500, name);
      t.match(text, /unsupported_format/, name);
      t.notMatch(text, /\/tmp|node_modules/, name);
    }
    t.equal((await put("hostile.png", svg("red"), "image/png")).status, 500, "an SVG that is called PNG");
    for (const path of [
      "../x.svg",
      ".hidden.svg",
      "a/.b/c.svg",
      "x.txt",
      "x",
      "a//b.svg",
      "%2e%2e/x.svg",
      "/etc.svg",
    ]) {
      t.ok((await put(path, svg("red"))).status >= 400, path);
    }
    const big = await sharp({ create: { width: 1100, height: 8, channels: 3, background: "red" } })
      .png()
      .toBuffer();
    t.match((await put("big.png", big, "image/png")).text, /larger than 1024/);
    const long = await put("long.png", Buffer.alloc(2 * 1024 ** 2), "image/png");
    t.equal(long.status, 413, "what is longer is not received");
  },
);

t.test("a style that names a picture or an icon that is not there is refused with its place", async (t) => {
  await makeMap(server, "missing");
  const save = (css: string) =>
    server.api("POST", "missing/layers/", {
      token: admin,
      body: { code: `l${Math.random()}`.replace(".", ""), css_style: css },
    });
  t.match(await save("#l {\n  marker-file: url(symbols/none.svg);\n}"), {
    status: 500,
    json: { code: "invalid_style", message: "Line 2, column 3: There is no picture symbols/none.svg." },
  });
  t.match(await save("#l { marker-file: url(icon:none); }"), {
    json: { code: "invalid_style", message: "Line 1, column 6: There is no icon icon:none." },
  });
  await put("wide.svg", svg("red").replace('width="16"', 'width="1000"'));
  t.match(await save("#l { polygon-pattern-file: url(wide.svg); polygon-pattern-transform: scale(4); }"), {
    json: { message: /The pattern wide.svg is larger than 2048 pixels/ },
  });
  const map = await server.api("POST", "", {
    token: admin,
    body: { code: "missing2", css_style: "#l { marker-file: url(none.svg); }" },
  });
  t.match(map.json, { code: "invalid_style", message: /There is no picture none.svg/ });
});

t.test("icons of the installation are drawn, and take the style's colour", async (t) => {
  await makeMap(server, "icons");
  const css =
    "#l { marker-file: url(icon:square); marker-fill: #008000; marker-width: 20; marker-allow-overlap: true; }";
  await makeStyledLayer(server, "icons", "l", css);
  await addObject(server, "l", centre, { map: "icons" });
  t.same(await pixel("icons", middle), green);
});

t.test("font-directory has no effect, which the author is told", async (t) => {
  const body = { code: "directory", css_style: "Map { font-directory: url(./fonts); }" };
  const answer = await server.api("POST", "", { token: admin, body });
  t.match(answer.json, { code: "directory", notices: [/^Line 1, column 7: font-directory is ignored/] });
});
