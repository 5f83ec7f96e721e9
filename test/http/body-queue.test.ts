import t from "tap";
import { json, type Route } from "../../src/http/types.js";
import { eventually, startServer, Wire } from "./harness.js";

/** Bodies that come all at once leave the event loop to others: the library hands over all that has arrived of each. */

const mb = 1_000_000;
const bytes = 4 * mb;
const many = 16;

const limits = { bytes: undefined, members: 10, values: 10 };
const routes: readonly Route<undefined>[] = [
  {
    methods: ["POST"],
    path: "/large/",
    takes: limits,
    handler: async ({ body }) => json((await body.bytes()).length),
  },
  {
    methods: ["POST"],
    path: "/file/",
    takes: limits,
    handler: async ({ body }) => json((await body.toFile()).bytes),
  },
];

const server = await startServer(routes);
t.teardown(() => server.close());

/** Watches until `isDone` how much of all bodies came in a turn of the event loop at most. */
async function mostInTurn(isDone: () => boolean): Promise<number> {
  let most = 0;
  for (let before = received(); !isDone(); ) {
    await new Promise((resolve) => setImmediate(resolve));
    // What is sent meanwhile has arrived when the library reads again.
    const until = performance.now() + 10;
    while (performance.now() < until);
    const now = received();
    most = Math.max(most, now - before);
    before = now;
  }
  return most;
}
const received = (): number => server.server.received().memory.bytes;

for (const path of ["/large/", "/file/"]) {
  t.test(`in a turn one of many is read further: ${path}`, async (t) => {
    const wires = Array.from({ length: many }, () => new Wire(server.port));
    t.teardown(() => {
      for (const wire of wires) wire.leave();
    });
    for (const wire of wires) {
      wire.send(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`);
      wire.send("x".repeat(bytes));
    }
    const isAnswered = (wire: Wire) => wire.received.includes(`${bytes}`);
    const most = await mostInTurn(() => wires.every(isAnswered));
    t.comment(`${(most / mb).toFixed(1)} MB`);
    t.ok(most < 2 * bytes, `${most} bytes came in a turn`);
    await eventually(() => received() === 0);
  });
}
