import t from "tap";
import { objectFormatter } from "../../src/features/format.js";
import { type ListRequest, listedIds, listStatement } from "../../src/features/list.js";
import { readList, readPage } from "../../src/features/read.js";
import { ReadAhead } from "../../src/features/read-ahead.js";
import type { Database } from "../../src/storage/postgres.js";
import { makeFeatures } from "./support.js";

/** Lists of objects of which some are large come in parts, with the same text as others. */

const { db, table, layer, physical, close } = await makeFeatures([
  { code: "name", type: "string" },
  { code: "size", type: "number" },
]);
t.teardown(close);
// Every fifth has thousands of positions; names take one to four bytes a character.
await db.execute(
  `insert into ${table} (geom, ${physical("name")}, ${physical("size")})
   select case when i % 7 = 0 then null when i % 5 = 0
       then st_setsrid(st_makeline(array(select st_makepoint(k / 1e5, sin(k + i)) from generate_series(1, 8000) k)), 4326)
       else st_setsrid(st_makepoint(i, 1), 4326) end,
     repeat(case i % 3 when 0 then 'x' when 1 then 'ж"\\' else '🦉' end, case when i % 11 = 0 then 70000 else i end), i / 7.0
   from generate_series(1, 40) i`,
);
const languages = { own: "en", main: "en" };
const request: ListRequest = {
  fields: "all",
  sort: [],
  offset: 0,
  geom: { srid: 4326 },
  languages,
  form: "items",
};

/** What lists are read with. */
type Reading = Pick<Database, "stream" | "streamBytes" | "query">;
const readingOf = (from: Database): Reading => ({
  query: (...asked) => from.query(...asked),
  stream: (...asked) => from.stream(...asked),
  streamBytes: (...asked) => from.streamBytes(...asked),
});

async function listed(
  from: Reading,
  hasLargeObjects: boolean,
  { rewrite, ...more }: Partial<ListRequest> & { rewrite?: (text: string) => string } = {},
) {
  let objects = 0;
  let longest = 0;
  const { limit } = more;
  const wanted = { ...request, ...more };
  const text = await readList(from as Database, {
    statement: listStatement(layer, wanted),
    resume: (after, read) =>
      listStatement(layer, { ...wanted, after, offset: 0, limit: limit && limit - read }),
    limit,
    hasGeometry: true,
    hasLargeObjects,
    rewrite,
    text: { opening: "[", closing: "]" },
    signal: new AbortController().signal,
    onObjects: (count) => {
      objects += count;
    },
  });
  if (typeof text === "string") return { text, objects, longest };
  const chunks: Buffer[] = [];
  for await (const chunk of text) {
    longest = Math.max(longest, chunk.length);
    chunks.push(Buffer.from(chunk));
  }
  return { text: Buffer.concat(chunks).toString(), objects, longest };
}

t.test("lists of large objects have the same text, in short chunks", async (t) => {
  const rewrite = objectFormatter(layer.columns, languages);
  for (const [name, more] of [
    ["all", {}],
    ["features", { form: "features" }],
    ["some", { limit: 12, offset: 3 }],
    ["sorted", { sort: [{ code: "size", descending: true }] }],
    ["formatted", { rewrite }],
    ["none", { limit: 0 }],
  ] as const) {
    const large = await listed(db, true, more);
    const { text } = await listed(db, false, more);
    t.equal(large.text, text, name);
    t.equal(large.objects, JSON.parse(text).length, `${name}: the number of objects`);
    if (name !== "formatted") t.ok(large.longest <= 128 * 1024, `${name}: chunks of ${large.longest}`);
  }
});

t.test(
  "a list of large objects that is interrupted anywhere goes on, and no object is there twice",
  async (t) => {
    const expected = (await listed(db, false)).text;
    let total = 0;
    for (let every = 1; every <= 4; every++) {
      let batches = 0;
      let interruptions = 0;
      /** Streams of the database that end after some batches, as for readers who are slow while others wait. */
      const interrupted: Reading = {
        ...readingOf(db),
        async *streamBytes(text, values, { resume, ...others }) {
          let statement = { text, values };
          let separator = Buffer.alloc(0);
          for (let goesOn = true; goesOn; ) {
            goesOn = false;
            for await (const batch of db.streamBytes(statement.text, statement.values, others)) {
              yield { ...batch, chunks: [separator, ...batch.chunks] };
              separator = Buffer.alloc(0);
              if (++batches % every > 0) continue;
              interruptions++;
              statement = resume!(batch.lastHead);
              separator = Buffer.from(others.separator);
              goesOn = true;
              break;
            }
          }
        },
      };
      t.equal((await listed(interrupted, true)).text, expected, `interrupted after each ${every} batches`);
      total += interruptions;
    }
    t.ok(total > 10, `${total} interruptions`);
  },
);

