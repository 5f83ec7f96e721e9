import { existsSync, mkdirSync, rmSync } from "node:fs";
import t from "tap";
import { TempSpace } from "../../src/http/temp-space.js";
import { type Body, json, type Reply, type Route } from "../../src/http/types.js";
import { TempFiles } from "../../src/http/uploads.js";
import { smallDisk } from "../support/small-disk.js";
import { eventually, startServer, statusOf, Wire } from "./harness.js";

/** One client fills what the process can receive; another one is served, and only the first is refused. */

const free = 64 * 1024;
let waiting = 0;
let go: () => void = () => undefined;
/** Until `go` is called. */
let held: Promise<void> = Promise.resolve();
const hold = () => {
  held = new Promise((resolve) => {
    go = resolve;
  });
};

const limits = { bytes: undefined, members: 10, values: 10 };
const route = (path: string, read: (body: Body) => Promise<number>, takes: Route<undefined>["takes"]) => ({
  methods: ["POST"] as const,
  path,
  takes: takes as NonNullable<typeof takes>,
  handler: async ({ body }: { body: Body }): Promise<Reply> => {
    const bytes = await read(body);
    waiting++;
    await held;
    waiting--;
    return json(bytes);
  },
});
const routes: readonly Route<undefined>[] = [
  route("/large/", async (body) => (await body.bytes()).length, limits),
  route("/small/", async (body) => (await body.bytes()).length, { ...limits, bytes: free }),
  route("/file/", async (body) => (await body.toFile()).bytes, limits),
  route("/form/", async (body) => (await body.upload("file", () => true)).files[0]?.bytes ?? 0, limits),
];

const server = await startServer(routes, {
  config: {
    maxBodyBytes: 1_000_000,
    maxUploadBytes: 2_000_000,
    "receiving.memoryBytes": 1_000_000,
    "receiving.fileBytes": 1_000_000,
  },
});
t.teardown(() => server.close());
const post = (path: string, body: string, type = "application/octet-stream") =>
  fetch(server.url + path, { method: "POST", body, headers: { "content-type": type } });
const status = async (answer: Promise<Response>) => {
  const { status, headers } = await answer;
  if (status === 503) t.ok(Number(headers.get("retry-after")) > 0);
  return status;
};
const memory = () => server.server.received().memory;
const files = () => server.server.received().files;

t.test("slow bodies give way to one that comes at an honest speed", async (t) => {
  const before = memory().refused;
  const slow = Array.from({ length: 3 }, () => new Wire(server.port));
  for (const wire of slow) {
    await wire.send("POST /large/ HTTP/1.1\r\nHost: x\r\nContent-Length: 390001\r\n\r\n");
    await wire.send("x".repeat(390_000));
  }
  await eventually(() => memory().bytes === 3 * (390_000 - free));
  // So long they have come for that they are slow.
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  t.equal(memory().refused - before, 0);
  t.equal(await status(post("/small/", "x".repeat(free))), 200, "what is small is not counted");
  t.equal(memory().refused - before, 0);
  t.equal(await status(post("/large/", "x".repeat(400_000))), 200);
  t.equal(memory().refused - before, 1, "one of them was enough");
  await eventually(() => slow.some((wire) => statusOf(wire.received) === 503));
  t.ok(memory().bytes <= 2 * (390_000 - free));
  for (const wire of slow) wire.leave();
  await eventually(() => memory().bytes === 0);
});

t.test(
  "bodies that are worked on hold their place, and what does not fit beside them is refused",
  async (t) => {
    hold();
    const first = [post("/large/", "x".repeat(400_000)), post("/large/", "x".repeat(400_000))];
    await eventually(() => waiting === 2);
    t.equal(memory().bytes, 2 * (400_000 - free));
    t.equal(await status(post("/large/", "x".repeat(900_000))), 503);
    t.equal(memory().bytes, 2 * (400_000 - free), "nothing of it is held");
    go();
    t.same(await Promise.all(first.map(status)), [200, 200]);
    t.equal(await status(post("/large/", "x".repeat(900_000))), 200);
    await eventually(() => memory().bytes === 0);
  },
);

t.test("uploaded files of all requests have a most, whatever they come in", async (t) => {
  const boundary = "multipart/form-data; boundary=b";
  const form = (bytes: number) =>
    `--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${"x".repeat(bytes)}\r\n--b--\r\n`;
  hold();
  const first = [post("/file/", "x".repeat(400_000)), post("/form/", form(400_000), boundary)];
  await eventually(() => waiting === 2);
  t.equal(files().bytes, 800_000);
  t.equal(memory().bytes, 0, "they are not in memory");
  t.equal(await status(post("/file/", "x".repeat(300_000))), 503);
  t.equal(await status(post("/form/", form(300_000), boundary)), 503);
  t.equal(files().refused, 2);
  await eventually(async () => (await server.tempFiles()).length === 2);
  t.equal(files().bytes, 800_000, "what had come of the others is gone");
  go();
  t.same(await Promise.all(first.map(status)), [200, 200]);
  await eventually(() => files().bytes === 0);
  t.equal(await status(post("/file/", "x".repeat(900_000))), 200, "and there is room again");
});

t.test("a file that cannot be removed does not keep the others", async (t) => {
  const folder = t.testdir();
  const space = new TempSpace(folder, { bytes: 1_000, freeBytes: 0 });
  const files = new TempFiles(folder, space, false);
  const store = async function* () {
    yield Buffer.from("x");
  };
  const [first, second] = [await files.store(store(), "a"), await files.store(store(), "b")];
  rmSync(first.path);
  // A folder is not removed as a file.
  mkdirSync(first.path);
  await t.rejects(files.remove(), { code: "ERR_FS_EISDIR" });
  t.notOk(existsSync(second.path));
  t.same(space.counts(), { bytes: 0, refused: 0 });
});

t.test("what has to stay free of the disk is not taken by uploads", async (t) => {
  const disk = smallDisk(24);
  if (typeof disk === "string") return void t.pass("", { skip: disk });
  t.teardown(() => disk.remove());
  const small = await startServer(routes, { dataDir: disk.path });
  t.teardown(() => small.close());
  const upload = (bytes: number) =>
    fetch(`${small.url}/file/`, { method: "POST", body: "x".repeat(bytes) }).then(({ status }) => status);
  t.equal(await upload(100_000), 200);
  // A tenth of it has to stay free.
  disk.leave(1_000_000);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  t.equal(await upload(100_000), 503);
  t.match(small.server.received().files, { bytes: 0, refused: 1 });
  disk.clear();
  t.equal(await upload(100_000), 200, "and is looked at again");
});
