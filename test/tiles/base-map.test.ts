import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { ensureBaseMap } from "../../src/demo/base-map.js";
import { putSomeNames } from "../demo/catalogues.support.js";
import { quietLog } from "../support/log.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";

/** The built-in base map under the maps of an installation. */

const server = await startServer();
t.teardown(async () => {
  await server.stop();
  rmSync(translations, { recursive: true });
});
const { services } = server.nodes[0]!;
const translations = mkdtempSync(join(tmpdir(), "mapwright-test-"));
await ensureBaseMap(
  {
    ...{ db: services.db, transfer: services.transfer, log: quietLog, config: services.config },
    translations: putSomeNames(translations),
  },
  () => undefined,
  ["land", "borders", "lakes", "places"],
);
await services.changes.propagate();
const germany = { lon: 10, lat: 51, z: 5 };
const atlantic = { lon: -40, lat: 40, z: 5 };
const colour = async (url: string) => {
  const answer = await fetch(url);
  const image = await picture(await answer.arrayBuffer());
  return image.at(128, 128);
};

t.test("it is under every map unless base=0 is asked", async (t) => {
  await makeMap(server, "m");
  const land = await colour(tileUrl(server, "m", germany));
  const sea = await colour(tileUrl(server, "m", atlantic));
  t.equal(land[3], 255);
  t.equal(sea[3], 255);
  t.notSame(land, sea);
  t.same(await colour(tileUrl(server, "m", germany, "&base=0")), [0, 0, 0, 0]);
});

t.test("a map's layers are drawn over it, translucent ones let it shine through", async (t) => {
  await makeMap(server, "over");
  await makeStyledLayer(server, "over", "a", "#a { polygon-fill: #ff0000; polygon-opacity: 0.5; }");
  const before = await colour(tileUrl(server, "over", germany));
  await addObject(server, "a", square(0, 45, 20), { map: "over" });
  const after = await colour(tileUrl(server, "over", germany));
  const half = before.map((value, index) => (value + [255, 0, 0, 255][index]!) / 2);
  for (const channel of [0, 1, 2])
    t.ok(Math.abs(after[channel]! - half[channel]!) <= 2, `${after} is half of ${before}`);
});

t.test("it is drawn once for all maps that show nothing else there", async (t) => {
  await makeMap(server, "one");
  await makeMap(server, "two");
  const place = { lon: 100, lat: 30, z: 6 };
  const first = await fetch(tileUrl(server, "one", place));
  const drawn = services.tiles.rendered;
  const second = await fetch(tileUrl(server, "two", place));
  t.equal(second.headers.get("etag"), first.headers.get("etag"));
  t.equal(services.tiles.rendered, drawn);
});

t.test("a map's own background covers it", async (t) => {
  await makeMap(server, "red", "Map { background-color: #ff0000; }");
  t.same(await colour(tileUrl(server, "red", atlantic)), [255, 0, 0, 255]);
  t.same(await colour(tileUrl(server, "red", atlantic, "&base=0")), [255, 0, 0, 255]);
  t.same(await colour(tileUrl(server, "red", atlantic, "&base=0")), [255, 0, 0, 255]);
});

t.test("a project can do without it", async (t) => {
  await makeMap(server, "bare");
  t.equal((await colour(tileUrl(server, "bare", atlantic)))[3], 255);
  await server.sql.query(`update project set base_map = '{"kind":"none"}' where code = 'p'`);
  await services.changes.propagate();
  t.same(await colour(tileUrl(server, "bare", atlantic)), [0, 0, 0, 0]);
});

t.test("without the background a picture of a map can lie over another one", async (t) => {
  await makeMap(server, "above", "Map { background-color: #ff0000; }");
  await makeStyledLayer(server, "above", "square", "#a { polygon-fill: #0000ff; }");
  await addObject(server, "square", square(0, 45, 20), { map: "above" });
  t.same(await colour(tileUrl(server, "above", atlantic, "&base=0&background=0")), [0, 0, 0, 0]);
  t.same(await colour(tileUrl(server, "above", germany, "&base=0&background=0")), [0, 0, 255, 255]);
  t.same(await colour(tileUrl(server, "above", atlantic, "&base=0")), [255, 0, 0, 255]);
});

t.test("where the project has another base map, or none, the built-in one can be asked for", async (t) => {
  await makeMap(server, "choice");
  const setBase = async (base: object) => {
    await server.sql.query("update project set base_map = $1 where code = 'p'", [base]);
    await services.changes.propagate();
  };
  await setBase({ kind: "builtin" });
  const own = await colour(tileUrl(server, "choice", germany));
  t.equal(own[3], 255);
  await setBase({ kind: "none" });
  t.same(await colour(tileUrl(server, "choice", germany)), [0, 0, 0, 0]);
  t.same(await colour(tileUrl(server, "choice", germany, "&base=builtin")), own);
  t.equal((await fetch(tileUrl(server, "choice", germany, "&base=other"))).status, 400);
  await setBase({ kind: "builtin" });
  t.same(await colour(tileUrl(server, "choice", germany, "&base=builtin")), own);
});

