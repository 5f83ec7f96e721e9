import t from "tap";
import { forbidden } from "../../src/errors.js";
import { type Admit, type Body, json, type Reply, type Route } from "../../src/http/types.js";
import { eventually, startServer, statusOf, Wire } from "./harness.js";

/** What a route takes of a body, and what becomes of the rest. */

const limits = { bytes: 200_000, earlyBytes: 1_000, members: 5, values: 10 };

/** A route that takes what `read` takes. */
const route = (path: string, read: (body: Body) => Promise<unknown>, takes?: Route<undefined>["takes"]) => ({
  methods: ["POST"] as const,
  path,
  ...(takes ? { takes } : {}),
  handler: async ({ body }: { body: Body }): Promise<Reply> => json(await read(body)),
});

/** Decides over the file of the request that is being read. */
let admit: Admit = () => true;
/** The body that was read last by `/watched/`, and how much of it had come when that ended. */
let watched: Body | undefined;
let seen: number | undefined;

const routes: readonly Route<undefined>[] = [
  route("/modest/", async (body) => (await body.bytes()).length),
  route("/taking/", async (body) => (await body.bytes()).length, limits),
  route("/greedy/", async (body) => (await body.bytes()).length, { ...limits, bytes: undefined }),
  route("/early/", async (body) => (await body.bytes(body.limits.earlyBytes)).length, limits),
  route("/json/", (body) => body.json(), limits),
  route("/fields/", async (body) => Object.keys(await body.fields()), limits),
  route(
    "/form/",
    async (body) => {
      const { files, fields, fileRefused } = await body.upload("file", (fields) => admit(fields));
      const [file] = files;
      return { bytes: file?.bytes ?? null, fields: { ...fields }, fileRefused, kept: await kept() };
    },
    { ...limits, bytes: 2_000 },
  ),
  route("/files/", async (body) => (await body.upload("file", () => true)).files.map(({ bytes }) => bytes), {
    ...limits,
    files: 2,
  }),
  route(
    "/watched/",
    async (body) => {
      watched = body;
      try {
        return (await body.bytes()).length;
      } finally {
        seen = body.receivedBytes;
      }
    },
    limits,
  ),
];

const server = await startServer(routes, { config: { maxBodyBytes: 300_000, maxUploadBytes: 100_000 } });
t.teardown(() => server.close());
/** Files on the disk. */
const kept = async (): Promise<number> => (await server.tempFiles()).length;
const post = async (path: string, body: string | Uint8Array, type = "application/json") => {
  const answer = await fetch(server.url + path, {
    method: "POST",
    body: body as never,
    headers: { "content-type": type },
  });
  const text = await answer.text();
  return { status: answer.status, text, json: answer.status === 200 ? JSON.parse(text) : undefined };
};
const part = (head: string, content: string) =>
  `--b0\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`;
const field = (name: string, content: string) => part(`name="${name}"`, content);
const file = (content: string, name = "file") => part(`name="${name}"; filename="a"`, content);
/** Sends a form, once the files of those before it are gone. */
async function form(...parts: string[]) {
  await eventually(async () => (await kept()) === 0);
  return post("/form/", `${parts.join("")}--b0--\r\n`, "multipart/form-data; boundary=b0");
}

t.test(
  "a route takes as much as it says, one that says nothing 64 KiB, and none more than the server",
  async (t) => {
    for (const [path, most] of [
      ["/modest/", 65_536],
      ["/taking/", 200_000],
      ["/greedy/", 300_000],
      ["/early/", 1_000],
    ] as const) {
      t.equal((await post(path, "x".repeat(most))).json, most, path);
      const refused = await post(path, "x".repeat(most + 1));
      t.equal(refused.status, 413, path);
      t.match(refused.text, /The body is larger than/, path);
    }
  },
);

t.test("what is announced too large is refused before it comes", async (t) => {
  const wire = new Wire(server.port);
  await wire.send("POST /watched/ HTTP/1.1\r\nHost: x\r\nContent-Length: 200001\r\n\r\n");
  t.equal(statusOf(await wire.until((text) => text.includes("</html>"))), 413);
  t.equal(seen, 0);
  wire.leave();
});

