import { readFile } from "node:fs/promises";
import t from "tap";
import { json, type Route } from "../../src/http/types.js";
import { eventually, speak, startServer, statusOf, Wire } from "./harness.js";

/** As much as the server takes. */
const takes = { bytes: undefined, members: 1_000, values: 100_000 };

const routes: readonly Route<undefined>[] = [
  {
    methods: ["POST"],
    path: "/json/",
    handler: async ({ body }) => json([await body.json(), await body.json()]),
  },
  { methods: ["POST"], path: "/fields/", handler: async ({ body }) => json({ ...(await body.fields()) }) },
  { methods: ["POST"], path: "/bytes/", handler: async ({ body }) => json((await body.bytes()).length) },
  {
    methods: ["POST"],
    path: "/file/",
    handler: async ({ body }) => {
      const file = await body.toFile();
      const text = await readFile(file.path);
      return json({ name: file.clientName, bytes: file.bytes, last: text.at(-1), path: file.path });
    },
  },
  {
    methods: ["POST"],
    path: "/upload/",
    handler: async ({ body }) => {
      const { files, fields } = await body.upload("file", () => true);
      const [file] = files;
      const text = file && (await readFile(file.path, "latin1"));
      return json({
        fields: { ...fields },
        name: file?.clientName,
        bytes: file?.bytes,
        text: text?.slice(0, 20),
      });
    },
  },
  { methods: ["POST"], path: "/unread/", handler: () => json("unread") },
  {
    methods: ["POST"],
    path: "/polluted/",
    handler: async ({ body }) => {
      const value = (await body.json()) as Record<string, unknown>;
      return json([
        ({} as { admin?: unknown }).admin ?? null,
        Object.keys(value),
        Object.hasOwn(value, "__proto__"),
      ]);
    },
  },
];

const part = (head: string, content: string) => `--b0\r\n${head}\r\n\r\n${content}\r\n`;
const field = (name: string, content: string) =>
  part(`Content-Disposition: form-data; name="${name}"`, content);

