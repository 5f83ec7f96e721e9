import t from "tap";
import type { Route } from "../../src/http/types.js";
import { eventually, speak, startServer, statusOf, Wire } from "./harness.js";

/** Long texts that are sent in parts. */

const text = JSON.stringify(Array.from({ length: 200_000 }, (_, at) => [`ж${at}`, at / 7]));
const bytes = Buffer.from(text);
const partsOf = (partBytes: number): string[] =>
  Array.from({ length: Math.ceil(bytes.length / partBytes) }, (_, at) =>
    bytes.toString("latin1", at * partBytes, (at + 1) * partBytes),
  );
const headers = { etag: '"1"' };
const routes: readonly Route<undefined>[] = [64 * 1024, 1_000_003, 50, bytes.length].map((partBytes) => {
  const parts = partsOf(partBytes);
  return {
    methods: ["GET", "HEAD", "POST"],
    path: `/${partBytes === bytes.length ? "whole" : partBytes}/`,
    handler: () => ({ kind: "json_text", text: parts, headers }),
  };
});

t.test("parts are one answer, whatever their size", async (t) => {
  const server = await startServer(routes);
  t.teardown(server.close);
  for (const name of [64 * 1024, 1_000_003, 50, "whole"]) {
    const answer = await fetch(`${server.url}/${name}/`, { headers: { "accept-encoding": "identity" } });
    t.equal(answer.headers.get("content-length"), String(bytes.length));
    t.match(answer.headers.get("content-type"), /application\/json/);
    t.ok(Buffer.from(await answer.arrayBuffer()).equals(bytes), `parts of ${name} bytes`);
    const head = await fetch(`${server.url}/${name}/`, { method: "HEAD" });
    t.equal(head.headers.get("content-length"), String(bytes.length));
    const known = await fetch(`${server.url}/${name}/`, { headers: { "if-none-match": '"1"' } });
    t.equal(known.status, 304);
    t.equal(await known.text(), "");
  }
});

t.test("parts reach a client that reads slowly, and the connection is used again", async (t) => {
  const server = await startServer(routes);
  t.teardown(server.close);
  const wire = new Wire(server.port);
  const ask = "GET /65536/ HTTP/1.1\r\nHost: x\r\n\r\n";
  await wire.send(ask);
  for (let stop = 1; stop <= 20; stop++) {
    await wire.until((received) => received.length >= stop * 100_000);
    wire.pause();
    await new Promise((resolve) => setTimeout(resolve, 20));
    wire.resume();
  }
  const isWhole = (received: string, times: number) => received.length >= times * bytes.length + 100 * times;
  await wire.until((received) => isWhole(received, 1));
  await wire.send(ask);
  const received = await wire.until(
    (all) => all.endsWith(bytes.toString("latin1").slice(-1_000)) && isWhole(all, 2),
  );
  const [, first = "", second = ""] = received.split(/HTTP\/1\.1 200[\s\S]*?\r\n\r\n/);
  t.ok(Buffer.from(first, "latin1").equals(bytes), "the first answer");
  t.ok(Buffer.from(second, "latin1").equals(bytes), "the second one");
  wire.leave();
});

t.test("a client that leaves in the middle of parts ends them", async (t) => {
  const server = await startServer(routes);
  t.teardown(server.close);
  for (let turn = 0; turn < 20; turn++) {
    const wire = new Wire(server.port);
    await wire.send("GET /65536/ HTTP/1.1\r\nHost: x\r\n\r\n");
    await wire.until((received) => received.length > turn * 50_000);
    wire.leave();
  }
  await eventually(() => server.answered.length === 20);
  const answer = await fetch(`${server.url}/whole/`);
  t.equal((await answer.text()).length, text.length);
});

t.test("parts that are sent before the request has ended are whole, too", async (t) => {
  const server = await startServer(routes);
  t.teardown(server.close);
  const head = "POST /65536/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n";
  const wire = new Wire(server.port);
  await wire.send(`${head}${"x".repeat(50_000)}`);
  await wire.send("x".repeat(50_000));
  const received = await wire.untilClosed();
  t.equal(statusOf(received), 200);
  t.equal(statusOf(await speak(server.port, `${head}${"x".repeat(100_000)}`)), 200);
});
