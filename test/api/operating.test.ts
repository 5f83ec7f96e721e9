import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import t from "tap";
import { createLog } from "../../src/log.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** What operators rely on: health, metrics, logs. */

const lines: string[] = [];
const log = createLog(
  "debug",
  "test",
  new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  }),
);
const metricsToken = "m".repeat(16);
const server = await startServer({ log, config: { metricsToken } });
t.teardown(() => server.stop());
const node = server.nodes[0]!;

t.test("a node is live, and ready when the database, Redis and both hosts answer", async (t) => {
  t.equal((await fetch(`${server.url}/health/live`)).status, 200);
  const ready = await fetch(`${server.url}/health/ready`);
  t.equal(ready.status, 200);
  t.same(await ready.json(), {
    status: "ready",
    checks: { database: true, redis: true, render: true, transfer: true, files: true },
  });
});

t.test(
  "a node that starts the process for its first import is ready, one that lost it is degraded",
  async (t) => {
    const { transfer } = node.services;
    const status = async () =>
      ((await (await fetch(`${server.url}/health/ready`)).json()) as { status: string }).status;
    const starting = transfer.whenReady();
    t.equal(await status(), "ready");
    await starting;
    process.kill(transfer.pid!, "SIGKILL");
    await waitFor(async () => (await status()) === "degraded");
    await waitFor(async () => (await status()) === "ready");
  },
);

t.test("a node whose Redis is away is degraded, and serves public tiles all the same", async (t) => {
  await makeMap(server, "away");
  await makeStyledLayer(server, "away", "a", "#a { line-width: 1; }");
  const alone = await startServer({ config: { redisUrl: "redis://127.0.0.1:1" } });
  t.teardown(() => alone.stop());
  const ready = await fetch(`${alone.url}/health/ready`);
  t.equal(ready.status, 200, "a balancer goes on sending requests");
  t.match(await ready.json(), { status: "degraded", checks: { redis: false, database: true } });
  t.equal((await fetch(`${alone.url}/health/live`)).status, 200);
  await alone.sql.query("insert into map (project_id, code) select id, 'm' from project where code = 'p'");
  t.equal((await fetch(`${alone.url}/tms/p/m/?x=0&y=0&z=0`)).status, 200);
  const unchecked = "A".repeat(43);
  const list = await fetch(`${alone.url}/api/2.8/p/m/layers/?token=${unchecked}`);
  t.equal(list.status, 503, "tokens fail closed");
});

t.test(
  "a folder of files that is another one is told in the log and by health, until it is the right one",
  async (t) => {
    const files = join(node.services.config.dataDir, "files");
    const mark = await readFile(join(files, "installation"), "utf8");
    const health = async () => (await fetch(`${server.url}/health/ready`)).json() as Promise<any>;
    lines.length = 0;
    await writeFile(join(files, "installation"), `${randomUUID()}\n`);
    await waitFor(async () => (await health()).status === "degraded");
    t.match(await health(), { checks: { database: true, files: false }, hint: /doctor/ });
    t.match(lines.join(""), /"level":50.*belongs to another installation.*set dataDir/);
    await rename(files, `${files}-away`);
    await server.sql.query(
      "insert into picture (project_id, path, blob, digest, format, width, height, bytes) select id, 'a.svg', gen_random_uuid(), '', 'svg', 1, 1, 1 from project where code = 'p'",
    );
    await waitFor(async () => {
      await health();
      return lines.some((line) => /lacks what the database names/.test(line));
    });
    await rm(files, { recursive: true, force: true });
    await rename(`${files}-away`, files);
    await writeFile(join(files, "installation"), mark);
    await waitFor(async () => (await health()).status === "ready");
    await server.sql.query("delete from picture");
  },
);

t.test("metrics are OpenMetrics text and count tiles by the level that had them", async (t) => {
  await makeMap(server, "metrics");
  await makeStyledLayer(server, "metrics", "a", "#a { line-width: 1; }");
  const url = tileUrl(server, "metrics", { lon: 1, lat: 1, z: 5 });
  for (let round = 0; round < 3; round++) await fetch(url);
  await fetch(`${url}&other=1`);
  const answer = await fetch(`${server.url}/metrics`);
  t.match(answer.headers.get("content-type"), /^application\/openmetrics-text/);
  const text = await answer.text();
  t.ok(text.endsWith("# EOF\n"));
  const value = (line: string) => Number(new RegExp(`^${line} (\\S+)$`, "m").exec(text)?.[1]);
  t.equal(value('mapwright_tiles_total\\{source="address"\\}'), 2);
  t.equal(value('mapwright_tiles_total\\{source="memory"\\}'), 1);
  t.equal(value('mapwright_tiles_total\\{source="render"\\}'), 1);
  t.equal(value("mapwright_render_seconds_count"), 1);
  t.equal(value("mapwright_redis_ready"), 1);
  t.equal(value("mapwright_render_queue"), 0);
  t.ok(value("mapwright_database_connections") >= 1);
});

