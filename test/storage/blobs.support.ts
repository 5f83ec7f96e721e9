import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import { BlobNotFound, type BlobStore, maxChunkBytes } from "../../src/storage/blob-store.js";

/** What every store for blobs has to do, whatever it is made of. */

/** An empty store, and how to look into it from outside. */
export interface StoreUnderTest {
  readonly store: BlobStore;
  /** How many files or connections it holds open. */
  held(): Promise<number>;
  /** All that lies in it: blobs, and parts of blobs. */
  contents(): Promise<readonly string[]>;
  /** An existing folder for temporary files. */
  readonly temporary: string;
  /** How often what may go wrong by chance is tried; default: 40. */
  readonly rounds?: number;
  /** Whether it knows that an empty blob has no first byte; default: true. */
  readonly knowsEmpty?: boolean;
}

const unknownKey = "00000000-0000-4000-8000-000000000000";

/** Bytes of which no two pieces are alike. */
const bytesOf = (length: number, seed = 1): Buffer => {
  const bytes = Buffer.alloc(length);
  for (let at = 0, value = seed; at < length; at++) {
    value = (Math.imul(value, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = value >>> 16;
  }
  return bytes;
};

async function* inChunks(bytes: Uint8Array, length = 10_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function* broken(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield* inChunks(bytes);
  throw new Error("The source broke.");
}

async function whole(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

async function listed(store: BlobStore, ageMs = 0): Promise<string[]> {
  const keys: string[] = [];
  for await (const some of store.olderThan(ageMs)) keys.push(...some);
  return keys.sort();
}

/** Runs all checks; each opens a store of its own. */
export function checkBlobStore(t: Test, openStore: (t: Test) => Promise<StoreUnderTest>): void {
  const check = (name: string, run: (t: Test, tested: StoreUnderTest) => Promise<void>) =>
    t.test(name, async (t) => {
      const tested = await openStore(t);
      await run(t, tested);
      t.equal(await tested.held(), 0, "nothing is left open");
    });

  check("what was put comes back, from a file or from a stream", async (t, { store, temporary }) => {
    for (const length of [0, 1, maxChunkBytes, 3 * maxChunkBytes + 17]) {
      const bytes = bytesOf(length);
      const path = join(temporary, `put-${length}`);
      await writeFile(path, bytes);
      for (const source of [path, inChunks(bytes)]) {
        const key = await store.put(source);
        t.ok((await whole(store.read(key))).equals(bytes), `${length} bytes`);
        t.equal(await store.size(key), length);
      }
    }
  });

  check("it keeps the mark of its installation, which is no blob", async (t, { store }) => {
    t.equal(await store.mark(), undefined);
    for (const id of [unknownKey, "11111111-1111-4111-8111-111111111111"]) {
      await store.setMark(id);
      t.equal(await store.mark(), id);
    }
    const key = await store.put(inChunks(bytesOf(1)));
    t.same(await listed(store), [key]);
  });

  check("pieces are bounded", async (t, { store }) => {
    const key = await store.put(inChunks(bytesOf(3 * maxChunkBytes + 17)));
    for await (const chunk of store.read(key)) t.ok(chunk.length > 0 && chunk.length <= maxChunkBytes);
  });

  check("a range has both its ends, and ends with the blob", async (t, { store, knowsEmpty = true }) => {
    const bytes = bytesOf(2 * maxChunkBytes + 100);
    const key = await store.put(inChunks(bytes));
    const end = bytes.length - 1;
    for (const [first, last] of [
      [0, 0],
      [0, end],
      [end, end],
      [5, maxChunkBytes - 1],
      [maxChunkBytes - 1, maxChunkBytes],
      [maxChunkBytes, 2 * maxChunkBytes],
      [end - 10, end + 1_000],
      [end + 1, end + 1],
      [end + 1_000, end + 2_000],
    ] as const) {
      const got = await whole(store.read(key, { range: { first, last } }));
      t.ok(got.equals(bytes.subarray(first, last + 1)), `${first}–${last}`);
    }
    if (!knowsEmpty) return;
    const empty = await store.put(inChunks(bytesOf(0)));
    t.equal((await whole(store.read(empty, { range: { first: 0, last: 0 } }))).length, 0);
  });

  check("a read opens nothing before its first piece, and closes when it is abandoned", async (t, tested) => {
    const { store } = tested;
    const key = await store.put(inChunks(bytesOf(3 * maxChunkBytes)));
    const unread = store.read(key);
    t.equal(await tested.held(), 0);
    await unread.return();

    const begun = store.read(key);
    await begun.next();
    t.ok((await tested.held()) > 0, "held while it is read");
    await begun.return();
    t.equal(await tested.held(), 0, "after return");

    for await (const _chunk of store.read(key)) break;
    t.equal(await tested.held(), 0, "after break");

    const failing = async () => {
      for await (const _chunk of store.read(key)) throw new Error("The reader fails.");
    };
    await t.rejects(failing(), { message: "The reader fails." });
    t.equal(await tested.held(), 0, "after an error of the reader");
  });

  check("a signal ends a read, before its first piece and between two", async (t, tested) => {
    const { store } = tested;
    const key = await store.put(inChunks(bytesOf(3 * maxChunkBytes)));
    await t.rejects(whole(store.read(key, { signal: AbortSignal.abort() })), { name: "AbortError" });
    const leaving = new AbortController();
    const read = store.read(key, { signal: leaving.signal });
    await read.next();
    leaving.abort();
    await t.rejects(read.next(), { name: "AbortError" });
    t.equal(await tested.held(), 0);
  });

  check("what is set aside is not found until it is put back", async (t, { store, contents }) => {
    const aside = async (ageMs: number) => {
      const keys: string[] = [];
      for await (const some of store.aside(ageMs)) keys.push(...some);
      return keys;
    };
    const bytes = bytesOf(1_000);
    const key = await store.put(inChunks(bytes));
    const other = await store.put(inChunks(bytes));
    t.same(await aside(0), []);
    for (const each of [key, other, unknownKey]) await store.setAside(each);
    await store.setAside(key);
    t.same((await aside(0)).sort(), [key, other].sort());
    t.same(await aside(60_000), []);
    t.same(await listed(store), []);
    await t.rejects(whole(store.read(key)), BlobNotFound);
    await store.putBack(key);
    await store.putBack(unknownKey);
    t.ok((await whole(store.read(key))).equals(bytes));
    t.same(await aside(0), [other]);
    await store.deleteAside(other);
    await store.deleteAside(unknownKey);
    t.same(await contents(), [key]);
  });

  check("what is not there is not found, and can be deleted", async (t, { store }) => {
    const key = await store.put(inChunks(bytesOf(10)));
    await store.delete(key);
    for (const gone of [key, unknownKey]) {
      await t.rejects(whole(store.read(gone)), BlobNotFound);
      await t.rejects(store.size(gone), BlobNotFound);
      await t.rejects(
        store.withLocalCopy(gone, async () => t.fail("nothing to use")),
        BlobNotFound,
      );
      await store.delete(gone);
    }
    t.same(await listed(store), []);
  });

  check("what is no key reaches nothing", async (t, tested) => {
    const key = await tested.store.put(inChunks(bytesOf(10)));
    const before = await tested.contents();
    for (const wrong of ["", ".", "..", `../${key}`, `${key}/`, `${key}\0`, key.toUpperCase(), "*"]) {
      await t.rejects(whole(tested.store.read(wrong)), wrong);
      await t.rejects(tested.store.size(wrong), wrong);
      await t.rejects(tested.store.delete(wrong), wrong);
      await t.rejects(
        tested.store.withLocalCopy(wrong, async () => undefined),
        wrong,
      );
    }
    t.same(await tested.contents(), before);
  });

  check("a read during which the blob is deleted is whole or fails", async (t, { store, rounds = 40 }) => {
    const bytes = bytesOf(2 * maxChunkBytes + 5);
    for (let round = 0; round < rounds; round++) {
      const key = await store.put(inChunks(bytes, maxChunkBytes));
      const reads = Array.from({ length: 4 }, () => whole(store.read(key)));
      const [deleted, ...read] = await Promise.allSettled([store.delete(key), ...reads]);
      t.equal(deleted.status, "fulfilled");
      for (const one of read) {
        if (one.status === "fulfilled") t.ok(one.value.equals(bytes));
        else t.ok(one.reason instanceof BlobNotFound, String(one.reason));
      }
      await t.rejects(store.size(key), BlobNotFound);
    }
  });

  check("a put that breaks off leaves nothing", async (t, tested) => {
    const { store, temporary } = tested;
    const kept = await store.put(inChunks(bytesOf(10)));
    const before = await tested.contents();
    await t.rejects(store.put(broken(bytesOf(0))), { message: "The source broke." });
    await t.rejects(store.put(broken(bytesOf(2 * maxChunkBytes))), { message: "The source broke." });
    await t.rejects(store.put(join(temporary, "no-such-file")), { code: "ENOENT" });
    t.same(await tested.contents(), before);
    t.same(await listed(store), [kept]);
  });

  check("a put asks for the next bytes when it has written those before", async (t, { store }) => {
    let writing = 0;
    let most = 0;
    const chunks = (async function* () {
      for (let i = 0; i < 20; i++) {
        most = Math.max(most, ++writing);
        yield bytesOf(maxChunkBytes, i);
        writing--;
      }
    })();
    const key = await store.put(chunks);
    t.equal(most, 1);
    t.equal(await store.size(key), 20 * maxChunkBytes);
  });

  check(
    "the list has what is old enough, and whole blobs only while others are put",
    async (t, { store, rounds = 40 }) => {
      const bytes = bytesOf(50_000);
      const first = await store.put(inChunks(bytes));
      t.same(await listed(store, 3_600_000), [], "too young");
      let putting = true;
      const puts = Promise.all(
        Array.from({ length: rounds }, () => store.put(inChunks(bytes, 1_000))),
      ).finally(() => {
        putting = false;
      });
      let lists = 0;
      while (putting) {
        const keys = await listed(store);
        t.ok(keys.includes(first));
        for (const key of keys) t.equal(await store.size(key), bytes.length);
        lists++;
      }
      const keys = await puts;
      t.ok(lists > 0);
      t.equal(new Set(keys).size, keys.length);
      t.same(await listed(store), [first, ...keys].sort());
      await Promise.all([listed(store), ...keys.map((key) => store.delete(key))]);
      t.same(await listed(store), [first]);
    },
  );

  check("a local copy is a file with the blob's bytes for as long as it is used", async (t, tested) => {
    const { store } = tested;
    const bytes = bytesOf(maxChunkBytes + 3);
    const key = await store.put(inChunks(bytes));
    const before = await tested.contents();
    const uses = Array.from({ length: 3 }, () => store.withLocalCopy(key, (path) => readFile(path)));
    for (const got of await Promise.all(uses)) t.ok(got.equals(bytes));
    const failing = async () => {
      throw new Error("The user fails.");
    };
    await t.rejects(store.withLocalCopy(key, failing), { message: "The user fails." });
    t.ok((await whole(store.read(key))).equals(bytes), "the blob stays");
    t.same(await tested.contents(), before);
  });
}
