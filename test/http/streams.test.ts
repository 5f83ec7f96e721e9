import t from "tap";
import { failed } from "../../src/errors.js";
import type { Route } from "../../src/http/types.js";
import { eventually, startServer, Wire } from "./harness.js";

interface Watch {
  given: number;
  returned: number;
  aborted: number;
}
const watch: Watch = { given: 0, returned: 0, aborted: 0 };
const headers = { "content-type": "text/plain" };

async function* numbered(count: number, bytes: number) {
  try {
    for (let i = 0; i < count; i++) {
      watch.given += bytes;
      yield Buffer.alloc(bytes, String.fromCharCode(97 + (i % 26)));
    }
  } finally {
    watch.returned++;
  }
}

/** A source that holds something from the start, whether it is read or not. */
function held(): AsyncIterableIterator<string> {
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      watch.given++;
      return { done: false, value: "some data" };
    },
    async return() {
      watch.returned++;
      return { done: true, value: undefined };
    },
  };
}

const routes: readonly Route<undefined>[] = [
  {
    methods: ["GET"],
    path: "/stream/:count/:bytes/",
    handler: ({ params, signal }) => {
      signal.addEventListener("abort", () => watch.aborted++);
      return { kind: "stream", chunks: numbered(Number(params.count), Number(params.bytes)), headers };
    },
  },
  {
    methods: ["GET"],
    path: "/text/",
    handler: () => ({
      kind: "stream",
      headers,
      chunks: (async function* () {
        yield "";
        yield "[";
        yield "ж".repeat(20_000);
        yield "]";
      })(),
    }),
  },
  {
    methods: ["GET"],
    path: "/none/",
    handler: () => ({ kind: "stream", headers, chunks: (async function* () {})() }),
  },
  {
    methods: ["GET"],
    path: "/broken/:after/",
    handler: ({ params }) => ({
      kind: "stream",
      headers,
      chunks: (async function* () {
        for (let i = 0; i < Number(params.after); i++) yield "some data";
        await new Promise((resolve) => setTimeout(resolve, 20));
        throw failed("import_failed", "It broke.");
      })(),
    }),
  },
  {
    methods: ["GET"],
    path: "/cancelled/",
    handler: () => ({
      kind: "stream",
      headers,
      chunks: (async function* () {
        yield "some data";
        await new Promise((resolve) => setTimeout(resolve, 20));
        // As GEOS says that it was interrupted.
        throw Object.assign(new Error("GEOS isvalid() threw an error!"), { code: "57014" });
      })(),
    }),
  },
  {
    methods: ["GET"],
    path: "/waiting/",
    handler: ({ signal }) => ({
      kind: "stream",
      headers,
      chunks: (async function* () {
        yield "first";
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("left"))));
      })(),
    }),
  },
  {
    methods: ["GET"],
    path: "/unsaid/:type/",
    handler: ({ params }) => ({
      kind: "stream",
      headers: { "content-type": `text/${params.type}`, "x-name": "Москва" },
      chunks: held(),
    }),
  },
  {
    methods: ["GET"],
    path: "/late/",
    handler: async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      await new Promise((resolve) => setImmediate(resolve));
      return { kind: "stream", headers, chunks: held() };
    },
  },
  {
    methods: ["GET"],
    path: "/slow/",
    handler: async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return { kind: "json", value: "done" };
    },
  },
];

