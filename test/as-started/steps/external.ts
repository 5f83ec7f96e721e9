import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import sharp from "sharp";
import { square } from "../../support/maps.js";
import { picture } from "../../support/pictures.js";
import { project, type Step } from "../world.js";

/** Images of other servers, as layers and as base map. */

const purple = { r: 150, g: 20, b: 200 };
const purplePixel = [purple.r, purple.g, purple.b, 255];
/** The last zoom at which the server has tiles below `/going/`: at later ones it breaks the connection off. */
const lastZoom = 4;

/** A server of tiles of one colour on loopback. */
export async function startTileServer(): Promise<{ readonly host: string; readonly server: Server }> {
  const tile = await sharp({ create: { width: 256, height: 256, channels: 3, background: purple } })
    .png()
    .toBuffer();
  const server = createServer((request, response) => {
    if (Number(/^\/going\/(\d+)/.exec(request.url!)?.[1] ?? 0) > lastZoom) request.socket.destroy();
    else response.writeHead(200, { "content-type": "image/png" }).end(tile);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

export const externalSteps: readonly Step[] = [
  {
    name: "external layers, also of a source that goes away",
    also: true,
    walk: async (t, world) => {
      await world.api("POST", "", { body: { code: "others" } });
      const [host] = world.at.externalHosts;
      const source = { url: `http://${host ?? "tiles.example"}/{z}/{x}/{y}.png`, maxZoom: 10 };
      const body = { code: "tiles", type: "external", source };
      if (host === undefined) {
        // Without settings no host is allowed, and the refusal says which setting does.
        const { json } = await world.api("POST", "others/layers/", { body, status: 500 });
        t.match(json, { code: "invalid_value", message: /configuration|externalHosts/ });
        return;
      }
      await world.api("POST", "others/layers/", { body });
      t.same(await world.colour("others", { lon: 10, lat: 10, z: 4 }), purplePixel);

      // A source that goes away is left out, and named.
      await world.makeMap("going", "field", "#field { polygon-fill: #ffff00; }");
      await world.api("POST", "going/layers/field/objects/", { body: { fields: {}, geom: square(9, 9, 2) } });
      const going = { url: `http://${host}/going/{z}/{x}/{y}.png` };
      await world.api("POST", "going/layers/", { body: { ...body, source: going } });
      const beside = { lon: 5, lat: 10 };
      t.same(await world.colour("going", { ...beside, z: lastZoom }), purplePixel);
      const { headers, bytes } = await world.tileAnswer("going", { ...beside, z: lastZoom + 1 });
      t.equal(headers.get("x-tile-incomplete"), "tiles");
      t.match(headers.get("cache-control"), /no-store/);
      t.ok((await picture(bytes)).painted > 0, "the others are drawn");
    },
  },
  {
    name: "a file by its link: without settings none of a private network",
    also: true,
    walk: async (t, world) => {
      const [host] = world.at.externalHosts;
      const body = { url: `http://${host ?? "127.0.0.1:1"}/trees.png`, map: "others" };
      if (host !== undefined) {
        const { headers, bytes } = await world.api("POST", "link/", { body });
        t.match(headers.get("content-disposition"), /trees\.png/);
        t.ok((await picture(bytes)).painted > 0);
        return;
      }
      const { json } = await world.api("POST", "link/", { body, status: 500 });
      t.match(json, { code: "import_failed", message: /no public address/ });
    },
  },
  {
    name: "a base map by its address",
    also: true,
    walk: async (t, world) => {
      const [host] = world.at.externalHosts;
      const set = (base: string, ...more: string[]) =>
        world.tried(["project", "base-map", project, base, ...more]);
      // A service of its own: the layer's is not asked again for a while.
      const address = `http://${host ?? "tiles.example"}/going/{z}/{x}/{y}.png?base`;
      const answer = await set(address, "--attribution", "Others", "--min-zoom", "0", "--max-zoom", "18");
      if (host === undefined) {
        t.match(answer, { status: 1, stderr: /externalHosts/ });
        return;
      }
      t.equal(answer.status, 0, answer.stderr);
      const { json } = await world.ask("GET", `/tms/${project}/going/tile.json`);
      t.match(json, { attribution: /Others/ });
      const middle = async (z: number) => {
        const tile = await world.ask("GET", `/tms/${project}/going/${z}/0/0.png?layers=`);
        return { headers: tile.headers, colour: (await picture(tile.bytes)).at(128, 128) };
      };
      t.same((await middle(lastZoom)).colour, purplePixel);
      const away = await middle(lastZoom + 1);
      t.equal(away.headers.get("x-tile-incomplete"), "_base");
      t.equal((await set("builtin")).status, 0);
      const shipped = await middle(lastZoom + 1);
      t.equal(shipped.headers.get("x-tile-incomplete"), null);
    },
  },
];