t.test("a map can have another one than its project, or none, as soon as it is said", async (t) => {
  await makeMap(server, "own");
  const token = await server.token("admin");
  const set = (base_map: string | null) => server.api("PATCH", "own/", { token, body: { base_map } });
  const light = await colour(tileUrl(server, "own", germany));
  const etag = (await fetch(tileUrl(server, "own", germany))).headers.get("etag");
  await set("builtin-dark");
  const dark = await colour(tileUrl(server, "own", germany));
  t.ok(dark[0]! < light[0]! - 100, `${dark} is darker than ${light}`);
  t.not((await fetch(tileUrl(server, "own", germany))).headers.get("etag"), etag);
  await set("builtin-muted");
  t.notSame(await colour(tileUrl(server, "own", atlantic)), light);
  await set("none");
  t.same(await colour(tileUrl(server, "own", germany)), [0, 0, 0, 0]);
  await server.sql.query(`update project set base_map = '{"kind":"none"}' where code = 'p'`);
  await services.changes.propagate();
  await set("builtin");
  t.same(await colour(tileUrl(server, "own", germany)), light, "where the project has none, too");
  await server.sql.query(`update project set base_map = '{"kind":"builtin"}' where code = 'p'`);
  await services.changes.propagate();
  await set(null);
  t.same(await colour(tileUrl(server, "own", germany)), light);
});

t.test("lakes have the colour of the sea, and their islands that of land", async (t) => {
  await makeMap(server, "lakes");
  const at = async (lon: number, lat: number) => {
    const url = tileUrl(server, "lakes", { lon, lat, z: 10 });
    const image = await picture(await (await fetch(url)).arrayBuffer());
    return image.at(128, 128);
  };
  const [sea, land] = [await colour(tileUrl(server, "lakes", atlantic)), await at(10.2, 51.2)];
  t.same(await at(33, -1), sea, "Victoria");
  t.same(await at(-87.5, 47.8), sea, "Superior");
  t.same(await at(-82.2, 45.7), land, "Manitoulin in Huron");
});

t.test("a name on the edge of two metatiles is drawn", async (t) => {
  await makeMap(server, "names");
  const url = tileUrl(server, "names", { lon: -0.13, lat: 51.5, z: 6 });
  const image = await picture(await (await fetch(url)).arrayBuffer());
  const reds = Array.from({ length: 256 }, (_, y) => image.at(252, y)[0]!);
  t.ok(Math.min(...reds) < 150, "London");
});

t.test("a project chooses among looks; the muted one has no names", async (t) => {
  await makeMap(server, "looks");
  const look = async (style?: string) => {
    await server.sql.query("update project set base_map = $1 where code = 'p'", [
      { kind: "builtin", ...(style && { style }) },
    ]);
    await services.changes.propagate();
    const image = await picture(
      await (await fetch(tileUrl(server, "looks", { lon: 8.5, lat: 47.4, z: 8 }))).arrayBuffer(),
    );
    const [red] = await colour(tileUrl(server, "looks", germany));
    let darkest = 255;
    for (let x = 0; x < 256; x++)
      for (let y = 0; y < 256; y++) darkest = Math.min(darkest, image.at(x, y)[0]!);
    return { land: red!, darkest };
  };
  const light = await look();
  t.same(await look("light"), light);
  const [muted, dark] = [await look("muted"), await look("dark")];
  t.ok(light.darkest < 150, `names are read on it: ${light.darkest}`);
  t.ok(muted.darkest > 180, `nothing but borders and coasts: ${muted.darkest}`);
  t.ok(dark.land < 64 && light.land > 200 && muted.land > 200);
  await look();
});

t.test("towns are named in the language of the map, if the base map has it", async (t) => {
  await server.sql.query(`update project set languages = '{en,de,ru,la}' where code = 'p'`);
  await services.changes.propagate();
  await makeMap(server, "languages");
  const tile = async (place: { lon: number; lat: number; z: number }, language: string) => {
    const answer = await fetch(tileUrl(server, "languages", place, `&lng=${language}`));
    return { etag: answer.headers.get("etag"), image: await picture(await answer.arrayBuffer()) };
  };
  const cologne = { lon: 7, lat: 51, z: 7 };
  const [english, german, russian, latin] = await Promise.all(
    ["en", "de", "ru", "la"].map((language) => tile(cologne, language)),
  );
  t.not(german!.etag, english!.etag);
  t.not(russian!.etag, german!.etag);
  t.equal(latin!.etag, english!.etag, "the main language is that of all others");
  let [changed, different] = [0, 0];
  for (let x = 0; x < 256; x++)
    for (let y = 0; y < 256; y++) {
      const [one, other] = [english!.image.at(x, y), russian!.image.at(x, y)];
      if (one.join() === other.join()) continue;
      changed++;
      if (Math.min(one[0]!, other[0]!) > 245) different++;
    }
  t.ok(changed > 50 && changed < 1_500, `names alone differ: ${changed}`);
  t.ok(different < changed / 2, `${different}`);
  const ocean = await Promise.all(["en", "ru"].map((language) => tile(atlantic, language)));
  t.equal(ocean[1]!.etag, ocean[0]!.etag, "where no town is, nothing differs");
});