t.test(
  "a short list of long texts comes in short chunks too, and a page of it ends where others do",
  async (t) => {
    const long = await makeFeatures([{ code: "name", type: "string" }]);
    t.teardown(long.close);
    await long.db.execute(
      `insert into ${long.table} (${long.physical("name")}) select repeat(i || ' ж"', 40000) from generate_series(1, 60) i`,
    );
    const wanted = { ...request, geom: undefined };
    const statement = (bounds: Partial<ListRequest>) => listStatement(long.layer, { ...wanted, ...bounds });
    const source = {
      ...{ hasGeometry: false, text: { opening: "[", closing: "]" } },
      signal: new AbortController().signal,
    };
    const chunksOf = async (text: string | AsyncIterable<string | Uint8Array>) => {
      const chunks: Buffer[] = [];
      for await (const chunk of typeof text === "string" ? [text] : text)
        chunks.push(Buffer.from(chunk as string));
      return chunks;
    };
    const idsIn = (chunks: readonly Buffer[]) =>
      JSON.parse(Buffer.concat(chunks).toString()).map(({ id }: { id: number }) => id);
    const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
    for (const rewrite of [undefined, objectFormatter(long.layer.columns, languages)]) {
      for (const limit of [20, 50, 1000]) {
        const name = `${limit} ${rewrite ? "formatted" : "plain"}`;
        const list = await readList(long.db, {
          ...{ ...source, rewrite, limit },
          statement: statement({ limit }),
        });
        const page = await readPage(long.db, {
          ...{ ...source, rewrite, limit, offset: 0 },
          bounded: ({ limit: most, ...bounds }) =>
            statement({ ...bounds, limit: most === null ? undefined : (most ?? limit) }),
          ids: (bounds) => listedIds(long.layer, { ...wanted, ...bounds }),
        });
        t.equal(page.next, limit < 60 ? limit : undefined, name);
        for (const text of [list, page.text]) {
          const chunks = await chunksOf(text);
          t.same(idsIn(chunks), upTo(Math.min(60, limit)), name);
          const longest = Math.max(...chunks.map(({ length }) => length));
          t.ok(longest <= 4_200_000, `${name}: the longest of ${chunks.length} chunks has ${longest} bytes`);
        }
      }
    }
  },
);

t.test("a list that is known to be too long to be read at once is read once", async (t) => {
  const long = await makeFeatures([{ code: "name", type: "string" }]);
  t.teardown(long.close);
  await long.db.execute(
    `insert into ${long.table} (${long.physical("name")}) select repeat('x', 100000) from generate_series(1, 60)`,
  );
  let queries = 0;
  const watched: Reading = {
    ...readingOf(long.db),
    query: (...asked) => {
      queries++;
      return long.db.query(...asked);
    },
  };
  for (const expected of [1, 0]) {
    queries = 0;
    const text = await readList(watched as Database, {
      statement: listStatement(long.layer, {
        ...{ ...request, geom: undefined, limit: 100 },
        sort: [{ code: "name", descending: true }],
      }),
      ...{ limit: 100, hasGeometry: false, text: { opening: "[", closing: "]" } },
      signal: new AbortController().signal,
    });
    let characters = 0;
    for await (const chunk of text) characters += chunk.length;
    t.ok(characters > 6_000_000);
    t.equal(queries, expected);
  }
});

t.test("of a list without limit no more is read at once, before its sizes are known", async (t) => {
  const long = await makeFeatures([{ code: "name", type: "string" }]);
  t.teardown(long.close);
  await long.db.execute(
    `insert into ${long.table} (${long.physical("name")}) select repeat('x', 100000) from generate_series(1, 200)`,
  );
  const batches: number[] = [];
  const watched: Reading = {
    ...readingOf(long.db),
    async *streamBytes(...asked) {
      for await (const batch of long.db.streamBytes(...asked)) {
        batches.push(batch.chunks.reduce((sum, { length }) => sum + length, 0));
        yield batch;
      }
    },
  };
  const text = await readList(watched as Database, {
    statement: listStatement(long.layer, { ...request, geom: undefined }),
    ...{ limit: undefined, hasGeometry: false, text: { opening: "[", closing: "]" } },
    signal: new AbortController().signal,
  });
  let characters = 0;
  for await (const chunk of text) characters += chunk.length;
  t.ok(characters > 20_000_000);
  t.ok(Math.max(...batches) <= 500_000, batches.join(" "));
});

t.test("lists are read ahead up to a number of bytes of all of them, until they are sent", async (t) => {
  const list = () =>
    readList(db, {
      statement: listStatement(layer, request),
      limit: undefined,
      hasGeometry: true,
      hasLargeObjects: true,
      signal: new AbortController().signal,
      text: { opening: "[", closing: "]" },
    });
  const textOf = async (chunks: string | AsyncIterable<string | Uint8Array>) => {
    let text = "";
    for await (const chunk of chunks) text += Buffer.from(chunk as string).toString("latin1");
    return text;
  };
  const whole = await textOf(await list());
  // Half of it is for one and a half lists.
  const mostBytes = 3 * whole.length;
  const ahead = new ReadAhead({ mostCharacters: 2 * whole.length, mostBytes });
  const lists = [];
  for (const client of ["a1", "a1", "a2", "a2"]) lists.push(await ahead.read(await list(), client));
  t.same(
    lists.map(({ isWhole }) => isWhole),
    [true, false, true, false],
    "one client leaves half to others",
  );
  t.ok(ahead.bytes < mostBytes + 200_000, `${ahead.bytes} bytes are held`);
  for (const { text } of lists) t.ok((await textOf(text)) === whole, "nothing is lost");
  t.equal(ahead.bytes, 0, "what is sent is held no longer");
  const left = await ahead.read(await list(), "a1");
  t.ok(left.isWhole);
  await (left.text as AsyncIterableIterator<string>).return?.();
  t.equal(ahead.bytes, 0, "nor what nobody reads");
  async function* failing() {
    yield "begun";
    throw new Error("the database is away");
  }
  await t.rejects(ahead.read(failing(), "a1"), { message: "the database is away" });
  t.equal(ahead.bytes, 0);
});