t.test(
  "metrics count the tiles that were drawn, asked for or not, and those of them that were encoded",
  async (t) => {
    await makeMap(server, "drawn");
    await makeStyledLayer(server, "drawn", "a", "#a { line-width: 1; }");
    await addObject(server, "a", square(1, 1, 20), { map: "drawn" });
    const counts = async () => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      return ["drawn", "encoded"].map((what) =>
        Number(new RegExp(`^mapwright_tiles_${what}_total (\\d+)$`, "m").exec(text)?.[1]),
      ) as [number, number];
    };
    const fetched = async (lon: number, more = "") => {
      const [drawn, encoded] = await counts();
      const url = tileUrl(server, "drawn", { lon, lat: 1, z: 5 });
      t.equal((await fetch(`${url}&base=0${more}`)).status, 200);
      const [drawnNow, encodedNow] = await counts();
      return { drawn: drawnNow - drawn, encoded: encodedNow - encoded };
    };
    const cold = await fetched(1);
    t.equal(cold.drawn, 16, "a cold tile comes with those of its metatile");
    t.ok(cold.encoded > 0 && cold.encoded <= 16);
    t.same(await fetched(1), { drawn: 0, encoded: 0 }, "what is cached is not drawn");
    t.same(await fetched(12), { drawn: 0, encoded: 0 }, "nor is its neighbour");
    t.same(await fetched(91), { drawn: 16, encoded: 0 }, "empty tiles have the encoding of earlier ones");
    t.match(await fetched(1, "&retina=3"), { drawn: 4 }, "at scale 3 there are 2 × 2");
  },
);

t.test("metrics are for this machine and for who has the token, and do not exist for others", async (t) => {
  const ask = async (headers: Record<string, string>) =>
    (await fetch(`${server.url}/metrics`, { headers })).status;
  const bearer = { authorization: `Bearer ${metricsToken}` };
  t.equal(await ask({}), 200);
  for (const passedOn of [
    { "x-forwarded-for": "203.0.113.7" },
    { "x-forwarded-for": "127.0.0.1" },
    { forwarded: "for=203.0.113.7" },
    { via: "1.1 proxy" },
    { "x-real-ip": "203.0.113.7" },
  ]) {
    t.equal(await ask(passedOn), 404, JSON.stringify(passedOn));
    t.equal(await ask({ ...passedOn, ...bearer }), 200);
    for (const authorization of ["Bearer", "Bearer ", "Bearer x", `Bearer ${metricsToken}x`, metricsToken])
      t.equal(await ask({ ...passedOn, authorization }), 404, authorization);
  }
});

t.test("metrics tell how long the event loop was held since they were read last", async (t) => {
  const told = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    const value = (name: string) =>
      Number(new RegExp(`^mapwright_event_loop_${name}_max_seconds (\\S+)$`, "m").exec(text)?.[1]);
    return { delay: value("delay"), held: value("held") };
  };
  const delay = async () => (await told()).delay;
  await delay();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const end = performance.now() + 700;
  while (performance.now() < end);
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.ok((await delay()) >= 0.65, "700 ms were held");
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.ok((await delay()) < 0.65, "and are told once");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.ok((await told()).held >= 0.6, "time in which it waits for what it called is held, too");
});

t.test("a token is in no log line, wherever it travelled", async (t) => {
  const token = await server.token("admin");
  await fetch(`${server.url}/api/2.8/p/authorized/?token=${token}`);
  await fetch(`${server.url}/api/2.8/p/metrics/`, { headers: { authorization: `Bearer ${token}` } });
  await fetch(`${server.url}/api/2.8/p/nothing/layers/`, { headers: { "x-token": token } });
  await fetch(`${server.url}/api/2.8/p/logout/`, { method: "POST", body: new URLSearchParams({ token }) });
  await fetch(`${server.url}/tms/p/metrics/?x=0&y=0&z=0&token=${token}`);
  await waitFor(() => lines.some((line) => line.includes("/api/2.8/p/logout/")));
  t.notOk(lines.some((line) => line.includes(token)));
  t.ok(
    lines.some((line) => line.includes("/api/2.8/p/authorized/")),
    "the request itself is there",
  );
  for (const line of lines) t.ok(typeof JSON.parse(line).level === "number");
});

t.test("every answer has a request id, and an internal error names it without telling more", async (t) => {
  const answer = await fetch(`${server.url}/api/2.8/p/metrics/`);
  const id = answer.headers.get("x-request-id");
  t.ok(id);
  t.ok(
    lines.some((line) => line.includes(id!)),
    "the log has it too",
  );
  await server.sql.query("alter table layer_column rename to layer_column_away");
  node.services.catalog.map("p", "metrics").catch(() => undefined);
  await server.sql.query("update map set comment = 'read me again' where code = 'metrics'");
  await waitFor(async () => (await fetch(`${server.url}/api/2.8/p/metrics/`)).status === 500);
  const broken = await fetch(`${server.url}/api/2.8/p/metrics/`);
  const body = (await broken.json()) as { code: string; data: { request: string } };
  await server.sql.query("alter table layer_column_away rename to layer_column");
  t.equal(body.code, "internal");
  t.equal(body.data.request, broken.headers.get("x-request-id"));
  t.notMatch(JSON.stringify(body), /layer_column|select|src\//i);
  t.ok(
    lines.some((line) => line.includes(body.data.request) && line.includes("layer_column")),
    "the log tells more",
  );
});
