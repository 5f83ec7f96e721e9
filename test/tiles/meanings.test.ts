import t from "tap";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** However a picture is asked for, it is drawn once. */

const server = await startServer();
t.teardown(() => server.stop());
const { tiles, planner } = server.nodes[0]!.services;
const token = await server.token("editor");
const here = { lon: 10, lat: 10, z: 6 };

await makeMap(server, "m");
await makeMap(server, "n");
const foreign = await makeStyledLayer(server, "n", "foreign", "#a { polygon-fill: #00f; }");
const folder = async (code: string, parent_id = 0): Promise<number> =>
  (await server.api("POST", "m/folders/", { token, body: { code, parent_id } })).json.id;
const outer = await folder("outer");
const inner = await folder("inner", outer);
const layers: number[] = [];
for (const [code, parent_id] of [
  ["a", 0],
  ["b", outer],
  ["c", inner],
  ["d", inner],
] as const) {
  const fill = ["#f00", "#0f0", "#00f", "#ff0"][layers.length]!;
  const css = `#${code} { polygon-fill: ${fill}; polygon-opacity: 0.5; }`;
  const layer = await makeStyledLayer(server, "m", code, css);
  await server.api("PATCH", `m/layers/${code}/`, { token, body: { parent_id } });
  await addObject(server, code, square(5, 5, 10), { map: "m" });
  layers.push(layer.id);
}
const [a, , c, d] = layers as [number, number, number, number];
/** A layer that clients draw themselves. */
const own = (await makeStyledLayer(server, "m", "e", "#e { polygon-fill: #f0f; }")).id;
await addObject(server, "e", square(5, 5, 10), { map: "m" });
const vector = await server.api("PUT", "m/layers/e/vector/", { token, body: { vectorSettings: {} } });
if (vector.status !== 200) throw new Error(vector.text);

const ask = async (query: string): Promise<string> => {
  const answer = await fetch(tileUrl(server, "m", here, `&base=0${query}`));
  if (answer.status !== 200) throw new Error(`${query}: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
  return answer.headers.get("etag")!;
};
/** How many metatiles are drawn, and how many pictures are given out, for these queries. */
async function drawnFor(queries: readonly string[]): Promise<{ renders: number; pictures: number }> {
  const before = tiles.rendered;
  const tags = new Set<string>();
  for (const query of queries) tags.add(await ask(query));
  return { renders: tiles.rendered - before, pictures: tags.size };
}

t.test("all ways to ask for everything are one picture", async (t) => {
  t.same(
    await drawnFor([
      "",
      `&layers=${layers}`,
      `&layers=${layers.toReversed()}`,
      `&layers=${[...layers, ...layers]}`,
      `&layers=${layers.map((id) => `000${id}`)}`,
      `&layers=,${layers.join(",,")},`,
      `&layers=${layers.join("%2C")}`,
      `&layers=${[a, outer]}`,
      `&layers=${[outer, d, a, inner, c]}`,
      `&layers=${[...layers, foreign.id, 999_999_999, 0]}`,
      `&layers=${[...layers, own]}`,
      `&layers=${layers}&layers=${a}`,
      "&retina=1&q=0&lng=",
    ]),
    { renders: 1, pictures: 1 },
  );
});

t.test("languages that the project lacks, or that change nothing, are one picture", async (t) => {
  const languages = ["", "en", "EN", "ru", "xx", "de", "zz-ZZ", "en-GB", "sr-Latn-RS", "toString"];
  for (let made = 0; made < 200; made++) languages.push(`x${String.fromCharCode(97 + (made % 26))}-${made}`);
  t.same(await drawnFor(languages.map((language) => `&lng=${language}`)), { renders: 0, pictures: 1 });
  const column = { code: "name", type: "string", localized_value: true };
  await server.api("POST", "m/layers/a/structure/", { token, body: column });
  const css_style = "#a { polygon-fill: #f00; polygon-opacity: 0.5; [name = 'x'] { polygon-fill: #000; } }";
  await server.api("PATCH", "m/layers/a/", { token, body: { parent_id: 0, css_style } });
  const before = planner.counts().plans;
  t.same(
    await drawnFor(languages.map((language) => `&lng=${language}`)),
    { renders: 2, pictures: 1 },
    "where texts decide, each language of the project is drawn for itself",
  );
  t.equal(planner.counts().plans - before, 2, "and no plan is made for another");
});

t.test("each set of layers is drawn once, however it is spelled", async (t) => {
  const sets = Array.from({ length: 16 }, (_, set) => layers.filter((_, index) => (set >> index) & 1));
  const spellings = sets.flatMap((ids) => [
    ids.join(","),
    ids.toReversed().join(","),
    [...ids, own, ...ids].join(","),
    [foreign.id, ...ids].join(",0,"),
    // The folder for what it holds.
    ids.filter((id) => id !== c && id !== d).join(",") +
      (ids.includes(c) && ids.includes(d)
        ? `,${inner}`
        : ids.filter((id) => id === c || id === d).map((id) => `,${id}`)),
  ]);
  const { renders, pictures } = await drawnFor(spellings.map((ids) => `&layers=${ids}`));
  // All of them was drawn before.
  t.equal(renders, sets.length - 1);
  t.equal(pictures, sets.length);
});
