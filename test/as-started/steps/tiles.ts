import sharp from "sharp";
import { decodeTile } from "../../support/vector-tiles.js";
import { login, point, project, type Step, type World } from "../world.js";

/** Addresses and formats of tiles; who may see them, and who is told of changes. */

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
      t.match((await world.ask("GET", `${spots}/tile.mvt.json`)).json, { tiles: [/\.mvt$/] });
      const vector = await world.ask("GET", `${spots}/5/16/15.mvt`);
      t.equal(decodeTile(vector.bytes).get("spots")?.length, 1);
    },
  },
  {
    name: "a map that was deleted comes back from the bin",
    also: true,
    walk: async (t, world) => {
      const newest = async () => (await world.api("GET", "bin/?limit=1&before=999999999")).json.entries[0];
      await world.makeMap("lost", "lost", wide);
      await world.api("POST", "lost/layers/lost/objects/", { body: { fields: {}, geom: point(10, 10) } });
      await world.api("DELETE", "lost/");
      await world.api("POST", `bin/${(await newest()).id}/restore/`, { body: { code: "found" } });
      t.same(await world.colour("found", here), [255, 0, 0, 255]);
      const spots = "found/layers/lost";
      const [made] = (await world.api("GET", `${spots}/history/?limit=1&values=1&before=999999999`)).json
        .entries;
      await world.api("DELETE", `${spots}/objects/${made.object}/`);
      const [gone] = (
        await world.api("GET", `${spots}/objects/${made.object}/history/?limit=9&before=999999999&values=1`)
      ).json.entries;
      t.match((await world.api("GET", "found/history/?limit=1&values=1&before=999999999")).json.entries, [
        { id: gone.id },
      ]);
      await world.api("POST", `${spots}/history/${gone.id}/undo/`, { body: { group: 1 } });
      t.same(await world.colour("found", here), [255, 0, 0, 255], "so does an object");
      await world.api("PATCH", "found/", { body: { name: "Found" } });
      const query = "limit=1&before=999999999&values=1&map=found&kind=map&by=ann";
      const [named] = (await world.api("GET", `history/?${query}`)).json.entries;
      t.match(named, { after: { name: "Found" } });
      t.same((await world.api("GET", "history/?layer=none")).json.entries, []);
      await world.api("POST", `history/${named.id}/undo/`);
      await world.api("DELETE", "found/");
      await world.api("DELETE", `bin/${(await newest()).id}/`);
      await world.api("DELETE", "bin/");
      t.same((await world.api("GET", "bin/")).json.entries, []);
    },
  },
  {
    name: "tiles by rows from the south, as tilemapresource.xml has them",
    also: true,
    walk: async (t, world) => {
      const { text } = await world.ask("GET", `/tms/${project}/spots/tms/tilemapresource.xml`);
      t.match(text, /<TileFormat width="256" height="256" mime-type="image\/png" extension="png"\/>/);
      const [, set = ""] = /<TileSet href="([^"]+)"[^>]* order="5"\/>/.exec(text) ?? [];
      // Of rows the middle is between 15 and 16.
      const fromSouth = await world.ask("GET", `${set}/16/14.png?base=0`);
      const fromNorth = await world.ask("GET", `/tms/${project}/spots/5/16/17.png?base=0`);
      t.ok(fromSouth.bytes.equals(fromNorth.bytes));
      const parameters = await world.ask("GET", `/tms/${project}/spots/?x=16&y=16&z=5&base=0`);
      const found = await world.ask("GET", `${set}/16/16.png?base=0`);
      t.ok(found.bytes.equals(parameters.bytes), "as the API counts them");
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
      const options = ["--project", project, "--map", "sheds", "--seconds", "60", "--base-url", world.url];
      const byCommand = (await world.mapwright(["session", "tile-key", login, ...options])).toString().trim();
      const whole = byCommand.replace(/\{[zxy]\}/g, "0");
      t.equal((await world.ask("GET", whole)).headers.get("content-type"), "image/png");
      await world.api("DELETE", "sheds/tile-key/?all=1");
      await world.ask("GET", whole, { status: 401 });

      const body = { name: "QGIS of the office", map: "sheds" };
      const lasting = (await world.api("POST", "keys/", { body })).json;
      const shown = whole.replace(/key=.*/, `key=${lasting.key}`);
      t.equal((await world.ask("GET", shown)).headers.get("content-type"), "image/png");
      t.match((await world.api("GET", "keys/")).json, [{ id: lasting.id, name: "QGIS of the office" }]);
      await world.api("DELETE", `keys/${lasting.id}/`);
      await world.ask("GET", shown, { status: 401 });

      const person = { login: "nina", role: "viewer" };
      const { id: nina } = (await world.api("POST", "members/", { body: person })).json;
      const { invitation } = (await world.api("POST", `members/${nina}/invitation/`)).json;
      const chosen = { invitation, password: "battery-staple" };
      t.same((await world.api("POST", "invitation/", { body: chosen })).json, { login: "nina" });
      const form = { user: "nina", pass: chosen.password };
      t.type((await world.api("POST", "login/", { body: form })).json.token, "string");
      const grants = [{ map: "sheds", layer: "sheds", rights: 3 }];
      await world.api("PATCH", `members/${nina}/`, { body: { role: "editor", grants } });
      const users: { id: number }[] = (await world.api("GET", "members/")).json;
      t.match(
        users.find(({ id }) => id === nina),
        { login: "nina", role: "editor", grants },
      );
      await world.api("DELETE", `members/${nina}/`);
    },
  },
  {
    name: "open maps hear of changes",
    also: true,
    walk: async (t, world) => {
      const leaving = new AbortController();
      const state = (await world.open(`/api/2.8/${project}/spots/layers/`, leaving.signal)).headers.get(
        "x-map-state",
      );
      const address = `/tms/${project}/spots/changes/?recent=1&state=${state}`;
      const stream = await world.open(address, leaving.signal);
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
