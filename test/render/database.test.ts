import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import t, { type Test } from "tap";
import { Answers } from "../../workers/render/database/messages.js";
import { LoadingServer } from "../../workers/render/database/server.js";
import { socketPath, socketPort } from "../../workers/render/database/socket.js";
import { freshDatabase } from "../support/database.js";
import { waitFor } from "../support/server.js";

/** The server that Mapnik finds while it loads layers, asked by another client of PostgreSQL. */

const database = await freshDatabase({ bare: true });
const direct = new pg.Client({ connectionString: database.url });
await direct.connect();
const folder = mkdtempSync(join(tmpdir(), "mw-"));
t.teardown(async () => {
  await direct.end();
  await database.drop();
  rmSync(folder, { recursive: true });
});

const most = 2;
const server = new LoadingServer(socketPath(folder), { url: database.url, settings: "-c jit=off", most });

async function connect(t: Test): Promise<pg.Client> {
  const client = new pg.Client({ host: folder, port: socketPort, user: "anybody", database: "any" });
  client.on("error", () => undefined);
  await client.connect();
  t.teardown(() => client.end().catch(() => undefined));
  return client;
}
const backends = async (): Promise<number> => {
  const { rows } = await direct.query(
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'mapwright render'",
  );
  return rows[0].n;
};

t.test("the columns of a statement are answered without the database", async (t) => {
  await server.during(async () => {
    const client = await connect(t);
    const { rows, fields } = await client.query("SELECT * FROM (select nothing from nowhere) as q LIMIT 0");
    t.same([rows, fields], [[], []]);
    const set = await client.query(
      "SET DEFAULT_TRANSACTION_READ_ONLY = TRUE; SET CLIENT_MIN_MESSAGES = WARNING;",
    );
    t.equal((set as unknown as unknown[]).length, 2);
  });
  t.equal(await backends(), 0);
});

t.test("other statements are answered by the database, errors too", async (t) => {
  await server.during(async () => {
    const client = await connect(t);
    const many = await client.query(
      "select i, repeat('x', i % 500) as x from generate_series(1, $1::int) i",
      [40_000],
    );
    t.equal(many.rows.length, 40_000);
    t.equal(many.rows[39_998].x.length, 39_999 % 500);
    await t.rejects(client.query("select nothing from nowhere"), { code: "42P01" });
    t.same((await client.query("select $1::text as x", ["after it"])).rows, [{ x: "after it" }]);
  });
});

t.test("many connections share few to the database", async (t) => {
  await server.during(async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect(t)));
    const answers = await Promise.all(
      clients.map((client, index) => client.query("select $1::int as i, pg_sleep(0.02)", [index])),
    );
    t.same(
      answers.map(({ rows }) => rows[0].i),
      [0, 1, 2, 3, 4, 5, 6, 7],
    );
    t.ok((await backends()) <= most);
  });
});

t.test("a connection that is left in the middle of a statement leaves nothing behind", async (t) => {
  await server.during(async () => {
    const client = await connect(t);
    const asked = client.query("select generate_series(1, 1000000), pg_sleep(0.001)");
    asked.catch(() => undefined);
    await waitFor(async () => (await backends()) > 0);
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    const others = await Promise.all([connect(t), connect(t), connect(t)]);
    for (const other of others) t.same((await other.query("select $1::int as i", [7])).rows, [{ i: 7 }]);
  });
});

t.test("it takes connections only while something is loaded, and those that it took go on", async (t) => {
  const client = await server.during(() => connect(t));
  t.notOk(existsSync(socketPath(folder)));
  await t.rejects(connect(t), { code: "ENOENT" });
  t.same((await client.query("select 1 as i")).rows, [{ i: 1 }]);
  await Promise.all([server.during(() => connect(t)), server.during(() => connect(t))]);
  await waitFor(() => server.connections > 0);
  await client.end();
  server.rest();
  await waitFor(async () => (await backends()) === 0);
});

t.test("what a message is not ends the connection", async (t) => {
  const { connect: open } = await import("node:net");
  await server.during(async () => {
    for (const bytes of [
      [0, 0, 0, 1],
      [0xff, 0xff, 0xff, 0xff],
      [0, 0, 0, 8, 0, 9, 0, 0],
    ]) {
      const socket = open(socketPath(folder));
      socket.on("error", () => undefined);
      socket.write(Buffer.from(bytes));
      await new Promise((resolve) => socket.once("close", resolve));
    }
  });
  t.pass("closed");
});

t.test("answers are counted however the stream is cut", (t) => {
  const message = (type: string, body: number[]) => {
    const head = Buffer.alloc(5, type);
    head.writeUInt32BE(body.length + 4, 1);
    return Buffer.concat([head, Buffer.from(body)]);
  };
  // The row holds what looks like the end of an answer.
  const row = message("D", [...message("Z", [0x49])]);
  const stream = Buffer.concat([message("1", []), row, message("Z", [0x54]), row, message("Z", [0x49])]);
  for (let size = 1; size <= stream.length; size++) {
    const answers = new Answers();
    let count = 0;
    for (let at = 0; at < stream.length; at += size) {
      count += answers.read(stream.subarray(at, at + size));
      if (count === 1) t.notOk(answers.isIdle);
    }
    t.equal(count, 2);
    t.ok(answers.isIdle);
  }
  t.end();
});
