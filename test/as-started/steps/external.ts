import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import sharp from "sharp";
import type { Step } from "../world.js";

/** Layers of other servers' images. */

const purple = { r: 150, g: 20, b: 200 };

/** A server of tiles of one colour on loopback. */
export async function startTileServer(): Promise<{ readonly host: string; readonly server: Server }> {
  const tile = await sharp({ create: { width: 256, height: 256, channels: 3, background: purple } })
    .png()
    .toBuffer();
  const server = createServer((_request, response) =>
    response.writeHead(200, { "content-type": "image/png" }).end(tile),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

export const externalSteps: readonly Step[] = [
  {
    name: "external layers",
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
      const shown = await world.colour("others", { lon: 10, lat: 10, z: 4 });
      t.same(shown, [purple.r, purple.g, purple.b, 255]);
    },
  },
];