t.test("what comes in chunks is refused as soon as it is too large, however much follows", async (t) => {
  const wire = new Wire(server.port);
  await wire.send("POST /watched/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
  for (let sent = 0; sent <= 200_000; sent += 0x4000) await wire.send(chunk);
  t.equal(statusOf(await wire.until((text) => text.includes("</html>"))), 413);
  for (let i = 0; i < 2_000; i++) await wire.send(chunk);
  await wire.send("0\r\n\r\nPOST /modest/ HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab");
  t.match(await wire.until((text) => text.endsWith("2")), /HTTP\/1\.1 200 OK/, "and the connection goes on");
  t.equal(watched!.receivedBytes, seen, "nothing of the 32 MB that followed was taken in");
  t.ok(seen! <= 200_000 + 524_288, `more than a read of the socket beyond the limit: ${seen}`);
  wire.leave();
});

t.test("a refusal is not lost on a connection that is to be closed after it", async (t) => {
  const body = new Uint8Array(8_000_000);
  for (let round = 0; round < 5; round++) {
    const wire = new Wire(server.port);
    // A client that reads when it has sent all.
    wire.pause();
    await wire.send(
      `POST /taking/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    await wire.send(body);
    wire.resume();
    t.equal(statusOf(await wire.untilClosed()), 413);
    t.match(wire.received, /<\/html>/);
  }
  const waiting = new Wire(server.port);
  await waiting.send(
    "POST /taking/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 200001\r\n\r\n",
  );
  t.equal(statusOf(await waiting.untilClosed()), 413, "and does not wait for ever for the request");
});

t.test("JSON with more members, values or levels than is taken is refused before it is parsed", async (t) => {
  const members = (count: number) =>
    JSON.stringify(Object.fromEntries([..."abcdefgh"].slice(0, count).map((k) => [k, 1])));
  t.equal((await post("/json/", members(5))).status, 200);
  t.match(await post("/json/", members(6)), { status: 400, text: /more than 5 named values/ });
  t.equal(
    (await post("/json/", '[{"a":1},{"b":1},{"c":1},{"d":{"e":{"f":1}}}]')).status,
    400,
    "over all objects",
  );
  t.equal((await post("/json/", "[1,2,3,4,5,6,7,8,9,0]")).status, 200);
  t.match(await post("/json/", "[1,2,3,4,5,6,7,8,9,0,1]"), { status: 400, text: /more than 10 values/ });
  t.equal((await post("/json/", "[[],[],[],[],[],[],[],[],[]]")).status, 400, "empty arrays are values too");
  t.match(await post("/json/", "[".repeat(150_000)), { status: 400, text: /nested deeper|more than 10/ });
  const text = '{"a":"[,,,,,,,,,,,,{:::::::::","\\"b\\\\\\":,,":["\\\\",",,,,,,"]}';
  t.same((await post("/json/", text)).json, JSON.parse(text), "what stands in texts is not counted");
  t.equal((await post("/fields/", members(6))).status, 400, "as fields");
});

t.test("a file is kept where one is wanted and admitted, and goes by anywhere else", async (t) => {
  admit = () => true;
  t.match(await form(field("a", "1"), file("x".repeat(5_000)), field("b", "2")), {
    json: { bytes: 5_000, fields: { a: "1", b: "2" }, fileRefused: false, kept: 1 },
  });
  t.match(await form(file("x".repeat(100_000))), { json: { bytes: 100_000 } }, "as large as one may be");
  t.match(await form(file("x".repeat(100_001))), {
    status: 413,
    text: /The file is larger than 100000 bytes/,
  });
  t.match(
    await form(file("x"), file("yy"), file("zz", "other")),
    { json: { bytes: 1, kept: 1 } },
    "the first",
  );
  t.match(await form(file("zz", "other"), file("x")), { json: { bytes: 1, kept: 1 } }, "of its name");
  admit = () => false;
  t.match(await form(file("x".repeat(500)), field("b", "2"), file("y")), {
    json: { bytes: null, fields: { b: "2" }, fileRefused: true, kept: 0 },
  });
  const multipart = "multipart/form-data; boundary=b0";
  t.match(await post("/fields/", `${file("x".repeat(90_000))}${field("b", "2")}--b0--`, multipart), {
    json: ["b"],
  });
  t.equal(await kept(), 0);
});

t.test("a route that takes several files takes no more, and bounds their size together", async (t) => {
  const type = "multipart/form-data; boundary=b0";
  const send = (...parts: string[]) => post("/files/", `${parts.join("")}--b0--\r\n`, type);
  t.same((await send(file("x"), field("a", "1"), file("yy"), file("z", "other"))).json, [1, 2]);
  t.match(await send(file("x"), file("y"), file("z")), { status: 400, text: /more than 2 files/ });
  t.equal((await send(file("x".repeat(60_000)), file("y".repeat(40_000)))).status, 200);
  t.equal((await send(file("x".repeat(60_000)), file("y".repeat(40_001)))).status, 413);
});

t.test("all but the file that is kept counts as the rest of the body", async (t) => {
  admit = () => true;
  for (const [name, parts] of Object.entries({
    "a field": [file("x"), field("a", "y".repeat(2_000))],
    "fields together": [field("a", "y".repeat(999)), field("b", "y".repeat(999)), file("x")],
    "another file": [file("x"), file("y".repeat(2_000), "other")],
    "a second file": [file("x"), file("y".repeat(2_000))],
    "what stands before": ["z".repeat(2_000), file("x")],
  })) {
    t.match(await form(...parts), { status: 413, text: /larger than 2000 bytes/ }, name);
  }
  const behind = `${file("x")}--b0--\r\n${"z".repeat(2_000)}`;
  t.equal(
    (await post("/form/", behind, "multipart/form-data; boundary=b0")).status,
    413,
    "what stands behind",
  );
  admit = () => false;
  t.match(await form(file("x".repeat(2_000))), { status: 413 }, "a file that is turned away");
  await eventually(async () => (await kept()) === 0);
});

t.test(
  "a file waits while it is not known whether it is kept, and nothing of it is on the disk",
  async (t) => {
    const parts = `${field("token", "T")}${file("x".repeat(90_000))}${field("late", "1")}--b0--\r\n`;
    const length = `Content-Type: multipart/form-data; boundary=b0\r\nContent-Length: ${parts.length}\r\n\r\n`;
    let asked: Readonly<Record<string, unknown>> | undefined;
    let decide: (admitted: boolean) => void = () => undefined;
    admit = (fields) => {
      asked = { ...fields };
      return new Promise((resolve) => {
        decide = resolve;
      });
    };
    const wire = new Wire(server.port);
    await wire.send(`POST /form/ HTTP/1.1\r\nHost: x\r\n${length}${parts}`);
    await eventually(() => asked !== undefined);
    t.same(asked, { token: "T" }, "asked with the fields before it");
    t.equal(await kept(), 0);
    decide(true);
    t.match(await wire.until((text) => text.includes("kept")), /"bytes":90000.*"late":"1".*"kept":1/);
    wire.leave();

    admit = () => {
      throw forbidden();
    };
    t.match(await form(field("a", "1"), file("x".repeat(50_000))), { status: 403 });
    t.equal(await kept(), 0);
  },
);
