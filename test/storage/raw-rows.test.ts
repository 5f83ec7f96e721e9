import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import t from "tap";
import { openDatabase } from "../../src/storage/postgres.js";
import type { BytesOptions } from "../../src/storage/row-stream.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** Rows as the bytes that PostgreSQL sends, however the network cuts them. */

const database = await freshDatabase();

/** Sizes of the pieces in which the answers of PostgreSQL come; undefined = as the network has them. */
let pieces: readonly number[] | undefined;
/** Stands between, and cuts. */
const sockets = new Set<Socket>();
const { hostname, port } = new URL(database.url);
const between = createServer({ noDelay: true }, (socket) => {
  const server = connect({ host: hostname, port: Number(port), noDelay: true });
  for (const one of [socket, server]) {
    sockets.add(one);
    one.on("error", () => undefined);
    one.on("close", () => {
      socket.destroy();
      server.destroy();
    });
  }
  socket.pipe(server);
  let last = Promise.resolve();
  server.on("data", (bytes) => {
    server.pause();
    last = last.then(async () => {
      if (pieces) {
        for (let at = 0, n = 0; at < bytes.length; n++) {
          const size = pieces[n % pieces.length]!;
          socket.write(bytes.subarray(at, at + size));
          at += size;
          await turn();
        }
      } else if (!socket.write(bytes)) await once(socket, "drain").catch(() => undefined);
      server.resume();
    });
  });
});
await new Promise<void>((resolve) => between.listen(0, "127.0.0.1", resolve));
const url = new URL(database.url);
url.hostname = "127.0.0.1";
url.port = String((between.address() as AddressInfo).port);
const db = openDatabase({ url: url.href, connections: 2, statementTimeoutMs: 30_000, log: quietLog });
t.teardown(async () => {
  await db.close();
  for (const socket of sockets) socket.destroy();
  between.close();
  await database.drop();
});

const released = () => waitFor(() => db.counts().idle === db.counts().total);

async function read(
  text: string,
  values: readonly unknown[] = [],
  options: Partial<BytesOptions> = {},
): Promise<{ text: string; count: number; heads: string[] }> {
  const chunks: Buffer[] = [];
  const heads: string[] = [];
  let count = 0;
  for await (const batch of db.streamBytes(text, values, { separator: ",", ...options })) {
    chunks.push(...batch.chunks);
    count += batch.count;
    heads.push(batch.lastHead);
  }
  return { text: Buffer.concat(chunks).toString(), count, heads };
}

/** Texts of 0 to 40 bytes, of letters of one to four. */
const sized = "select left(repeat('aé€😀', 10), i % 13) || i from generate_series(1, $1::int) i";
const asSized = (last: number) =>
  Array.from({ length: last }, (_, n) => [..."aé€😀".repeat(10)].slice(0, (n + 1) % 13).join("") + (n + 1));

t.test("they are those that a query gives, however they are cut", async (t) => {
  for (const cut of [[1], [2, 3], [7, 11, 13], [64], undefined]) {
    pieces = cut;
    for (const separator of ["", ",", ",\n", "-".repeat(20)]) {
      const { text, count, heads } = await read(sized, [200], { separator });
      t.equal(text, asSized(200).join(separator), `pieces of ${cut}, separator of ${separator.length}`);
      t.equal(count, 200);
      t.equal(Buffer.from(heads.at(-1)!, "latin1").toString().endsWith("200"), true);
    }
  }
  pieces = undefined;
});

t.test("no rows, empty ones and null; with and without values", async (t) => {
  for (const cut of [[1], undefined]) {
    pieces = cut;
    t.same(await read("select 'x' where false"), { text: "", count: 0, heads: [] });
    t.match(await read("select * from (values ('a'), (''), (null), ('b'), ('')) v"), {
      text: "a,,,b,",
      count: 5,
    });
    t.match(await read("select ''"), { text: "", count: 1 });
    // Other columns are not theirs.
    t.match(await read("select i, repeat('z', i) from generate_series(1, 4) i where i > $1", [2]), {
      text: "3,4",
    });
  }
  pieces = undefined;
});

t.test("what PostgreSQL says between them is no part of them", async (t) => {
  await db.write(
    `create function says(i int) returns text language plpgsql as $$
     begin raise warning '%', repeat('w', i * 100); return 'row' || i; end $$`,
  );
  for (const cut of [[5, 1], undefined]) {
    pieces = cut;
    const { text } = await read("select says(i) from generate_series(1, 50) i");
    t.equal(text, Array.from({ length: 50 }, (_, n) => `row${n + 1}`).join(","));
  }
  pieces = undefined;
  t.same(await db.query("select 1 as one"), [{ one: 1 }]);
});

t.test("long rows come whole, short ones in batches, and no more is in memory than is wanted", async (t) => {
  const rows = "select repeat(chr(96 + i % 26), $1) from generate_series(1, $2::int) i";
  const large = await read(rows, [5_000_000, 3]);
  t.equal(large.text, [1, 2, 3].map((i) => String.fromCharCode(96 + i).repeat(5_000_000)).join(","));
  let largest = 0;
  let bytes = 0;
  for await (const { chunks } of db.streamBytes(rows, [1_000, 100_000], { separator: "," })) {
    const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    bytes += size;
    largest = Math.max(largest, size);
    await turn();
  }
  t.equal(bytes, 100_000 * 1_001 - 1);
  t.ok(largest < 512 * 1024, `${largest} bytes at once`);
});

