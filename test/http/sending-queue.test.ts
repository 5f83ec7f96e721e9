import t from "tap";
import type { Reply, Route } from "../../src/http/types.js";
import { startServer, Wire } from "./harness.js";

/** Long answers that are ready leave the event loop to others: sockets take much of each at once. */

const chunk = new Uint8Array(16 * 1024).fill(120);
const chunksOfOne = 128;
const bytes = chunk.length * chunksOfOne;
const many = 64;
/** Sent in a turn by who goes on, and by those who begin in it. */
const mostOfTurn = 256 * 1024;
const mostAtStart = 64 * 1024;

let sent = 0;
async function* chunks(): AsyncGenerator<Uint8Array, void> {
  for (let n = 0; n < chunksOfOne; n++) {
    sent += chunk.length;
    yield chunk;
  }
}

const routes: readonly Route<undefined>[] = [
  {
    methods: ["GET"],
    path: "/long/",
    handler: (): Reply => ({ kind: "stream", chunks: chunks(), headers: {} }),
  },
];
const server = await startServer(routes);
t.teardown(() => server.close());

t.test("in a turn one of many is sent on", async (t) => {
  const wires = Array.from({ length: many }, () => new Wire(server.port));
  t.teardown(() => {
    for (const wire of wires) wire.leave();
  });
  for (const wire of wires) await wire.send("GET /long/ HTTP/1.1\r\nHost: x\r\n\r\n");
  let most = 0;
  while (sent < many * bytes) {
    const before = sent;
    await new Promise((resolve) => setImmediate(resolve));
    // What the clients have read is sent anew when the library looks again.
    const until = performance.now() + 2;
    while (performance.now() < until);
    most = Math.max(most, sent - before);
  }
  t.comment(`${most} of ${many * bytes} bytes`);
  t.ok(most <= 2 * (mostOfTurn + many * mostAtStart), `${most} bytes were sent in a turn`);
  for (const wire of wires) await wire.until((text) => text.endsWith("\r\n0\r\n\r\n"));
});
