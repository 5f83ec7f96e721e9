import t, { type Test } from "tap";
import { startNode } from "../../src/node.js";
import { quietLog } from "../support/log.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startHaproxy, startNginx } from "../support/proxies.js";
import { startServer, waitFor } from "../support/server.js";

/** A node stops behind real balancers, while clients work: nobody is refused, nothing is cut. */

const drainMs = 3_000;
const server = await startServer({ config: { trustedProxies: ["127.0.0.1"] } });
t.teardown(() => server.stop());
const { config } = server.nodes[0]!.services;
const token = await server.token("editor");
await makeMap(server, "m");
const { id: layer } = await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
await addObject(server, "a", square(10, 50, 1), { map: "m" });
await server.sql.query(
  `insert into layers.l${layer} (geom)
   select st_buffer(st_setsrid(st_makepoint(n % 170, n % 80), 4326), 0.1, 16) from generate_series(1, 20000) n`,
);

for (const [name, balancer] of [
  // It asks each node whether it is ready.
  ["HAProxy", startHaproxy],
  // It finds out that one is gone when that refuses a connection.
  ["nginx", startNginx],
] as const)
  t.test(`${name}: nobody is refused, and nothing is cut, when a node stops`, async (t) => {
    const leaving = await startNode({ ...config, port: 0 }, quietLog);
    const { url, stop } = await balancer({ nodes: [server.nodes[0]!.port, leaving.port] });
    t.teardown(stop);
    const clients = Array.from({ length: 6 }, () => new Client(url));
    const working = clients.map((client) => client.work());
    const reading = readSlowly(t, `http://127.0.0.1:${leaving.port}`);
    await waitFor(() => clients.every(({ done }) => done > 10));
    const stopped = leaving.stop(20_000, drainMs);
    await waitFor(async () => {
      const ready = await fetch(`http://127.0.0.1:${leaving.port}/health/ready`);
      return ready.status === 503 && (await ready.text()).includes('"stopping"');
    });
    t.equal(
      (await fetch(`http://127.0.0.1:${leaving.port}/tms/p/m/0/0/0.png`)).status,
      200,
      "it answers still",
    );
    await stopped;
    await reading;
    const before = clients.map(({ done }) => done);
    await waitFor(() => clients.every(({ done }, index) => done > before[index]! + 10));
    for (const client of clients) client.isEnding = true;
    await Promise.all(working);
    t.same(
      clients.flatMap(({ failures }) => failures),
      [],
      `of ${clients.reduce((sum, { done }) => sum + done, 0)} requests`,
    );
  });

/** Looks and edits, one request after the other, by connections that are kept. */
class Client {
  done = 0;
  isEnding = false;
  readonly failures: string[] = [];

  constructor(private readonly url: string) {}

  async work(): Promise<void> {
    for (let round = 0; !this.isEnding; round++) {
      await this.ask(`/tms/p/m/${round % 3}/0/0.png?base=0`);
      await this.ask("/api/2.8/p/m/layers/a/count/");
      await this.ask("/api/2.8/p/m/layers/a/objects/", {
        method: "POST",
        headers: { "content-type": "application/json", "x-token": token },
        body: JSON.stringify({ fields: {}, geom: square(round % 100, 50, 1) }),
      });
      // They ask for as long as a node drains: for all of the machine they would only take longer.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  private async ask(path: string, init: RequestInit = {}): Promise<void> {
    try {
      const answer = await fetch(this.url + path, init);
      const text = await answer.text();
      if (!answer.ok) this.failures.push(`${path}: ${answer.status} ${text}`);
    } catch (error) {
      const { message, cause } = error as Error;
      this.failures.push(`${path}: ${message} ${String(cause)}`);
    }
    this.done++;
  }
}

/** A long list that is read for longer than the balancers are told. */
async function readSlowly(t: Test, url: string): Promise<void> {
  const answer = await fetch(`${url}/api/2.8/p/m/layers/a/objects/`);
  let text = "";
  const decoder = new TextDecoder();
  let pauses = 0;
  for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (pauses++ < 50) await new Promise((resolve) => setTimeout(resolve, 100));
  }
  t.ok(JSON.parse(text).length >= 20_000, "the list is whole");
}