t.test("a failure amid them is told after the rows before it, and the connection stays", async (t) => {
  for (const cut of [[9], undefined]) {
    pieces = cut;
    let count = 0;
    await t.rejects(
      async () => {
        const text = "select (1 / (300 - i))::text from generate_series(1, 1000) i";
        for await (const batch of db.streamBytes(text, [], { separator: "," })) count += batch.count;
      },
      { code: "22012" },
    );
    t.equal(count, 299);
    await released();
  }
  pieces = undefined;
  await t.rejects(read("select nothing"), { code: "42703" });
  await released();
  t.equal(db.counts().total, 1, "none was closed");
});

t.test("whoever stops or leaves amid them gives the connection back", async (t) => {
  const rows = "select repeat('x', 1000) from generate_series(1, 10000000) i";
  const leaving = new AbortController();
  for (const end of [
    (stream: AsyncIterator<unknown>) => stream.return?.(),
    async (stream: AsyncIterator<unknown>) => {
      leaving.abort();
      await sleep(10);
      await stream.return?.();
    },
  ]) {
    const stream = db.streamBytes(rows, [], { separator: ",", signal: leaving.signal });
    for (let n = 0; n < 5; n++) await stream.next();
    await end(stream);
    await released();
  }
  t.same(await db.query("select 1 as one"), [{ one: 1 }]);
  t.equal(db.counts().total, 1, "none was closed");
});

t.test(
  "no more is made than is wanted and a portion ahead, and of slow statements the first rows come first",
  async (t) => {
    await db.write("create sequence made");
    const made = async () =>
      Number((await db.query<{ n: string }>("select last_value as n from made"))[0]!.n);
    const { cancelRequests } = db.counts();
    const rows = "select repeat('x', 1000) || nextval('made') from generate_series(1, 1000000) i";
    const stream = db.streamBytes(rows, [], { separator: "," });
    let delivered = 0;
    for (let n = 0; n < 8; n++) delivered += (await stream.next()).value!.count;
    await sleep(300);
    const ahead = (await made()) - delivered;
    t.ok(ahead < 3_000, `${ahead} rows ahead of ${delivered}`);
    await stream.return();
    await released();
    t.equal(db.counts().cancelRequests, cancelRequests, "what waits needs no request to be cancelled");
    const slow = db.streamBytes("select pg_sleep(0.02)::text || i from generate_series(1, 100) i", [], {
      separator: ",",
    });
    t.equal((await slow.next()).value!.count, 20);
    await slow.return();
    await released();
  },
);

t.test("nothing is made ahead while others wait", async (t) => {
  await db.write("alter sequence made restart");
  const rows = "select repeat('x', 1000) || nextval('made') from generate_series(1, 1000000) i";
  const stream = db.streamBytes(rows, [], { separator: ",", timeoutMs: 5_000 });
  await stream.next();
  const others = [1, 2].map(() => db.query("select pg_sleep(0.5)"));
  let delivered = 0;
  for (let n = 0; n < 5; n++) delivered += (await stream.next()).value!.count;
  await Promise.all(others);
  const [row] = await db.query<{ n: string }>("select last_value as n from made");
  // The first portion of all, and one that was made ahead before.
  t.equal(Number(row!.n), delivered + 20);
  await stream.return();
  await released();
});

t.test("who is slow while others wait goes on where he was", async (t) => {
  const statement = (after: number) => ({
    text: "select i || repeat('x', 50000) from generate_series($1::int + 1, 200) i",
    values: [after],
  });
  let resumed = 0;
  const stream = db.streamBytes(statement(0).text, [0], {
    separator: ",",
    patienceMs: 20,
    resume: (lastHead) => {
      resumed++;
      return statement(Number.parseInt(lastHead.replace(/^,/, ""), 10));
    },
  });
  const chunks = [...(await stream.next()).value!.chunks];
  // The other connection, and one who waits for this one.
  const others = [1, 2].map(() => db.query("select pg_sleep(0.3)"));
  await sleep(150);
  for await (const batch of stream) chunks.push(...batch.chunks);
  await Promise.all(others);
  t.equal(resumed, 1);
  const expected = Array.from({ length: 200 }, (_, n) => `${n + 1}${"x".repeat(50_000)}`).join(",");
  t.ok(Buffer.concat(chunks).toString() === expected);
});

t.test("a connection that is lost amid them is told", async (t) => {
  const stream = db.streamBytes("select repeat('x', 1000) from generate_series(1, 10000000) i", [], {
    separator: ",",
  });
  await stream.next();
  for (const socket of sockets) socket.destroy();
  await t.rejects(
    async () => {
      for await (const _ of stream);
    },
    { code: "busy" },
  );
  await waitFor(() => db.counts().total === 0);
  t.same(await db.query("select 1 as one"), [{ one: 1 }]);
});
