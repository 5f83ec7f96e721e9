import t from "tap";
import { makeMap } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { makeFileLayer, makeObject, send } from "./files.support.js";

/** Downloads of parts of files. */

const server = await startServer();
t.teardown(() => server.stop());
await makeMap(server, "m");
await makeFileLayer(server, "a");
const object = await makeObject(server, "a");

const bytes = new Uint8Array(700_000).map((_, i) => (i * 7) ^ (i >> 8));
const { json: large } = await send(server, `a/objects/${object}`, { bytes, name: "план.bin" });
const { json: small } = await send(server, `a/objects/${object}`, { bytes: "0123456789" });
const { json: empty } = await send(server, `a/objects/${object}`, { bytes: "" });

const get = async (path: string, headers: Record<string, string> = {}, method = "GET") => {
  const answer = await fetch(`${server.url}${path}`, { headers, method });
  return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
};

t.test("a range of a file is sent alone, streamed or not", async (t) => {
  const cases: [string, number, number][] = [
    ["bytes=0-0", 0, 0],
    ["bytes=5-", 5, 699_999],
    ["bytes=100-400000", 100, 400_000],
    ["bytes=-10", 699_990, 699_999],
    ["bytes=-9999999", 0, 699_999],
    ["bytes=699999-9999999", 699_999, 699_999],
  ];
  for (const [range, first, last] of cases) {
    const answer = await get(large.path, { range });
    t.equal(answer.status, 206, range);
    t.equal(answer.headers.get("content-range"), `bytes ${first}-${last}/700000`);
    t.ok(answer.body.equals(bytes.subarray(first, last + 1)), range);
    t.match(answer.headers.get("content-disposition"), /^attachment; filename="_/);
    t.equal(answer.headers.get("x-content-type-options"), "nosniff");
  }
  t.equal((await get(small.path, { range: "bytes=2-4" })).body.toString(), "234");
});

t.test("a whole file says that it has ranges, and its head how long it is", async (t) => {
  const whole = await get(large.path);
  t.equal(whole.headers.get("accept-ranges"), "bytes");
  t.ok(whole.body.equals(bytes));
  const head = await get(large.path, {}, "HEAD");
  t.equal(head.headers.get("content-length"), "700000");
  t.equal((await get(large.path, { range: "bytes=0-1" }, "HEAD")).status, 200, "ranges are for GET");
});

t.test("what is no range of a file gets the whole", async (t) => {
  for (const range of [
    "bytes=4-2",
    "bytes=",
    "bytes=-",
    "lines=0-1",
    "bytes=0-1,3-4",
    "bytes=a-b",
    "bytes=1e3-",
  ]) {
    const answer = await get(small.path, { range });
    t.equal(answer.status, 200, range);
    t.equal(answer.body.toString(), "0123456789", range);
  }
});

t.test("a range beyond the end cannot be sent", async (t) => {
  const cases: [string, string, number][] = [
    [small.path, "bytes=10-", 10],
    [small.path, "bytes=999999999999999-", 10],
    [small.path, "bytes=-0", 10],
    [empty.path, "bytes=0-", 0],
    [empty.path, "bytes=-5", 0],
  ];
  for (const [path, range, length] of cases) {
    const answer = await get(path, { range });
    t.equal(answer.status, 416, range);
    t.equal(answer.headers.get("content-range"), `bytes */${length}`);
    t.equal(answer.body.length, 0);
  }
});

t.test("a download goes on only from the same file", async (t) => {
  const etag = (await get(small.path)).headers.get("etag")!;
  const other = (await get(large.path)).headers.get("etag")!;
  const range = "bytes=2-4";
  t.equal((await get(small.path, { range, "if-range": etag })).status, 206);
  for (const ifRange of [other, `W/${etag}`, "Wed, 21 Oct 2026 07:28:00 GMT"])
    t.equal((await get(small.path, { range, "if-range": ifRange })).status, 200, ifRange);
  t.equal((await get(small.path, { range, "if-none-match": etag })).status, 304);
});

t.test("ranges follow the rights of the layer", async (t) => {
  await server.sql.query("update map set has_publication = false where code = 'm'");
  await server.nodes[0]!.services.changes.propagate();
  t.equal((await get(small.path, { range: "bytes=2-4" })).status, 403);
});
