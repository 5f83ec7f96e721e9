import t from "tap";
import { json, type Route } from "../../src/http/types.js";
import { eventually, speak, startServer, Wire } from "./harness.js";

/** What takes its time: hostile slowness is cut off after some 10 s, honest slowness is not. */

const host = "Host: x\r\n";
const longerThanTimeouts = 16_000;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let ran = 0;
let returned = 0;
const routes: readonly Route<undefined>[] = [
  { methods: ["GET"], path: "/", handler: () => json("home") },
  { methods: ["GET", "POST"], path: "/run/", handler: () => json(++ran) },
  { methods: ["POST"], path: "/echo/", handler: async ({ body }) => json(await body.json()) },
  {
    methods: ["GET"],
    path: "/endless/",
    handler: () => ({
      kind: "stream",
      headers: {},
      chunks: (async function* () {
        try {
          for (;;) yield Buffer.alloc(100_000);
        } finally {
          returned++;
        }
      })(),
    }),
  },
  {
    methods: ["POST"],
    path: "/think/",
    takes: { bytes: undefined, members: 1, values: 1 },
    handler: async ({ body, query }) => {
      if (query.has("read")) await body.bytes();
      await wait(longerThanTimeouts);
      return json((await body.bytes()).length);
    },
  },
  {
    methods: ["POST"],
    path: "/dream/",
    handler: () => ({
      kind: "stream",
      headers: {},
      chunks: (async function* () {
        yield "begun ";
        await wait(longerThanTimeouts);
        yield "ended";
      })(),
    }),
  },
];

t.jobs = 8;

t.test("heads that break the grammar never run and are closed", async (t) => {
  const server = await startServer(routes);
  t.teardown(server.close);
  ran = 0;
  const next = `GET /run/ HTTP/1.1\r\n${host}\r\n`;
  const broken = [
    `POST /run/ HTTP/1.1\r\n${host}Content-Length : 0\r\n\r\n${next}`,
    `POST /run/ HTTP/1.1\r\n${host}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${next}`,
    `GET /run/ HTTP/1.1\r\n${host}a: b\r\n c\r\n\r\n`,
    `GET /run/ HTTP/1.1\r\n${host}a: b\nc: d\r\n\r\n`,
    `GET /run/ HTTP/1.1\r\n${host}a: b\0c\r\n\r\n`,
    "GET /run/ HTTP/1.1\r\n\r\n",
    `GET /run/ HTTP/1.0\r\n${host}\r\n`,
    `GET /ru\0n/ HTTP/1.1\r\n${host}\r\n`,
    `GET http://x/run/ HTTP/1.1\r\n${host}\r\n`,
    `GET  /run/ HTTP/1.1\r\n${host}\r\n`,
    "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    `POST /echo/ HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n1\r\n0\r\n\r\n${next}`,
  ];
  // Some of them the library takes for unfinished: their time runs out.
  for (const answer of await Promise.all(broken.map((text) => speak(server.port, text))))
    t.notMatch(answer, "200 OK");
  t.equal(ran, 0);
});

t.test("slow heads and slow bodies are closed while others are served", async (t) => {
  const server = await startServer(routes);
  t.teardown(server.close);
  const heads = Array.from({ length: 40 }, () => new Wire(server.port));
  const bodies = Array.from({ length: 40 }, () => new Wire(server.port));
  await Promise.all(heads.map((wire) => wire.send(`GET / HTTP/1.1\r\n${host}`)));
  await Promise.all(
    bodies.map((wire) => wire.send(`POST /echo/ HTTP/1.1\r\n${host}Content-Length: 900\r\n\r\n`)),
  );
  const drip = setInterval(() => {
    for (const wire of [...heads, ...bodies]) if (!wire.closed) void wire.send("a");
  }, 500);
  t.equal((await fetch(server.url)).status, 200);
  await Promise.all([...heads, ...bodies].map((wire) => wire.untilClosed()));
  clearInterval(drip);
  await eventually(() => server.server.openRequests() === 0);
  t.equal((await fetch(server.url)).status, 200);
});

t.test("a reader that takes nothing is dropped", async (t) => {
  const server = await startServer(routes);
  t.teardown(server.close);
  const wire = new Wire(server.port);
  wire.pause();
  await wire.send(`GET /endless/ HTTP/1.1\r\n${host}\r\n`);
  await eventually(() => server.server.openRequests() === 1);
  await eventually(() => server.server.openRequests() === 0);
  t.equal(returned, 1);
  wire.leave();
});

t.test("a handler may take longer than any timeout", async (t) => {
  const server = await startServer(routes, { config: { maxBodyBytes: 50_000_000 } });
  t.teardown(server.close);
  const body = new Uint8Array(30_000_000);
  const ask = async (path: string, size: number) => {
    const answer = await fetch(server.url + path, { method: "POST", body: body.subarray(0, size) });
    return answer.text();
  };
  t.same(
    await Promise.all([
      ask("/think/?read", 3),
      ask("/think/?read", 3_000_000),
      ask("/think/", 0),
      ask("/think/", 3),
      ask("/think/", 30_000_000),
      ask("/dream/", 0),
      ask("/dream/", 3),
      ask("/dream/", 30_000_000),
    ]),
    ["3", "3000000", "0", "3", "30000000", "begun ended", "begun ended", "begun ended"],
  );
});

t.test("a body that nobody reads is held back", async (t) => {
  const server = await startServer(routes, { config: { maxBodyBytes: 100_000_000 } });
  t.teardown(server.close);
  const total = 60_000_000;
  const wire = new Wire(server.port);
  let taken = false;
  await wire.send(`POST /think/ HTTP/1.1\r\n${host}Connection: close\r\nContent-Length: ${total}\r\n\r\n`);
  const sent = wire.send(new Uint8Array(total)).then(() => {
    taken = true;
  });
  await wait(longerThanTimeouts / 2);
  t.notOk(taken, "the sender waits");
  t.match(await wire.untilClosed(), `\r\n\r\n${total}`);
  await sent;
});
