import { createHash } from "node:crypto";
import { get, type IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";
import t from "tap";
import { json, type Route } from "../../src/http/types.js";
import { startServer } from "./harness.js";

/** JSON and other texts are compressed for clients that ask for it. */

const long = { text: "A map, its layers and their objects. ".repeat(200) };
const parts = Array.from({ length: 50 }, (_, index) => `[${index},"Ð\u0090"],`.repeat(100));
let pulled = 0;
let ended = 0;

async function* endless(): AsyncGenerator<string, void, undefined> {
  try {
    for (;;) {
      pulled++;
      // Hardly to be made smaller.
      yield `${createHash("sha512").update(String(pulled)).digest("base64")}\n`;
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    ended++;
  }
}

const streams: Record<string, () => AsyncGenerator<string, void, undefined>> = {
  lines: async function* () {
    for (let line = 0; line < 20_000; line++) yield `{"id":${line},"name":"Place ${line}"}\n`;
  },
  nothing: async function* () {},
  early: async function* () {
    yield* [];
    throw new Error("at once");
  },
  late: async function* () {
    for (let line = 0; line < 50_000; line++)
      yield `${createHash("sha1").update(String(line)).digest("hex")}\n`;
    throw new Error("in the middle");
  },
  endless,
};

const routes: readonly Route<undefined>[] = [
  { methods: ["GET"], path: "/long/", handler: () => json(long) },
  { methods: ["GET"], path: "/short/", handler: () => json({ text: "short" }) },
  { methods: ["GET"], path: "/parts/", handler: () => ({ kind: "json_text", text: parts }) },
  {
    methods: ["GET"],
    path: "/tagged/:kind/",
    handler: ({ params }) => ({
      kind: "json_text",
      text: JSON.stringify(long),
      headers: {
        etag: params.kind === "weak" ? 'W/"a1"' : '"a1"',
        "cache-control": "public, max-age=0",
        vary: "Accept",
      },
    }),
  },
  {
    methods: ["GET"],
    path: "/picture/",
    handler: () => ({ kind: "bytes", body: Buffer.alloc(5_000), headers: { "content-type": "image/png" } }),
  },
  {
    methods: ["GET"],
    path: "/file/",
    handler: () => ({
      kind: "bytes",
      body: "x".repeat(5_000),
      headers: { "content-type": "text/plain", "accept-ranges": "bytes" },
    }),
  },
  {
    methods: ["GET"],
    path: "/stream/:name/",
    handler: ({ params }) => ({
      kind: "stream",
      chunks: streams[params.name!]!(),
      headers: { "content-type": params.name === "events" ? "text/event-stream" : "application/x-ndjson" },
    }),
  },
];

const server = await startServer(routes);
t.teardown(server.close);

interface Got {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** Without a client that decodes by itself. */
const ask = (path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Got> =>
  new Promise((resolve, reject) => {
    get(`${server.url}${path}`, { headers, method }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.once("error", reject);
      answer.once("end", () =>
        resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(chunks) }),
      );
    }).once("error", reject);
  });
const zipped = { "accept-encoding": "gzip, br" };

t.test("a long answer is compressed for whom asks, and says so to caches", async (t) => {
  const plain = await ask("/long/");
  t.equal(plain.headers["content-encoding"], undefined);
  t.equal(plain.headers.vary, "Accept-Encoding");
  t.same(JSON.parse(plain.body.toString()), long);
  for (const encoding of ["gzip", "br, gzip;q=0.5", "*"]) {
    const coded = await ask("/long/", { "accept-encoding": encoding });
    t.equal(coded.headers["content-encoding"], "gzip", encoding);
    t.equal(coded.headers.vary, "Accept-Encoding");
    t.ok(coded.body.length < plain.body.length / 10);
    t.equal(Number(coded.headers["content-length"]), coded.body.length);
    t.same(JSON.parse(gunzipSync(coded.body).toString()), long);
  }
  for (const encoding of ["br", "gzip;q=0", "identity"])
    t.equal(
      (await ask("/long/", { "accept-encoding": encoding })).headers["content-encoding"],
      undefined,
      encoding,
    );
});

t.test("short answers, pictures and what is asked for in parts are sent as they are", async (t) => {
  for (const path of ["/short/", "/picture/", "/file/"])
    t.equal((await ask(path, zipped)).headers["content-encoding"], undefined, path);
  t.equal((await ask("/nowhere/", zipped)).headers["content-encoding"], undefined);
});

t.test("texts in parts", async (t) => {
  const whole = Buffer.from(parts.join(""), "latin1");
  t.same((await ask("/parts/")).body, whole);
  const coded = await ask("/parts/", zipped);
  t.equal(coded.headers["content-encoding"], "gzip");
  t.same(gunzipSync(coded.body), whole);
});

t.test("other bytes have another tag, and each is known again", async (t) => {
  const plain = await ask("/tagged/strong/");
  const coded = await ask("/tagged/strong/", zipped);
  t.equal(plain.headers.etag, '"a1"');
  t.equal(coded.headers.etag, '"a1-gzip"');
  t.equal(coded.headers.vary, "Accept, Accept-Encoding");
  t.equal((await ask("/tagged/weak/", zipped)).headers.etag, 'W/"a1"');
  for (const headers of [{}, zipped])
    for (const tag of ['"a1"', '"a1-gzip"', 'W/"a1-gzip"', '"b", "a1-gzip"'])
      t.equal((await ask("/tagged/strong/", { ...headers, "if-none-match": tag })).status, 304, tag);
  t.equal((await ask("/tagged/strong/", { ...zipped, "if-none-match": '"a2-gzip"' })).status, 200);
});

t.test("HEAD has the headers of the uncompressed answer", async (t) => {
  const head = await ask("/long/", zipped, "HEAD");
  t.equal(head.headers["content-encoding"], undefined);
  t.equal(Number(head.headers["content-length"]), JSON.stringify(long).length);
});

t.test("streams", async (t) => {
  const plain = await ask("/stream/lines/");
  const coded = await ask("/stream/lines/", zipped);
  t.equal(coded.headers["content-encoding"], "gzip");
  t.ok(coded.body.length < plain.body.length / 4);
  t.same(gunzipSync(coded.body), plain.body);
  t.equal(gunzipSync((await ask("/stream/nothing/", zipped)).body).length, 0);
  t.equal((await ask("/stream/early/", zipped)).status, 500, "an error before the first byte");
  await t.rejects(ask("/stream/late/", zipped), "an error in the middle closes the connection");
});

t.test("a stream waits for its reader, and ends with it", async (t) => {
  pulled = 0;
  ended = 0;
  await new Promise<void>((resolve, reject) => {
    const request = get(`${server.url}/stream/endless/`, { headers: zipped }, (answer) => {
      answer.pause();
      let before = -1;
      const look = setInterval(() => {
        if (pulled > before) {
          before = pulled;
          return;
        }
        clearInterval(look);
        request.destroy();
        resolve();
      }, 200);
    });
    request.once("error", (error) => (request.destroyed ? undefined : reject(error)));
  });
  t.ok(pulled < 200_000, `${pulled} chunks of 100 bytes`);
  for (let waited = 0; ended === 0 && waited < 15_000; waited += 50)
    await new Promise((resolve) => setTimeout(resolve, 50));
  t.equal(ended, 1);
});
