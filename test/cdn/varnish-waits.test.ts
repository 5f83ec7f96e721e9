import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { freePort, startVarnish } from "../../bench/caches.js";

/** How long Debian's Varnish waits with the shipped file, whose minute is made a second here, for a server that is slow. */

const answerMs = 2_500;
const server = createServer((request, response) => {
  request.resume();
  setTimeout(() => response.end("at last"), answerMs);
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
t.teardown(() => {
  server.close();
  server.closeAllConnections();
});
const cache = await startVarnish(await freePort(), (server.address() as AddressInfo).port, [
  [".first_byte_timeout = 60s", ".first_byte_timeout = 1s"],
]);
t.teardown(() => cache.stop());

t.test("imports and exports may work for long before they answer", async (t) => {
  const asked = await Promise.all(
    (
      [
        ["GET", "/api/2.8/p/m/layers/a/export/"],
        ["GET", "/api/2.8/p/m/layers/a/export/?token=1"],
        ["POST", "/api/2.8/p/m/layers/a/import/"],
      ] as const
    ).map(([method, path]) => fetch(cache.url + path, { method })),
  );
  for (const answer of asked) t.same([answer.status, await answer.text()], [200, "at last"]);
});

t.test("a tile that does not come is not waited for", async (t) => {
  t.equal((await fetch(`${cache.url}/tms/p/m/0/0/0.png`)).status, 503);
});
