import { randomUUID } from "node:crypto";
import sharp from "sharp";
import { decodeTile } from "../../support/vector-tiles.js";
import { collection, feature, point, project, type Step, type World } from "../world.js";

/** How maps look: addresses and formats of tiles, visualizations and plug-ins; who may see them, and who is told of changes. */

const here = { lon: 10, lat: 10, z: 5 };
const wide =
  "#spots { marker-fill: #ff0000; marker-width: 40; marker-line-width: 0; marker-allow-overlap: true; }";

const isColourful = async (world: World, path: string): Promise<boolean> => {
  const { channels } = await sharp((await world.ask("GET", path)).bytes).stats();
  return channels.some(({ stdev }) => stdev > 5);
};

export const tileSteps: readonly Step[] = [
  {
    name: "tiles in all addresses and formats",
    also: true,
    walk: async (t, world) => {
      await world.makeMap("spots", "spots", wide);
      await world.api("POST", "spots/layers/spots/objects/", { body: { fields: {}, geom: point(10, 10) } });
      const spots = `/tms/${project}/spots`;
      t.same(await world.colour("spots", here), [255, 0, 0, 255]);
      for (const [path, format, width] of [
        [`${spots}/?x=16&y=16&z=5&base=0`, "png", 256],
        [`${spots}/?x=16&y=16&z=5&base=0&retina=2`, "png", 512],
        [`${spots}/5/16/15@3x.png?base=0&q=1`, "png", 768],
        [`${spots}/5/16/15.webp?base=0`, "webp", 256],
        [`${spots}/tms/5/16/16.png?base=0`, "png", 256],
        [`${spots}/0/0/0.png`, "png", 256],
      ] as const) {
        const { bytes } = await world.ask("GET", path);
        t.match(await sharp(bytes).metadata(), { format, width }, path);
      }
      t.match((await world.ask("GET", `${spots}/tile.json`)).json, { tilejson: "3.0.0", tiles: [/\.png$/] });
      t.match((await world.ask("GET", `${spots}/tms/tilemapresource.xml`)).bytes.toString(), /<TileMap /);
      t.match((await world.ask("GET", `${spots}/tile.mvt.json`)).json, { tiles: [/\.mvt$/] });
      const vector = await world.ask("GET", `${spots}/5/16/15.mvt`);
      t.equal(decodeTile(vector.bytes).get("spots")?.length, 1);
    },
  },
  {
    name: "the base map that is shipped",
    also: true,
    walk: async (t, world) => {
      t.ok(await isColourful(world, `/tms/${project}/spots/2/2/1.png`), "land and water");
    },
  },
  {
    name: "the demo",
    walk: async (t, world) => {
      t.ok(await isColourful(world, "/tms/demo/world/3/4/2.png"), "countries");
    },
  },
  {
    name: "visualizations",
    also: true,
    walk: async (t, world) => {
      await world.makeMap("looks", "points");
      const points = Array.from({ length: 16 }, (_, at) =>
        feature(
          { n: at * at, a: 10 + at, b: 20 - at, kind: ["Oak", "Ash", "Elm"][at % 3], turn: at * 20 },
          point(6 + (at % 4) * 1.2, 6 + Math.floor(at / 4) * 1.2),
        ),
      );
      await world.api("POST", "looks/layers/points/import/", { body: collection(...points) });
      const columns = (await world.api("GET", "looks/layers/points/structure/")).json;
      const turn = columns.find(({ code }: { code: string }) => code === "turn").id;
      const uuid = randomUUID();
      const charted = { columns: [{ code: "a" }, { code: "b" }] };
      const visual = (settings: object) => ({ visualSettings: settings });
      const plain = (await world.tileAnswer("looks", here)).bytes;
      for (const [name, body] of Object.entries({
        "1 thematic": visual({ type: 1, columnCode: "n" }),
        "2 categories": visual({ type: 2, columnCode: "kind" }),
        "3 bubbles": visual({ type: 3, columnCode: "n" }),
        "4 pies": visual({ type: 4, classesSettings: charted }),
        "5 bars": visual({ type: 5, classesSettings: charted }),
        "6 lines": visual({ type: 6, classesSettings: charted }),
        "7 heat map": visual({ type: 7, classesSettings: { markerSize: 40 } }),
        "the plug-in arrows": {
          visualCustomSettings: { type: "arrows", columns: { [uuid]: turn }, settings: { direction: uuid } },
        },
      }))
        await t.test(name, async (t) => {
          await world.api("PUT", "looks/layers/points/visualization/", { body });
          const tile = await world.tileAnswer("looks", here);
          t.notOk(tile.bytes.equals(plain), "it is drawn in place of the style");
          t.ok((await world.tile("looks", here)).painted > 100);
          const { json } = await world.api("GET", "looks/layers/points/legend/?extended=1");
          t.ok(json.classificators.length > 0, "it has a legend");
          const icon = await world.ask("GET", `${json.classificators[0].icon}&size=48`);
          t.match(await sharp(icon.bytes).metadata(), { width: 48 });
          await world.api("DELETE", "looks/layers/points/visualization/");
          t.ok((await world.tileAnswer("looks", here)).bytes.equals(plain), "and the style again without it");
        });
      const vectorSettings = { showPopup: true, popupColumnCode: "kind" };
      t.match((await world.api("PUT", "looks/layers/points/vector/", { body: { vectorSettings } })).json, {
        render_type: 1,
      });
      await world.api("DELETE", "looks/layers/points/vector/");
    },
  },
  {
    name: "keys for private maps",
    also: true,
    walk: async (t, world) => {
      await world.makeMap("sheds", "sheds");
      await world.mapwright(["map", "unpublish", project, "sheds"]);
      const { key, url, tilejson } = (await world.api("POST", "sheds/tile-key/", { body: { seconds: 600 } }))
        .json;
      const tile = url.replace(/\{[zxy]\}/g, "0");
      await world.ask("GET", tile.replace(/\?.*/, ""), { status: 403 });
      t.equal((await world.ask("GET", tile)).headers.get("content-type"), "image/png");
      t.match((await world.ask("GET", tilejson)).json, { tiles: [/key=/] });
      await world.api("DELETE", `sheds/tile-key/?key=${key}`);
      await world.ask("GET", tile, { status: 401 });
    },
  },
  {
    name: "open maps hear of changes",
    also: true,
    walk: async (t, world) => {
      const leaving = new AbortController();
      const stream = await fetch(`${world.url}/tms/${project}/spots/changes/`, { signal: leaving.signal });
      t.equal(stream.status, 200);
      let heard = "";
      const listening = (async () => {
        for await (const chunk of stream.body!) {
          heard += Buffer.from(chunk).toString();
          if (/event: change\ndata: .*"layers"/.test(heard)) return;
        }
      })();
      await world.api("POST", "spots/layers/spots/objects/", { body: { fields: {}, geom: point(30, 30) } });
      await listening;
      leaving.abort();
      t.same(await world.colour("spots", { lon: 30, lat: 30, z: 5 }), [255, 0, 0, 255], "a tile shows it");
    },
  },
];
