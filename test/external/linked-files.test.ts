import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import t from "tap";
import { ImageFetcher } from "../../src/external/fetch.js";
import { LinkedFiles } from "../../src/external/linked-files.js";
import { waitFor } from "../support/server.js";

/** Files of other servers, which may be slow, broken or hostile. */

const open = new Set<ServerResponse>();
const csv = "name,lat,lon\nA,1,2\n";
const server = createServer((request, response) => {
  open.add(response);
  response.on("close", () => open.delete(response));
  const [, what = "", ...more] = request.url!.split("/");
  const headers: Record<string, string> = {};
  switch (what) {
    case "to":
      return void response.writeHead(302, { location: decodeURIComponent(more.join("/")) }).end();
    case "round":
      return void response.writeHead(302, { location: "/round" }).end();
    case "large":
      return void response.writeHead(200, { "content-length": "5000" }).end(Buffer.alloc(5_000));
    case "endless":
      response.writeHead(200);
      return void response.write(Buffer.alloc(3_000), () => response.write(Buffer.alloc(3_000)));
    case "short":
      response.writeHead(200, { "content-length": "1000" });
      return void response.write("only this", () => response.destroy());
    case "packed":
      return void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(csv));
    case "gone":
      return void response.writeHead(404).end("no");
    case "slow":
      response.writeHead(200);
      return void response.write("a");
    case "silent":
      return;
    case "switch":
      return void request.socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n",
      );
    case "said":
      headers["content-disposition"] = decodeURIComponent(more.join("/"));
      break;
    case "typed":
      headers["content-type"] = "application/geo+json; charset=utf-8";
  }
  response.writeHead(200, headers).end(csv);
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const { port } = server.address() as AddressInfo;
const at = (path: string) => `http://127.0.0.1:${port}/${path}`;
const owners = ["p1", "a1"] as const;
const never = new AbortController().signal;
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function links(options: Partial<ConstructorParameters<typeof LinkedFiles>[0]> = {}): LinkedFiles {
  const made = new LinkedFiles({
    ...{ hosts: ["*"], privateAddresses: true, bytes: 4_000, deadlineMs: 60_000 },
    ...options,
  });
  t.teardown(() => made.close());
  return made;
}
async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString();
}
const whole = async (files: LinkedFiles, path: string) =>
  textOf((await files.open(at(path), owners, never)).chunks);

t.test("a file comes with its name", async (t) => {
  const files = links();
  t.equal(await whole(files, `to/${encodeURIComponent("/a/trees.csv")}`), csv, "by redirects, too");
  for (const [path, name] of [
    ["a/trees.csv?key=1", "trees.csv"],
    ["a/b%C3%A4ume%2F..%2F.csv", "bäume_.._.csv"],
    ['said/attachment;filename="wells.kml"', "wells.kml"],
    ["said/attachment;filename*=UTF-8''%25E6%25B9%2596.gpx;filename=b.gpx", "湖.gpx"],
    ["typed/export", "export.geojson"],
    ["", "file"],
  ] as const) {
    const { name: found, chunks } = await files.open(at(path), owners, never);
    t.equal(found, name, path);
    await textOf(chunks);
  }
});

t.test("what is not to be had says why, and holds nothing", async (t) => {
  const files = links();
  for (const [path, message] of [
    ["gone", /answers 404/],
    ["packed", /compressed/],
    ["large", /more than 4000 bytes/],
    ["endless", /more than 4000 bytes/],
    ["short", /fetched: /],
    ["switch", /no answer/],
    ["round", /redirects too often/],
    [`to/${encodeURIComponent("file:///etc/passwd")}`, /http and https/],
  ] as const)
    for (let times = 0; times < 10; times++)
      await t.rejects(whole(files, path), { code: "import_failed", message });
  await waitFor(async () => open.size === 0);
  t.equal(await whole(files, "a.csv"), csv, "all places are free");
  for (const address of [
    "http://u:p@example.org/a.csv",
    "ftp://example.org/a.csv",
    "nothing",
    "javascript:1",
  ])
    await t.rejects(files.open(address, owners, never), { code: "import_failed" });
});

t.test("only servers that are allowed are asked, and none of a private network", async (t) => {
  for (const path of ["a.csv", `to/${encodeURIComponent(at("a.csv"))}`]) {
    await t.rejects(whole(links({ privateAddresses: false }), path), { message: /no public address/ });
    await t.rejects(whole(links({ hosts: [] }), path), { message: /links\.hosts/ });
    await t.rejects(whole(links({ hosts: ["example.org"] }), path), { message: /links\.hosts/ });
  }
  const other = links({ hosts: [`127.0.0.1:${port}`] });
  await t.rejects(whole(other, `to/${encodeURIComponent("http://localhost:1/")}`), {
    message: /links\.hosts/,
  });
  t.equal(await whole(other, "a.csv"), csv);
});

t.test("who leaves, and who never reads, leaves the place to others", async (t) => {
  const files = links({ deadlineMs: 2_000 });
  const leave = new AbortController();
  // No user has more than two.
  await files.open(at("slow"), owners, leave.signal);
  await files.open(at("slow"), owners, leave.signal);
  const next = files.open(at("a.csv"), owners, never);
  t.equal(
    await textOf((await files.open(at("a.csv"), ["p2", "a2"], never)).chunks),
    csv,
    "others wait for nothing",
  );
  leave.abort(new Error("left"));
  t.equal(await textOf((await next).chunks), csv);
  await t.rejects(whole(files, "silent"), { message: /takes too long/ });
  await t.rejects(whole(files, "slow"), { message: /takes too long/ });
  await waitFor(async () => open.size === 0);
});

t.test("what takes too long ends, whatever the garbage collector has taken", async (t) => {
  const options = { hosts: [`127.0.0.1:${port}`], privateAddresses: true, deadlineMs: 1_000 };
  const files = links(options);
  const images = new ImageFetcher({ ...options, maxBytes: 1_000, connections: 2 });
  t.teardown(() => images.close());
  const collecting = setInterval(collectGarbage, 100);
  t.teardown(() => clearInterval(collecting));
  for (const path of ["silent", "slow"]) {
    await t.rejects(whole(files, path), { message: /takes too long/ }, `a file: ${path}`);
    await t.rejects(images.fetch(at(path), true, never), { name: "SourceError" }, `an image: ${path}`);
  }
});
