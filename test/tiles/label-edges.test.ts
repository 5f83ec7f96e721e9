import sharp from "sharp";
import t from "tap";
import { publicCaller } from "../../src/catalog/state.js";
import { defaultTileFormat } from "../../src/tiles/formats.js";
import { makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/**
 * Labels at the edges of metatiles: each metatile places them by itself, and what they show must fit together. And what they
 * write of numbers.
 */

const server = await startServer();
t.teardown(() => server.stop());
const node = server.nodes[0]!;

/** A glyph that begins at another fraction of a pixel is another by so many of 255 at most. */
const rounding = 8;

/** Four metatiles of four by four tiles. */
const origin = { z: 7, x: 64, y: 56 };
const count = 8;
const degrees = 360 / 2 ** origin.z;

const pixels = (png: ArrayBuffer | Uint8Array): Promise<Buffer> =>
  sharp(Buffer.from(png as Uint8Array))
    .ensureAlpha()
    .raw()
    .toBuffer();

/** Adds points at random places of the tiles and around them, with names. */
async function addPoints(map: string, layer: { id: number }, points: number): Promise<void> {
  await server.api("POST", `${map}/layers/l/structure/`, {
    token: await server.token("editor"),
    body: { code: "name", type: "string" },
  });
  const { rows } = await server.sql.query(
    "select 'c' || id as name from layer_column where layer_id = $1 and code = 'name'",
    [layer.id],
  );
  await server.sql.query("select setseed(0.5)");
  await server.sql.query(
    `insert into layers.l${layer.id} (geom, ${rows[0].name})
     select st_setsrid(st_makepoint(($2 * (random() * 1.4 - 0.2)) * ${degrees}, ($2 * (random() * 1.4 - 0.2)) * ${degrees}), 4326),
       (array['Oak', 'Elm Street', 'Water', 'Castle Hill', 'Inn'])[1 + floor(random() * 5)::int]
     from generate_series(1, $1)`,
    [points, count],
  );
}

const styles: Readonly<Record<string, { css: string; points: number }>> = {
  "that overlap": { css: "text-allow-overlap: true;", points: 300 },
  "that avoid each other": { css: "", points: 3000 },
};

for (const [name, { css, points }] of Object.entries(styles)) {
  t.test(`labels ${name} are the same on tiles and on one large picture`, async (t) => {
    const map = `m${points}`;
    await makeMap(server, map);
    const style = `#l { text-name: [name]; text-face-name: 'DejaVu Sans Book'; text-size: 11; text-fill: #000; ${css} }`;
    const layer = await makeStyledLayer(server, map, "l", style);
    await addPoints(map, layer, points);
    await node.services.changes.propagate();
    const state = await node.services.catalog.map("p", map);
    const plan = await node.services.planner.plan(state, publicCaller, {
      coord: origin,
      base: false,
      layers: undefined,
      scale: 1,
      language: undefined,
      format: defaultTileFormat,
      quality: 0,
    });
    const whole = await node.services.render.call(
      "metatile",
      {
        parts: plan.parts.flatMap((part) =>
          part.kind === "map" ? [{ kind: "map" as const, map: part.map }] : [],
        ),
        origin,
        count,
        scale: 1,
        encoding: "png32",
        bufferPixels: plan.bufferPixels,
      },
      { deadlineMs: 60_000 },
    );
    let painted = 0;
    let differing = 0;
    for (const [index, large] of whole.tiles.entries()) {
      const x = origin.x + (index % count);
      const y = origin.y + Math.floor(index / count);
      const answer = await fetch(`${server.url}/tms/p/${map}/${origin.z}/${x}/${y}.png?base=0`);
      const [one, other] = [await pixels(await answer.arrayBuffer()), await pixels(large.bytes)];
      for (let at = 0; at < other.length; at++) {
        if (other[at]! > 0) painted++;
        if (Math.abs(one[at]! - other[at]!) > rounding) differing++;
      }
    }
    t.ok(painted > 1_000);
    t.equal(differing, 0);
  });
}

t.test("labels write numbers in full", async (t) => {
  const token = await server.token("editor");
  const must = async (method: string, path: string, body: unknown) => {
    const answer = await server.api(method, `numbers/${path}`, { token, body });
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.json;
  };
  await makeMap(server, "numbers");
  const { id } = await makeStyledLayer(server, "numbers", "l", "");
  const n = await must("POST", "layers/l/structure/", { code: "n", type: "number" });
  const s = await must("POST", "layers/l/structure/", { code: "s", type: "string" });
  await server.sql.query(
    `insert into layers.l${id} (geom) values (st_setsrid(st_makepoint(22.5, 22), 4326))`,
  );
  const draw = async () => {
    const url = tileUrl(server, "numbers", { lon: 22.5, lat: 22, z: 3 }, "&base=0");
    return pixels(await (await fetch(url)).arrayBuffer());
  };
  /** What the style shows of the number, and of a text in its place. */
  const styled = async (expression: string) => {
    const css = (code: string) =>
      `#a { text-name: ${expression.replace("[n]", `[${code}]`)}; text-size: 10; text-face-name: 'DejaVu Sans Book'; }`;
    return both((code) => must("PATCH", "layers/l/", { parent_id: 0, css_style: css(code) }));
  };
  const visualized = () =>
    both((column) => {
      const visualSettings = { type: 2, columnCode: "s", showText: true, textSettings: { column } };
      return must("PUT", "layers/l/visualization/", { visualSettings });
    });
  const both = async (show: (code: string) => Promise<unknown>) => {
    await show("n");
    const shown = await draw();
    await show("s");
    return shown.some((byte) => byte > 0) && shown.equals(await draw());
  };
  const numbers = {
    "12.5": "12.5",
    "55.755826": "55.755826",
    "-1234567": "-1234567",
    "1e15": "1000000000000000",
    "123456789012345680000": "123456789012345680000",
    "1e21": "1000000000000000000000",
    "1e-7": "0.0000001",
    "0.1::float8 + 0.2::float8": "0.3",
  };
  for (const [value, text] of Object.entries(numbers)) {
    await server.sql.query(`update layers.l${id} set c${n.id} = ${value}, c${s.id} = '${text}'`);
    await node.services.changes.propagate();
    for (const expression of ["[n]", "'no. ' + [n]", "[n] + ' km'"])
      t.ok(await styled(expression), `${expression} of ${value}`);
    t.ok(await visualized(), `a visualization of ${value}`);
    await must("DELETE", "layers/l/visualization/", undefined);
  }
});

t.test("the largest of overlapping areas has the room for its label, and lies below", async (t) => {
  const token = await server.token("editor");
  await makeMap(server, "areas");
  const draw = async (css: string) => {
    await server.api("PATCH", "areas/layers/l/", { token, body: { parent_id: 0, css_style: css } });
    const url = tileUrl(server, "areas", { lon: 22.5, lat: 22, z: 3 }, "&base=0");
    return pixels(await (await fetch(url)).arrayBuffer());
  };
  await makeStyledLayer(server, "areas", "l", "");
  await server.api("POST", "areas/layers/l/structure/", { token, body: { code: "name", type: "string" } });
  for (const [name, size] of [
    ["small", 3],
    ["large", 24],
  ] as const)
    await server.api("POST", "areas/layers/l/objects/", {
      token,
      body: { fields: { name }, geom: square(22 - size / 2, 22 - size / 2, size) },
    });
  const face = "text-face-name: 'DejaVu Sans Book';";
  const labels = (name: string) => `#a${name} { text-name: [name]; ${face} }`;
  t.ok((await draw(labels(""))).equals(await draw(labels("[name='large']"))), "the label of the largest");
  const fills = "#a[name='small'] { polygon-fill: #f00; } #a[name='large'] { polygon-fill: #00f; }";
  const isRed = (picture: Buffer) =>
    picture.some((_, at) => at % 4 === 0 && picture.readUInt32BE(at) === 0xff0000ff);
  t.notOk(isRed(await draw(fills)), "the small one came first, and is covered");
  t.ok(
    isRed(await draw(`${fills} #a::names[zoom>=12] { text-name: [name]; ${face} }`)),
    "at all zooms alike",
  );
});
