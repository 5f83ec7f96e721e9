import t from "tap";
import { createLayer } from "../../src/catalog/layers.js";
import { createMap } from "../../src/catalog/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { collection, feature, point } from "../support/transfer.js";

/** The process that reads the file of an import is killed from outside, as by the kernel when memory is short, or crashes. */

const server = await startServer();
t.teardown(() => server.stop());
const { transfer } = server.nodes[0]!.services;
const token = await server.token("admin");
const [project] = (await server.sql.query<{ id: number }>("select id from project where code = 'p'")).rows;
const mapId = await createMap(server.nodes[0]!.services.db, Number(project!.id), { code: "m" });
await createLayer(server.nodes[0]!.services.db, mapId, { code: "l" });

const filler = "x".repeat(500);
const large = (name: string) =>
  collection(...Array.from({ length: 30_000 }, (_, i) => feature({ name, filler }, point(i / 1_000, 1))));
const send = (body: unknown, query = "") => server.api("POST", `m/layers/l/import/${query}`, { token, body });

/** Ends the process while it reads. */
async function endReader(signal: NodeJS.Signals): Promise<void> {
  await waitFor(async () => {
    const { rows } = await server.sql.query(
      "select from pg_class where relnamespace = 'staging'::regnamespace and relkind = 'r'",
    );
    return rows.length > 0 && transfer.counts().running === 1;
  });
  process.kill(transfer.pid!, signal);
}

async function sendAndEnd(body: unknown, signal: NodeJS.Signals) {
  await transfer.whenReady();
  const answer = send(body);
  await endReader(signal);
  return answer;
}
const gone = () =>
  waitFor(async () => {
    const { rows } = await server.sql.query(
      "select from pg_class where relnamespace = 'staging'::regnamespace",
    );
    return rows.length === 0;
  });

t.test("a process that is killed once: the client may send the file again", async (t) => {
  const file = large("once");
  const killed = await sendAndEnd(file, "SIGKILL");
  t.equal(killed.status, 503, killed.text);
  t.equal(killed.json.code, "busy");
  t.match(killed.headers.get("retry-after"), /^[1-9]/);
  await gone();
  const again = await send(file);
  t.equal(again.status, 200, again.text);
  await gone();
  t.equal((await sendAndEnd(file, "SIGKILL")).status, 503, "what was read meanwhile is not suspect");
  await gone();
});

t.test(
  "one that is killed over the same file twice in a row: the file is refused, others are read",
  async (t) => {
    const file = large("twice");
    t.equal((await sendAndEnd(file, "SIGKILL")).status, 503);
    await gone();
    const second = await sendAndEnd(file, "SIGKILL");
    t.equal(second.status, 500, second.text);
    t.match(second.json, { code: "import_failed", message: /ended over this file before/ });
    await gone();
    await transfer.whenReady();
    const { pid } = transfer;
    const third = await send(file);
    t.equal(third.status, 500);
    t.match(third.json, { code: "import_failed", message: /ended over this file before/ });
    t.equal(transfer.pid, pid, "it is not read");
    t.equal((await send(collection(feature({ name: "other" })))).status, 200);
  },
);

t.test("one that crashes: the file is refused at once", async (t) => {
  const file = large("crash");
  const first = await sendAndEnd(file, "SIGSEGV");
  t.equal(first.status, 500);
  t.match(first.json, { code: "import_failed", message: /the process that read it ended/ });
  await gone();
  t.match((await send(file)).json, { code: "import_failed", message: /ended over this file before/ });
});

t.test("the record of an import that goes on by itself says the same", async (t) => {
  await transfer.whenReady();
  const started = await send(large("job"), "?async=1");
  t.equal(started.status, 202, started.text);
  await endReader("SIGKILL");
  let job: any;
  await waitFor(async () => {
    job = (await server.api("GET", `m/layers/l/import/${started.json.id}/`, { token })).json;
    return job.state === "failed";
  });
  t.match(job.error, { code: "busy", data: { retryAfterSeconds: Number } });
});
