import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { blobReply } from "../../src/api/request/blob-reply.js";
import { BlobNotFound } from "../../src/storage/blob-store.js";
import { S3BlobStore } from "../../src/storage/s3-blob-store.js";
import { BriefRequests } from "../../src/storage/s3-brief.js";
import { S3Link } from "../support/s3-link.js";
import { type S3Server, s3rver, startS3, swift, useS3 } from "../support/s3-servers.js";
import { waitFor } from "../support/server.js";

/** An S3 store that is slow, fails, is cut off or silent: nothing is lost, nothing is left, and nobody gets a part for the whole. */

/** One that lists parts of what was not completed, and one that is fast. */
const [thorough, fast] = [await startS3(t, swift), await startS3(t, s3rver)];
const links = new Map<S3Server, S3Link>();
for (const server of [thorough, fast]) links.set(server, await S3Link.to(server.url));
t.teardown(() => Promise.all([...links.values()].map((link) => link.close())));

const partBytes = 60_000;
const whole = Buffer.alloc(150_001, "0123456789abcdefg");

async function* inChunks(bytes: Uint8Array, length = 20_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function all(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return Buffer.concat(read);
}

interface Opened {
  readonly attempts?: number;
  readonly silenceMs?: number;
  readonly briefMs?: number;
  readonly idleMs?: number;
  /** Of copies. */
  readonly bytes?: number;
  readonly server?: S3Server;
  /** Not by the link. */
  readonly direct?: boolean;
  readonly bucket?: string;
  readonly partBytes?: number;
}

async function openStore(t: Test, { server = fast, direct = false, ...more }: Opened = {}) {
  const { bytes = 1_000_000, bucket = await server.bucket(), ...client } = more;
  const link = links.get(server)!;
  const url = direct ? server.url : link.url;
  useS3({ ...server, url });
  const folder = await mkdtemp(join(tmpdir(), "mapwright-copies-"));
  const store = new S3BlobStore({
    address: { bucket, prefix: "p/" },
    aws: { endpoint: url, region: "us-east-1" },
    copies: { folder, bytes },
    partBytes,
    copyPartBytes: partBytes,
    ...client,
  });
  link.set();
  t.teardown(async () => {
    link.set();
    store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { store, bucket, folder, link, server };
}

async function keysOf(store: S3BlobStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const some of store.olderThan(0)) keys.push(...some);
  return keys;
}

/** Positions all over a number of bytes. */
const positions = (bytes: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => Math.floor((index * (bytes - 1)) / (count - 1)));

/** How many bytes a put sends and is sent. */
async function lengthsOfPut({ store, link }: { store: S3BlobStore; link: S3Link }, bytes: Uint8Array) {
  link.set();
  const key = await store.put(inChunks(bytes));
  const lengths = { sent: link.bytesSent, received: link.bytesReceived };
  await store.delete(key);
  return lengths;
}

t.test("an upload whose connection is cut once, at whatever byte, is there as a whole", async (t) => {
  const { store, bucket, link } = await openStore(t, { server: thorough });
  for (const bytes of [whole, whole.subarray(0, 1_000)]) {
    const lengths = await lengthsOfPut({ store, link }, bytes);
    for (const way of ["sent", "received"] as const)
      for (const at of positions(lengths[way], 5)) {
        link.set({ [way]: at });
        const key = await store.put(inChunks(bytes));
        t.equal(link.met, 1, `${way} ${at}: it was cut`);
        link.set();
        t.ok((await all(store.read(key))).equals(bytes), `${way} ${at}`);
        await store.delete(key);
      }
  }
  t.same(await keysOf(store), []);
  await store.removeParts(0);
  t.same((await thorough.contents(bucket)).parts, []);
});

t.test(
  "an upload whose store is gone from some byte on is told, and leaves nothing that stays",
  async (t) => {
    const { store, bucket, link } = await openStore(t, { server: thorough, attempts: 1 });
    const { store: direct } = await openStore(t, { server: thorough, direct: true, bucket });
    for (const bytes of [whole, whole.subarray(0, 1_000)]) {
      const lengths = await lengthsOfPut({ store, link }, bytes);
      for (const way of ["sent", "received"] as const)
        for (const at of positions(lengths[way], 5)) {
          link.set({ [way]: at, forGood: true });
          const put = store.put(inChunks(bytes));
          const lost = await put.then(
            () => undefined,
            (error: unknown) => error as Error,
          );
          t.match(lost, { name: "S3Failure" }, `${way} ${at}`);
          link.set();
          // Where only the last answer was lost, all of it is there, and is tidied up as what no row names.
          for (const key of await keysOf(direct)) {
            t.ok((await all(direct.read(key))).equals(bytes), `${way} ${at}: as a whole`);
            await direct.delete(key);
          }
        }
    }
    await direct.removeParts(0);
    t.same(await thorough.contents(bucket), { objects: [], parts: [] });
  },
);

t.test("what a killed process has sent is no blob, and goes when it is old", async (t) => {
  const { store, bucket, link } = await openStore(t, { server: thorough });
  const kept = await store.put(inChunks(whole));
  const module = new URL("../../src/storage/s3-blob-store.js", import.meta.url).href;
  const options = {
    address: { bucket, prefix: "p/" },
    aws: { endpoint: link.url, region: "us-east-1" },
    copies: { folder: "/nowhere", bytes: 0 },
    partBytes,
  };
  const script = `
    import { S3BlobStore } from ${JSON.stringify(module)};
    await new S3BlobStore(${JSON.stringify(options)}).put((async function* () {
      for (let part = 0; part < 3; part++) yield Buffer.alloc(${partBytes});
      process.stdout.write("begun");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    })());`;
  const writer = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(writer.stdout, "data");
  writer.kill("SIGKILL");
  await once(writer, "exit");
  t.equal((await thorough.contents(bucket)).parts.length, 1, "what was sent of it");
  t.same(await keysOf(store), [kept]);
  await store.removeParts(3_600_000);
  t.equal((await thorough.contents(bucket)).parts.length, 1, "while it is young it may be written still");
  await store.removeParts(0);
  t.same(await thorough.contents(bucket), { objects: [`p/${kept.slice(0, 2)}/${kept}`], parts: [] });
});

t.test("a read that is cut goes on where it was, and one that cannot ends with an error", async (t) => {
  const { store, link } = await openStore(t);
  const key = await store.put(inChunks(whole));
  link.set();
  await all(store.read(key));
  const received = link.bytesReceived;
  for (const at of positions(received, 6)) {
    link.set({ received: at });
    t.ok((await all(store.read(key))).equals(whole), `cut at ${at} of ${received}`);
    t.equal(link.met, 1);
  }
  link.set({ received: 100_000 });
  const range = { first: 10, last: 140_000 };
  t.ok((await all(store.read(key, { range }))).equals(whole.subarray(10, 140_001)));
  for (const at of positions(received, 3)) {
    link.set({ received: at, forGood: true });
    await t.rejects(all(store.read(key)), { name: "S3Failure" }, `gone at ${at}`);
  }
  link.set({ received: 60_000, forGood: true });
  await t.rejects(
    store.withLocalCopy(key, async () => t.fail("a part of it")),
    { name: "S3Failure" },
  );
  link.set();
  t.ok((await store.withLocalCopy(key, (path) => readFile(path))).equals(whole));
});

t.test("what has another length than the file is not taken for it", async (t) => {
  const { store, link } = await openStore(t);
  const key = await store.put(inChunks(whole));
  const [blob, bytes] = [key, whole.length];
  const request = { method: "GET", header: () => undefined, remoteAddress: "127.0.0.1" } as never;
  const answered = async () => {
    const reply = await blobReply(request, store, { blob, bytes, headers: {} });
    return reply.kind === "stream"
      ? all(reply.chunks as AsyncIterable<Uint8Array>)
      : Buffer.from((reply as { body: Uint8Array }).body);
  };
  const xml = "<Error><Code>InternalError</Code></Error>";
  const head = "HTTP/1.1 200 OK\r\nconnection: close\r\n";
  for (const [name, answer] of [
    ["a page of a proxy", `${head}content-length: ${xml.length}\r\n\r\n${xml}`],
    ["one without a length", `${head}\r\n${xml}`],
    ["half of it", `${head}content-length: 75000\r\n\r\n${"0".repeat(75_000)}`],
    ["more than all", `${head}content-length: ${bytes + 1}\r\n\r\n${"0".repeat(bytes + 1)}`],
  ] as const) {
    link.set({ answer });
    await t.rejects(answered(), name);
    await t.rejects(
      store.withLocalCopy(key, async () => t.fail("other bytes")),
      name,
    );
    t.ok(link.met > 1);
  }
  link.set();
  t.ok((await answered()).equals(whole));
  t.ok((await store.withLocalCopy(key, (path) => readFile(path))).equals(whole), "nothing of it was kept");
});

t.test("a server that is busy is asked again, and one that stays so is told", async (t) => {
  const { store, link } = await openStore(t);
  const key = await store.put(inChunks(whole));
  for (const status of [500, 503]) {
    // The connection that is kept for the next request is closed, too, which is one attempt.
    link.set({ status, times: 1 });
    t.ok((await all(store.read(key))).equals(whole));
    t.equal(link.met, 1);
    link.set({ status, times: 1 });
    const other = await store.put(inChunks(whole));
    t.ok((await all(store.read(other))).equals(whole));
    link.set({ status, times: 1_000 });
    await t.rejects(all(store.read(key)), { name: "S3Failure", status });
    await t.rejects(store.size(key), { name: "S3Failure", status });
    await t.rejects(store.put(inChunks(whole)), { name: "S3Failure", status });
    await t.rejects(store.mark(), { name: "S3Failure", status });
    await t.rejects(store.setAside(key), { name: "S3Failure", status });
  }
  link.set();
  t.equal(await store.size(key), whole.length);
});

t.test("a slow server is waited for, and a silent one is not", async (t) => {
  const { store, link, bucket } = await openStore(t);
  link.set({ delayMs: 100 });
  const key = await store.put(inChunks(whole));
  t.ok((await all(store.read(key))).equals(whole));
  const { store: impatient } = await openStore(t, { silenceMs: 700, attempts: 1, bucket });
  link.set({ silent: true });
  await t.rejects(all(impatient.read(key)), { name: "S3Failure", reason: "TimeoutError" });
  await t.rejects(impatient.put(inChunks(whole)), { name: "S3Failure" });
  const leaving = new AbortController();
  const read = all(store.read(key, { signal: leaving.signal }));
  leaving.abort();
  await t.rejects(read, { name: "AbortError" });
});

t.test(
  "viewers do not wait for a silent server as long as uploads do, nor once for each image",
  async (t) => {
    const { store, link } = await openStore(t, { silenceMs: 3_600_000, briefMs: 700 });
    const key = await store.put(inChunks(whole));
    link.set({ silent: true });
    const silent = { name: "S3Failure", reason: "TimeoutError" };
    const drawn = () => store.withLocalCopy(key, async (path) => whole.equals(await readFile(path)));
    await t.rejects(drawn(), silent);
    await t.rejects(store.mark(), silent);
    await t.rejects(all(store.read(key)), silent);
    link.set();
    await waitFor(() => drawn().catch(() => false));
    t.pass("it is asked again");

    let now = 0;
    let asked = 0;
    const brief = new BriefRequests(50, { now: () => now });
    const ask = () =>
      brief.call("HeadObject", (signal) => {
        asked++;
        return new Promise((_, reject) => signal.addEventListener("abort", reject));
      });
    await t.rejects(ask(), silent);
    await t.rejects(ask(), silent);
    t.equal(asked, 1, "another image is not waited for");
    now += 50;
    await t.rejects(ask(), silent);
    t.equal(asked, 2);
  },
);

t.test("a download does not wait long for a server that falls silent, before it or within it", async (t) => {
  const { store, link } = await openStore(t, { silenceMs: 3_600_000, briefMs: 700, partBytes: 30_000_000 });
  const bytes = Buffer.alloc(20_000_000, "a long file");
  const key = await store.put(inChunks(bytes, 250_000));
  link.set({ silent: true });
  await t.rejects(all(store.read(key)), { name: "S3Failure", reason: "TimeoutError" });
  link.set();
  const read = async (after: () => void) => {
    let at = 0;
    for await (const piece of store.read(key)) {
      if (at < 1_000_000 && at + piece.length >= 1_000_000) after();
      if (bytes.compare(piece, 0, piece.length, at, at + piece.length) !== 0) t.fail("other bytes");
      at += piece.length;
    }
    return at;
  };
  await waitFor(async () => (await read(() => undefined).catch(() => 0)) === bytes.length);
  await t.rejects(
    read(() => link.set({ silent: true })),
    { name: "S3Failure", reason: "TimeoutError" },
  );
  link.set();
  await waitFor(async () => (await read(() => undefined).catch(() => 0)) === bytes.length);
  t.equal(await read(() => link.silenceOpen()), bytes.length, "a connection that is dead is not the store");
});

t.test("whoever pauses while reading holds no connection, and gets the rest", async (t) => {
  const { store } = await openStore(t, { direct: true, partBytes: 8_000_000 });
  const bytes = Buffer.alloc(3_000_000, "paused");
  const key = await store.put(inChunks(bytes, 100_000));
  const got: Uint8Array[] = [];
  let hasPaused = false;
  const connections = () =>
    process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
  for await (const chunk of store.read(key)) {
    got.push(chunk);
    if (hasPaused) continue;
    hasPaused = true;
    const open = () => connections() > 0;
    for (let round = 0; round < 200 && open(); round++)
      await new Promise((resolve) => setTimeout(resolve, 50));
    t.notOk(open());
  }
  t.ok(Buffer.concat(got).equals(bytes));
});

t.test(
  "however much is downloaded at once, tiles and uploads find a connection, and downloads take turns",
  async (t) => {
    const { store } = await openStore(t, { direct: true, briefMs: 2_000, idleMs: 600_000 });
    const bytes = Buffer.alloc(700_000, "downloaded");
    const [key, drawn] = [await store.put(inChunks(bytes, 100_000)), await store.put(inChunks(whole))];
    const goOn = new EventEmitter().setMaxListeners(0);
    let begun = 0;
    let mayGoOn = false;
    // As many as one client opens, of a store that is slower than they are.
    const downloads = Array.from({ length: 300 }, async () => {
      let length = 0;
      for await (const chunk of store.read(key, { reader: "one" })) {
        length += chunk.length;
        begun++;
        if (!mayGoOn) await once(goOn, "all");
      }
      return length;
    });
    const settled = Promise.allSettled(downloads);
    await waitFor(() => begun >= 100);
    await sleep(500);
    await t.resolves(store.withLocalCopy(drawn, (path) => readFile(path)));
    await t.resolves(store.put(inChunks(whole)));
    const other = store.read(drawn, { reader: "other" });
    mayGoOn = true;
    goOn.emit("all");
    t.ok((await all(other)).equals(whole), "somebody else has a turn");
    for (const result of await settled) t.match(result, { status: "fulfilled", value: bytes.length });
  },
);

t.test("what is fetched for a slow reader is not fetched again and again", async (t) => {
  const { store, link } = await openStore(t, { partBytes: 8_000_000, idleMs: 20 });
  const bytes = Buffer.alloc(40_000_000, "a slow reader");
  const key = await store.put(inChunks(bytes, 250_000));
  link.set();
  let at = 0;
  let isSame = true;
  let number = 0;
  for await (const piece of store.read(key)) {
    isSame &&= bytes.compare(piece, 0, piece.length, at, at + piece.length) === 0;
    at += piece.length;
    // Slow, then quick, then slow again.
    if (++number < 12 || (number > 40 && number < 52)) await sleep(40);
  }
  t.ok(isSame);
  t.equal(at, bytes.length);
  t.ok(link.bytesReceived < 2 * bytes.length, `${link.bytesReceived} bytes`);
});

t.test("however many large blobs are written at once, few of their parts are in memory", async (t) => {
  const { store, link } = await openStore(t);
  const chunk = Buffer.alloc(20_000, "chunk");
  let taken = 0;
  let most = 0;
  const large = async function* () {
    for (let count = 0; count < 30; count++) {
      taken += chunk.length;
      most = Math.max(most, taken - link.bytesSent);
      yield chunk;
    }
  };
  const keys = await Promise.all(Array.from({ length: 12 }, () => store.put(large())));
  // Six parts, and of each blob the piece that begins the next one.
  t.ok(most <= 6 * partBytes + 12 * chunk.length, `${most} bytes`);
  for (const key of keys) t.equal(await store.size(key), 30 * chunk.length);
});

t.test("an error tells neither keys nor signatures", async (t) => {
  const { store, bucket } = await openStore(t, { server: thorough });
  t.equal(await store.mark(), undefined);
  const secret = "quite-secret-words";
  const { store: wrong } = await openStore(t, { server: thorough, bucket });
  process.env.AWS_SECRET_ACCESS_KEY = secret;
  const error = await wrong.mark().catch((reason: unknown) => reason as Error);
  t.match(error, { name: "S3Failure", status: 403 });
  const shown = JSON.stringify(error, Object.getOwnPropertyNames(error));
  for (const hidden of [secret, thorough.key, "AWS4", "Signature="]) t.notOk(shown.includes(hidden), hidden);
});

t.test("copies take as much disk as they may, and none is taken from who reads it", async (t) => {
  const { store, folder, link } = await openStore(t, { bytes: 2.5 * whole.length });
  const keys = await Promise.all([1, 2, 3, 4].map(() => store.put(inChunks(whole))));
  const copies = async () => {
    const names = await readdir(folder, { recursive: true, withFileTypes: true });
    return names.filter((entry) => entry.isFile()).map(({ name }) => name);
  };
  await store.withLocalCopy(keys[0]!, async (first) => {
    for (const key of keys.slice(1)) await store.withLocalCopy(key, (path) => readFile(path));
    t.ok((await readFile(first)).equals(whole));
  });
  t.same((await copies()).sort(), [keys[0]!, keys[3]!].sort(), "the one that was in use, and the last");
  link.set();
  const uses = Array.from({ length: 5 }, () => store.withLocalCopy(keys[3]!, (path) => readFile(path)));
  await Promise.all(uses);
  t.equal(link.bytesReceived, 0, "it is here already");
  await Promise.all(keys.map((key) => store.withLocalCopy(key, (path) => readFile(path))));
  t.equal((await copies()).length, 2);

  const other = await openStore(t);
  const key = await other.store.put(inChunks(whole));
  await other.store.withLocalCopy(key, (path) => rm(path));
  t.ok((await other.store.withLocalCopy(key, (path) => readFile(path))).equals(whole), "fetched anew");
  await other.store.delete(key);
  await t.rejects(
    other.store.withLocalCopy(key, async () => undefined),
    BlobNotFound,
  );
  t.same(await readdir(other.folder).then(([own]) => readdir(join(other.folder, own!))), []);
});
