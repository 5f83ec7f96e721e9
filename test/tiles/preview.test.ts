import sharp from "sharp";
import t from "tap";
import { startServer } from "../support/server.js";

/** A style or visualization that is tried on a tile, and not saved. */

const server = await startServer();
t.teardown(() => server.stop());
const [admin, editor, viewer] = await Promise.all(
  (["admin", "editor", "viewer"] as const).map((role) => server.token(role)),
);
const { services } = server.nodes[0]!;
const done = async (method: string, path: string, body?: unknown) => {
  const answer = await server.api(method, path, { token: admin, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer;
};
await done("POST", "", { code: "m" });
await done("POST", "m/layers/", { code: "a", css_style: "#a { marker-width: 20; marker-fill: #f00; }" });
await done("POST", "m/layers/a/import/", {
  type: "FeatureCollection",
  features: [0, 20, 40].map((x) => ({
    type: "Feature",
    properties: { n: x },
    geometry: { type: "Point", coordinates: [x, 10] },
  })),
});

// From the north 1, from the south 2.
const [z, x, y] = [2, 2, 1];
const place = `z=${z}&x=${x}&y=${2 ** z - 1 - y}&base=0`;
const green = { css_style: "#a { marker-width: 30; marker-fill: #0f0; }" };

async function preview(body: unknown, { token = editor, query = place } = {}) {
  const answer = await fetch(`${server.url}/api/2.8/p/m/layers/a/preview/?${query}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token && { "x-token": token }) },
    body: JSON.stringify(body),
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, headers: answer.headers, bytes, text: bytes.toString() };
}

async function tile(query = "base=0") {
  const answer = await fetch(`${server.url}/tms/p/m/${z}/${x}/${y}.png?${query}`);
  return Buffer.from(await answer.arrayBuffer());
}
const pixels = (png: Buffer) => sharp(png).ensureAlpha().raw().toBuffer();
const kept = () => ({
  ...services.planner.counts(),
  metatiles: services.tiles.rendered,
  tag: server.api("GET", "m/layers/a/", { token: admin }).then(({ headers }) => headers.get("etag")),
});

t.test("a preview shows what saving would, and saves and keeps nothing", async (t) => {
  const before = await tile();
  const was = kept();
  const tried = await preview(green);
  t.equal(tried.status, 200, tried.text);
  t.equal(tried.headers.get("content-type"), "image/png");
  t.equal(tried.headers.get("cache-control"), "private, no-store");
  t.equal(tried.headers.get("etag"), null);
  t.notOk((await pixels(tried.bytes)).equals(await pixels(before)), "it is another picture");
  const now = kept();
  t.same({ ...now, tag: await now.tag }, { ...was, tag: await was.tag }, "no plan, no tile, no change");
  t.ok((await tile()).equals(before), "tiles are as they were");
  await done("PATCH", "m/layers/a/", { parent_id: 0, ...green });
  t.ok((await pixels(await tile())).equals(await pixels(tried.bytes)), "saved, it looks like that");
});

t.test("a visualization, and the default style", async (t) => {
  const visualSettings = { type: 1, columnCode: "n", classesCount: 3 };
  const tried = await preview({ visualSettings });
  t.equal(tried.status, 200, tried.text);
  t.ok(
    (await preview(visualSettings)).bytes.equals(tried.bytes),
    "the settings alone, as visualization/ takes them",
  );
  await done("PUT", "m/layers/a/visualization/", { visualSettings });
  const saved = await pixels(await tile());
  t.ok(saved.equals(await pixels(tried.bytes)));
  t.notOk((await pixels((await preview(green)).bytes)).equals(saved), "a style in place of it");
  t.equal((await preview({ css_style: "" })).status, 200);
});

t.test("a layer that the map does not show is tried nevertheless", async (t) => {
  await done("POST", "m/publish/", []);
  const empty = await pixels(await tile());
  t.notOk((await pixels((await preview(green)).bytes)).equals(empty));
  t.ok((await pixels((await preview(green, { query: `${place}&layers=` })).bytes)).equals(empty));
});

t.test("what cannot be saved cannot be tried", async (t) => {
  for (const css_style of ["#a { marker-width: ", "#a { marker-file: url(/etc/passwd); }"]) {
    const saved = await server.api("PATCH", "m/layers/a/", {
      token: admin,
      body: { parent_id: 0, css_style },
    });
    const tried = await preview({ css_style });
    t.equal(tried.status, saved.status);
    t.match(JSON.parse(tried.text), { code: "invalid_style", message: saved.json.message });
  }
  t.match((await preview({ visualSettings: { type: 1, columnCode: "none" } })).text, /unknown_column/);
  t.match((await preview({ ...green, visualSettings: { type: 8 } })).text, /invalid_value/);
  t.match((await preview({})).text, /required_parameters/);
  t.equal((await preview(green, { query: "z=2&x=9&y=0" })).status, 400);
  t.equal((await preview(green, { token: viewer })).status, 403);
  t.equal((await preview(green, { token: "" })).status, 401);
});
