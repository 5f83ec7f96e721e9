import t from "tap";
import { makeLayers } from "../support/layers.js";
import { makeMap, tileUrl } from "../support/maps.js";
import { startNginx } from "../support/proxies.js";
import { startServer } from "../support/server.js";

const server = await startServer();
t.teardown(() => server.stop());
const cache = await startNginx({ nodes: [server.nodes[0]!.port] });
t.teardown(() => cache.stop());

// Keys, which a CDN that is told by them needs, take less than 1 kB: `keys.test.ts`.
t.test(
  "the heads of answers about a thousand layers fit in the buffers that nginx has for them",
  async (t) => {
    const map = await makeMap(server, "wide");
    await makeLayers(server.sql, map, 1_000);
    await server.nodes[0]!.services.changes.propagate();
    const tile = tileUrl(server, "wide", { lon: 0, lat: 0, z: 3 }, "&base=0");
    for (const path of [tile.slice(server.url.length), "/tms/p/wide/3/3/3.mvt", "/api/2.8/p/wide/layers/"]) {
      const answer = await fetch(`${cache.url}${path}`);
      t.equal(answer.status, 200, path);
      t.equal(answer.headers.get("surrogate-key"), null, "nobody drops by them");
      const fields = [...answer.headers].map((field) => field.join(": "));
      t.ok(fields.join("\r\n").length < 1_500, `${path} has a short head`);
      await answer.arrayBuffer();
    }
  },
);