t.test("bodies", async (t) => {
  const server = await startServer(
    routes.map((route) => ({ takes, ...route })),
    { config: { maxBodyBytes: 100_000, maxUploadBytes: 5_000_000 } },
  );
  t.teardown(server.close);
  const post = (path: string, body: RequestInit["body"], headers: Record<string, string> = {}) =>
    fetch(server.url + path, { method: "POST", body: body ?? null, headers });
  const multipart = (text: string) =>
    post("/upload/", text, { "content-type": "multipart/form-data; boundary=b0" });

  await t.test("JSON can be read twice", async (t) => {
    t.same(await (await post("/json/", '{"a":[1,"ж"]}')).json(), [{ a: [1, "ж"] }, { a: [1, "ж"] }]);
  });

  await t.test("JSON that is none, too deep, not finite or no Unicode is refused", async (t) => {
    const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    t.equal((await post("/json/", deep(100))).status, 200);
    for (const text of [
      "",
      "{",
      "nul",
      deep(101),
      '{"a":'.repeat(300),
      '"\\u0000"',
      '{"\\ud800":1}',
      '"\\udc00\\ud800"',
      "[1e999]",
      "-1e999",
    ]) {
      t.equal((await post("/json/", text)).status, 400, text.slice(0, 20));
    }
    t.equal((await post("/json/", deep(40_000))).status, 400, "very deep");
    t.equal((await post("/json/", new Uint8Array([0x22, 0xff, 0x22]))).status, 400, "not UTF-8");
    t.same(await (await post("/json/", '"\\ud83d\\ude00 \\u0416"')).json(), ["😀 Ж", "😀 Ж"]);
  });

  await t.test("__proto__ is a key like any other, and of duplicate keys the last counts", async (t) => {
    t.same(await (await post("/polluted/", '{"__proto__":{"admin":1},"a":1,"a":2}')).json(), [
      null,
      ["__proto__", "a"],
      true,
    ]);
    t.same(await (await post("/json/", '{"a":1,"a":2}')).json(), [{ a: 2 }, { a: 2 }]);
    const fields = await (
      await post("/fields/", '{"__proto__":{"admin":1}}', { "content-type": "application/json" })
    ).text();
    t.equal(fields, '{"__proto__":{"admin":1}}');
  });

  await t.test("fields come from a form, a JSON object or a multipart body", async (t) => {
    t.same(await (await post("/fields/", new URLSearchParams({ user: "a b", pass: "ж&=+" }))).json(), {
      user: "a b",
      pass: "ж&=+",
    });
    t.same(
      await (
        await post("/fields/", '{"user":1,"x":null}', { "content-type": "application/json;charset=utf-8" })
      ).json(),
      {
        user: 1,
        x: null,
      },
    );
    const form = new FormData();
    form.set("user", "ж");
    form.set("pass", "two\r\nlines");
    t.same(await (await post("/fields/", form)).json(), { user: "ж", pass: "two\r\nlines" });
    t.same(await (await post("/fields/", '{"user":2}')).json(), { user: 2 }, "without a type, JSON");
    t.same(await (await post("/fields/", "user=3")).json(), { user: "3" }, "without a type, a form");
    t.same(await (await post("/fields/", "[1]", { "content-type": "application/json" })).json(), {});
    t.same(await (await post("/fields/", "PK\0\0", { "content-type": "application/zip" })).json(), {});
    t.same(await (await post("/fields/", null)).json(), {});
    t.same(await (await post("/fields/", null, { "content-type": "application/json" })).json(), {});
  });

  await t.test("damaged forms are refused", async (t) => {
    const type = { "content-type": "application/x-www-form-urlencoded" };
    for (const text of ["a=%ff", "a=%00", "a=%", "&a=1".repeat(1001)]) {
      t.equal((await post("/fields/", text, type)).status, 400, text.slice(0, 10));
    }
  });

  await t.test("a multipart body brings its file and its fields, in any pieces", async (t) => {
    const text = `preamble\r\n${field("token", "T")}${part('Content-Disposition: form-data; name="file"; filename="../x.csv"\r\nContent-Type: text/csv', "a;b\r\n--b\r\n1;2")}${field("empty", "")}--b0--\r\nepilogue`;
    const expected = {
      fields: { token: "T", empty: "" },
      name: "../x.csv",
      bytes: 13,
      text: "a;b\r\n--b\r\n1;2",
    };
    t.same(await (await multipart(text)).json(), expected);
    const wire = new Wire(server.port);
    await wire.send(
      "POST /upload/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary=b0\r\n" +
        `Content-Length: ${text.length}\r\n\r\n`,
    );
    for (const byte of text) await wire.send(byte);
    const answer = await wire.untilClosed();
    t.same(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4)), expected);
  });

  await t.test("file names come in both forms", async (t) => {
    const name = async (parameters: string) => {
      const head = `Content-Disposition: form-data; name="file"; ${parameters}`;
      return ((await (await multipart(`${part(head, "x")}--b0--`)).json()) as { name: string }).name;
    };
    t.equal(await name('filename="a \\"b\\".kml"'), 'a "b".kml');
    t.equal(await name(`filename="a.kml"; filename*=UTF-8''%d0%b6.kml`), "ж.kml");
    t.equal(await name("filename=plain.kml"), "plain.kml");
  });

  await t.test("damaged multipart bodies are refused", async (t) => {
    const end = "--b0--\r\n";
    const wrong: Record<string, string> = {
      "no end": field("a", "1"),
      "no part": "",
      "empty name": `${field("", "1")}${end}`,
      "no name": `${part("Content-Disposition: form-data", "1")}${end}`,
      "no head": `--b0\r\n\r\nx\r\n${end}`,
      "endless head": `--b0\r\n${"x".repeat(20_000)}`,
      "damaged boundary": `--b0x\r\n\r\n${end}`,
      "NUL in a field": `${field("a", "\0")}${end}`,
      "too many parts": `${field("a", "").repeat(1001)}${end}`,
    };
    for (const [name, text] of Object.entries(wrong)) t.equal((await multipart(text)).status, 400, name);
    for (const type of [
      "multipart/form-data",
      "multipart/form-data; boundary=",
      `multipart/form-data; boundary=${"b".repeat(71)}`,
    ]) {
      t.equal((await post("/upload/", "x", { "content-type": type })).status, 400, type.slice(0, 40));
    }
  });

  await t.test("a file goes to a temporary file that is gone after the answer", async (t) => {
    const bytes = new Uint8Array(3_000_000).fill(7);
    const answer = (await (await post("/file/", bytes, { "x-filename": "%D0%B6/../a.tif" })).json()) as {
      name: string;
      bytes: number;
      last: number;
      path: string;
    };
    t.equal(answer.bytes, 3_000_000);
    t.equal(answer.last, 7);
    t.equal(answer.name, "ж/../a.tif");
    t.match(answer.path, /\/tmp\/upload-[0-9a-f]{24}$/);
    await eventually(async () => (await server.tempFiles()).length === 0);
  });

  await t.test("more than the limit is refused, by its length and while it comes", async (t) => {
    t.equal((await post("/bytes/", "x".repeat(100_000))).status, 200);
    t.equal((await post("/bytes/", "x".repeat(100_001))).status, 413);
    t.equal((await post("/file/", new Uint8Array(5_000_001))).status, 413);
    const head = "POST /bytes/ HTTP/1.1\r\nHost: x\r\n";
    const early = new Wire(server.port);
    await early.send(`${head}Content-Length: 900000000000\r\n\r\n`);
    t.equal(statusOf(await early.until((text) => text.includes("</html>"))), 413, "before it comes");
    early.leave();
    const endless = new Wire(server.port);
    await endless.send(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
    while (!endless.closed && !endless.received.includes("</html>")) await endless.send(chunk);
    t.equal(statusOf(endless.received), 413, "chunked, without end");
    t.match(endless.received, /\r\nconnection: close\r\n/i);
    endless.leave();
    const parts = part('Content-Disposition: form-data; name="file"; filename="a"', "y".repeat(5_000_000));
    t.equal((await multipart(`${parts}--b0--`)).status, 413, "a file");
    t.equal((await multipart(`${field("a", "y".repeat(100_001))}--b0--`)).status, 413, "a field");
    await eventually(async () => (await server.tempFiles()).length === 0);
  });

  await t.test("a compressed body is refused", async (t) => {
    t.equal((await post("/json/", "x", { "content-encoding": "gzip" })).status, 415);
    t.equal((await post("/json/", "1", { "content-encoding": "identity" })).status, 200);
  });

  await t.test("a connection goes on after a body that nobody read", async (t) => {
    const body = "x".repeat(400_000);
    const request = `POST /unread/ HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const wire = new Wire(server.port);
    for (let i = 1; i <= 3; i++) {
      await wire.send(request);
      await wire.until((text) => text.split('"unread"').length > i);
      t.equal(wire.received.split("HTTP/1.1 200 OK").length, i + 1);
    }
    wire.leave();
  });

  await t.test("a client that leaves in the middle of an upload leaves nothing behind", async (t) => {
    const wire = new Wire(server.port);
    await wire.send(
      `POST /file/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n${"x".repeat(200_000)}`,
    );
    await eventually(async () => (await server.tempFiles()).length === 1);
    wire.leave();
    await eventually(
      async () => (await server.tempFiles()).length === 0 && server.server.openRequests() === 0,
    );
    t.ok(server.answered.some(({ status }) => status === 499));
  });

  await t.test("a chunked body is read as one", async (t) => {
    const answer = await speak(
      server.port,
      "POST /json/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n3\r\n,2]\r\n0\r\n\r\n",
    );
    t.match(answer, "[[1,2],[1,2]]");
  });
});