t.test("streams", async (t) => {
  const server = await startServer(routes);
  t.teardown(server.close);

  await t.test("arrive whole, whatever the size of their parts", async (t) => {
    for (const [count, bytes] of [
      [0, 1],
      [1, 1],
      [1000, 10],
      [50, 14_999],
      [50, 15_000],
      [50, 15_001],
      [20, 1_000_000],
    ] as const) {
      const answer = Buffer.from(
        await (await fetch(`${server.url}/stream/${count}/${bytes}/`)).arrayBuffer(),
      );
      t.equal(answer.length, count * bytes);
      let right = true;
      for (let i = 0; i < count; i++) {
        right &&= answer.subarray(i * bytes, (i + 1) * bytes).every((byte) => byte === 97 + (i % 26));
      }
      t.ok(right, `${count} × ${bytes}`);
    }
    t.equal(await (await fetch(`${server.url}/text/`)).text(), `[${"ж".repeat(20_000)}]`);
    const none = await fetch(`${server.url}/none/`);
    t.equal(none.status, 200);
    t.equal(none.headers.get("content-type"), "text/plain");
    t.equal(await none.text(), "");
  });

  await t.test("HEAD asks no source for anything", async (t) => {
    watch.given = 0;
    const answer = await fetch(`${server.url}/stream/10/10/`, { method: "HEAD" });
    t.equal(answer.status, 200);
    t.equal(watch.given, 0);
  });

  await t.test("wait for their reader and then arrive whole", async (t) => {
    watch.given = 0;
    const total = 60_000_000;
    const wire = new Wire(server.port);
    await wire.send("GET /stream/600/100000/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    wire.pause();
    let last = -1;
    await eventually(async () => {
      const still = watch.given === last;
      last = watch.given;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return still && last > 0;
    });
    t.ok(watch.given < total / 2, `only ${watch.given} bytes were asked of the source`);
    wire.resume();
    const answer = await wire.untilClosed();
    let rest = answer.slice(answer.indexOf("\r\n\r\n") + 4);
    let bytes = 0;
    let right = true;
    while (rest.length > 0) {
      const end = rest.indexOf("\r\n");
      const size = Number.parseInt(rest.slice(0, end), 16);
      if (size === 0) break;
      for (let i = 0; i < size && right; i += 997) {
        right = rest.charCodeAt(end + 2 + i) === 97 + (Math.floor((bytes + i) / 100_000) % 26);
      }
      bytes += size;
      rest = rest.slice(end + 4 + size);
    }
    t.equal(bytes, total);
    t.ok(right);
  });

  await t.test("end when their reader leaves", async (t) => {
    watch.returned = 0;
    watch.aborted = 0;
    const wires = Array.from({ length: 20 }, () => new Wire(server.port));
    await Promise.all(
      wires.map(async (wire) => {
        await wire.send("GET /stream/100000/100000/ HTTP/1.1\r\nHost: x\r\n\r\n");
        await wire.until((text) => text.length > 1000);
        wire.leave();
      }),
    );
    await eventually(() => watch.returned === 20 && watch.aborted === 20);
    await eventually(() => server.server.openRequests() === 0);
    const waiting = new Wire(server.port);
    await waiting.send("GET /waiting/ HTTP/1.1\r\nHost: x\r\n\r\n");
    await waiting.until((text) => text.includes("first"));
    waiting.leave();
    await eventually(() => server.server.openRequests() === 0);
    t.ok(server.answered.some(({ route, status }) => route === "/waiting/" && status === 499));
  });

  await t.test("end when their headers cannot be sent", async (t) => {
    watch.given = 0;
    for (const [type, encoding] of [
      ["plain", "gzip"],
      ["plain", "identity"],
      ["event-stream", "gzip"],
    ] as const) {
      watch.returned = 0;
      const answer = await fetch(`${server.url}/unsaid/${type}/`, {
        headers: { "accept-encoding": encoding },
      });
      t.equal(answer.status, 500);
      t.equal(watch.returned, 1, `${type} ${encoding}`);
    }
    t.equal(watch.given, 0);
  });

  await t.test("of somebody who has left before they were made are not read", async (t) => {
    for (const accept of ["", "Accept-Encoding: gzip\r\n"]) {
      watch.given = 0;
      watch.returned = 0;
      const wire = new Wire(server.port);
      await wire.send(`GET /late/ HTTP/1.1\r\nHost: x\r\n${accept}\r\n`);
      await eventually(() => server.server.openRequests() === 1);
      wire.leave();
      await eventually(() => server.server.openRequests() === 0);
      t.match(watch, { given: 0, returned: 1 });
      t.match(server.answered.at(-1), { route: "/late/", status: 499 });
    }
  });

  await t.test("a statement that is cancelled in the middle is told as one, not as a fault", async (t) => {
    await t.rejects(fetch(`${server.url}/cancelled/`).then((answer) => answer.text()));
    const told = () => server.logLines.find((line) => line.includes("GEOS isvalid()"));
    await eventually(async () => told() !== undefined);
    t.match(JSON.parse(told()!), { level: 40, err: { code: "57014" } });
  });

  await t.test(
    "an error before the first bytes is answered, one after them cuts the connection",
    async (t) => {
      const early = await fetch(`${server.url}/broken/0/`);
      t.equal(early.status, 500);
      t.equal(((await early.json()) as { code: string }).code, "import_failed");
      const wire = new Wire(server.port);
      await wire.send("GET /broken/3/ HTTP/1.1\r\nHost: x\r\n\r\n");
      const answer = await wire.untilClosed();
      t.match(answer, "some data");
      t.notOk(answer.endsWith("0\r\n\r\n"));
      t.ok(server.logLines.some((line) => line.includes("It broke.")));
      await t.rejects(fetch(`${server.url}/broken/3/`).then((cut) => cut.text()));
    },
  );
});

t.test("closing lets running requests end, and ends those that do not", async (t) => {
  const server = await startServer(routes);
  const idle = new Wire(server.port);
  await idle.send("GET /text/ HTTP/1.1\r\nHost: x\r\n\r\n");
  await idle.until((text) => text.includes("0\r\n\r\n"));
  const slow = fetch(`${server.url}/slow/`);
  await eventually(() => server.server.openRequests() === 1);
  const closed = server.server.close(5000);
  await idle.send("GET /none/ HTTP/1.1\r\nHost: x\r\n\r\n");
  await idle.until((text) => /connection: close/i.test(text));
  t.match(idle.received, /connection: close/i, "a connection that is kept is asked to end");
  await closed;
  t.equal(await (await slow).json(), "done");
  await t.rejects(fetch(`${server.url}/slow/`));
  await server.close();

  const stubborn = await startServer(routes);
  const wire = new Wire(stubborn.port);
  await wire.send("GET /waiting/ HTTP/1.1\r\nHost: x\r\n\r\n");
  await wire.until((text) => text.includes("first"));
  await stubborn.server.close(50);
  await wire.untilClosed();
  await eventually(() => stubborn.server.openRequests() === 0);
  await stubborn.close();
});
