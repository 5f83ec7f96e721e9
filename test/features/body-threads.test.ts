import fc from "fast-check";
import t from "tap";
import type { Column } from "../../src/catalog/state.js";
import { Failure } from "../../src/errors.js";
import { BodyThreads, type LentBody } from "../../src/features/body-threads.js";
import {
  type ObjectRules,
  readGeometry,
  readObject,
  type SavedObject,
} from "../../src/features/object-body.js";
import { parseJson } from "../../src/json.js";
import { quietLog } from "../support/log.js";

/** Large bodies are read by other threads, as they would be on this one. */

const limits = { members: 50_000, values: Number.POSITIVE_INFINITY };
const reader = { client: "c", signal: new AbortController().signal };

/** A body that came in parts of so many bytes. */
function bodyOf(content: string | Uint8Array, partBytes = 64 * 1024): LentBody & { bytes(): Buffer } {
  const whole = Buffer.from(content as string);
  let parts: readonly Uint8Array[] = [];
  for (let at = 0; at < whole.length; at += partBytes)
    parts = [...parts, new Uint8Array(whole.subarray(at, at + partBytes))];
  return {
    limits,
    lend: async (use) => {
      const given = parts;
      parts = [];
      const returned = await use(given);
      parts = returned.parts;
      return returned.value;
    },
    bytes: () => Buffer.concat(parts),
  };
}

const column = (id: number, code: string, type: string, more: object = {}) =>
  ({
    id,
    code,
    type,
    physical: `c${id}`,
    localizedValue: false,
    required: false,
    ...more,
  }) as unknown as Column;
const layer = {
  geometryKind: "Unknown",
  columns: [
    column(1, "svc_id", "number", { physical: "svc_id" }),
    column(2, "geom", "geom"),
    column(3, "name", "string", { required: true }),
    column(4, "n", "number"),
    column(5, "j", "json"),
    column(6, "lj", "json", { localizedValue: true }),
    column(7, "label", "text", { localizedValue: true }),
    column(8, "files", "file"),
    column(9, "at", "datetime"),
    column(10, "yes", "bool"),
  ],
} as const satisfies ObjectRules["layer"];
const rulesFor = (id: number | undefined, srid: 4326 | 3857 = 4326): ObjectRules => ({
  layer,
  languages: { own: "en", main: "ru" },
  id,
  srid,
});

/** What reading gives, with a failure as a value. Texts and their bytes are the same to PostgreSQL. */
async function outcome(read: () => SavedObject | Buffer | null | Promise<SavedObject | Buffer | null>) {
  try {
    const found = await read();
    if (found === null || Buffer.isBuffer(found)) return { geom: found?.toString("hex") ?? null };
    return {
      geom: found.geom === null ? null : found.geom?.toString("hex"),
      assignments: found.assignments.map((one) => {
        const plain = (value: unknown): unknown => {
          if (!Buffer.isBuffer(value)) return value;
          const text = value.toString();
          return one.column.type === "json" && one.kind === "set" && text.startsWith("\u0001")
            ? text.slice(1)
            : text;
        };
        const { column, ...others } = one;
        // Of a value of JSON its text alone is stored.
        const kept = Object.entries(others).filter(([name]) => name !== "value" || column.type !== "json");
        const shown = kept.map(([name, value]) => [
          name,
          name === "texts"
            ? Object.fromEntries(Object.entries(value as object).map(([key, text]) => [key, plain(text)]))
            : plain(value),
        ]);
        return {
          code: column.code,
          same: column === layer.columns[column.id - 1],
          ...Object.fromEntries(shown),
        };
      }),
    };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { kind, code, message, data } = error;
    return { kind, code, message, data: JSON.parse(JSON.stringify(data)) };
  }
}

/** What a promise is refused with. */
const refusal = (reading: Promise<unknown>): Promise<unknown> =>
  reading.then(
    () => "none",
    ({ kind, message }) => ({ kind, message }),
  );

function here(text: string | Uint8Array, rules: ObjectRules): SavedObject {
  const sent = parseJson(Buffer.from(text as string), limits);
  if (typeof sent !== "object" || sent === null || Array.isArray(sent))
    throw new Failure("bad_request", undefined, "The body must be a JSON object.");
  const { fields, geom } = sent as { fields?: unknown; geom?: unknown };
  return readObject({ fields, geom }, rules);
}

t.test("another thread reads the same from a body, be it right or wrong", async (t) => {
  const threads = new BodyThreads(quietLog);
  t.teardown(() => threads.stop());
  const long = fc.constantFrom("x".repeat(20_000), "ж".repeat(17_000), '"\\\n'.repeat(9_000));
  const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), long, fc.array(long, { maxLength: 3 }), fc.double());
  const localized = fc.dictionary(fc.constantFrom("en", "ru", "de", "not a language"), value);
  const position = fc.array(fc.oneof(fc.double({ min: -200, max: 200 }), fc.constant(0)), {
    minLength: 1,
    maxLength: 4,
  });
  const line = fc.array(position, { maxLength: 30 });
  const closed = line.map((ring) => (ring.length > 0 ? [...ring, ring[0]!] : ring));
  const simple = fc.oneof(
    fc.record({ type: fc.constant("Point"), coordinates: position }),
    fc.record({ type: fc.constant("LineString"), coordinates: line }),
    fc.record({ type: fc.constant("Polygon"), coordinates: fc.array(closed, { maxLength: 3 }) }),
    fc.record({ type: fc.constant("MultiPoint"), coordinates: line }),
  );
  const geom = fc.oneof(
    simple,
    fc.constant(null),
    fc.record({ type: fc.constant("GeometryCollection"), geometries: fc.array(simple, { maxLength: 3 }) }),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const fields = fc.record(
    {
      name: fc.oneof(fc.string(), long, value),
      n: fc.oneof(fc.double(), value),
      j: value,
      lj: fc.oneof(value, localized),
      label: fc.oneof(value, localized),
      files: fc.oneof(fc.constant("1,2"), value),
      at: fc.oneof(fc.constant("2020-01-02T03:04:05Z"), value),
      yes: fc.oneof(fc.boolean(), value),
      svc_id: fc.oneof(fc.constant(7), value),
      unknown: value,
    },
    { requiredKeys: [] },
  );
  const sent = fc.oneof(
    fc
      .record({ fields: fc.oneof(fields, fc.jsonValue()), geom }, { requiredKeys: [] })
      .map((one) => JSON.stringify(one)),
    fc.jsonValue().map((one) => JSON.stringify(one)),
    fc.string(),
    fc.constantFrom("", '{"fields":{"name":1e999}}', '{"fields":{"name":"\\ud800"}}', `${"[".repeat(101)}`),
  );
  await fc.assert(
    fc.asyncProperty(
      sent,
      fc.constantFrom(undefined, 7),
      fc.constantFrom(4326 as const, 3857 as const),
      fc.integer({ min: 1, max: 100_000 }),
      async (text, id, srid, partBytes) => {
        const rules = rulesFor(id, srid);
        const body = bodyOf(text, text.length > 2_000 ? Math.max(partBytes, 5_000) : partBytes);
        t.strictSame(
          await outcome(() => threads.object(body, rules, reader)),
          await outcome(() => here(text, rules)),
        );
        if (text !== "")
          t.equal(body.bytes().toString(), Buffer.from(text).toString(), "the body comes back");
      },
    ),
    { numRuns: 300 },
  );
  await fc.assert(
    fc.asyncProperty(geom, async (one) => {
      const text = JSON.stringify(one);
      const there = await outcome(() => threads.geometry(bodyOf(text), rulesFor(7), reader));
      t.strictSame(
        there,
        await outcome(() => readGeometry(parseJson(Buffer.from(text), limits), rulesFor(7))),
      );
    }),
    { numRuns: 150 },
  );
  t.equal(threads.counts().replaced, 0);
  t.ok(threads.counts().done >= 450, "all were read there");
});

t.test(
  "a body that would take too much memory is refused before it is parsed, and the next one is read",
  async (t) => {
    const threads = new BodyThreads(quietLog, { memoryBytes: 48 * 1024 ** 2 });
    t.teardown(() => threads.stop());
    for (const item of ["[]", "{}", "[1]", '"",[]']) {
      const body = bodyOf(`{"fields":{"name":[${Array(1_000_000).fill(item).join(",")}]}}`);
      t.match(
        await refusal(threads.object(body, rulesFor(7), reader)),
        { kind: "too_large", message: /more objects and arrays than the server has memory for/ },
        item,
      );
    }
    const next = await threads.object(bodyOf('{"fields":{"name":"a"}}'), rulesFor(7), reader);
    t.match(next.assignments, [{ kind: "set", bound: "a" }]);
    t.match(threads.counts(), { running: 0, waiting: 0, done: 5, replaced: 0 });
  },
);

t.test("whatever fits is read in the memory that there is", async (t) => {
  const threads = new BodyThreads(quietLog, { memoryBytes: 96 * 1024 ** 2 });
  t.teardown(() => threads.stop());
  for (const item of ["[]", "{}", "[[]]", "[1.5,2.5]", "1.5", '"ab"', '"ж"', "{},1.5"]) {
    const opened = item.match(/[[{]/g)?.length ?? 0;
    const commas = 1 + (item.match(/,/g)?.length ?? 0);
    const count = Math.floor((95 * 1024 ** 2) / (2 * item.length + 4 + 80 * opened + 16 * (opened + commas)));
    const list = Array(Math.min(count, 5_000_000)).fill(item).join(",");
    for (const code of ["j", "lj", "name"])
      await threads
        .object(bodyOf(`{"fields":{"name":"a","${code}":[${list}]}}`, 1024 ** 2), rulesFor(7), reader)
        .catch((error: Failure) => t.equal(error.code, "invalid_value", `${item} for ${code}`));
  }
  t.match(threads.counts(), { done: 24, replaced: 0 });
});

t.test("a thread that takes too long is replaced, and the next body is read", async (t) => {
  const threads = new BodyThreads(quietLog, { deadlineMs: 300 });
  t.teardown(() => threads.stop());
  const small = () => threads.object(bodyOf('{"fields":{"name":"a"}}'), rulesFor(7), reader);
  /** A thread may take longer to start than the body has: later ones find it started. */
  const untilRead = async () => {
    for (;;) if (JSON.stringify(await refusal(small())) === '"none"') return;
  };
  await untilRead();
  const { replaced } = threads.counts();
  const text = `{"fields":{"j":[${Array(4_000_000).fill("[]").join(",")}]}}`;
  const found = await refusal(threads.object(bodyOf(text), rulesFor(7), reader));
  t.match(found, { kind: "busy", message: /took too long/ });
  t.match(threads.counts(), { running: 0, waiting: 0, replaced: replaced + 1 });
  await untilRead();
});

t.test("depth, numbers and kinds of a hostile body are told, and no thread dies of them", async (t) => {
  const threads = new BodyThreads(quietLog);
  t.teardown(() => threads.stop());
  const many = 1_000_000;
  for (const [name, text, expected] of [
    ["depth", "[".repeat(many), /nested deeper/],
    ["a number of a million digits", `{"fields":{"n":${"1".repeat(many)}}}`, /too large/],
    ["no JSON", "x".repeat(many), /not valid JSON/],
    ["no object", `[${"1,".repeat(many)}1]`, /must be a JSON object/],
    ["too many names", `{"fields":{${'"a":1,'.repeat(60_000)}"a":1}}`, /more than 50000 named values/],
  ] as const)
    await t.rejects(threads.object(bodyOf(text), rulesFor(undefined), reader), { message: expected }, name);
  t.match(threads.counts(), { replaced: 0, done: 5 });
});

t.test("a flood of one client's large bodies leaves a thread to others", async (t) => {
  const threads = new BodyThreads(quietLog);
  t.teardown(() => threads.stop());
  const ring = Array.from({ length: 20_000 }, (_, at) => [at / 1e4, Math.sin(at)]);
  const text = JSON.stringify({ type: "LineString", coordinates: ring });
  const done: string[] = [];
  const send = async (client: string) => {
    await threads.geometry(bodyOf(text), rulesFor(undefined), { ...reader, client });
    done.push(client);
  };
  const flood = Array.from({ length: 30 }, () => send("a"));
  t.match(threads.counts(), { running: 1, waiting: 29 }, "one thread for one client");
  await send("b");
  t.ok(done.length <= 6, `answered after ${done.length - 1} of the other's`);
  await Promise.all(flood);
});

t.test(
  "what waits for a client that has left is dropped, and beyond the most that may wait is refused",
  async (t) => {
    const threads = new BodyThreads(quietLog);
    t.teardown(() => threads.stop());
    const gone = new AbortController();
    const send = (client: string, signal = reader.signal) =>
      threads.geometry(bodyOf('{"type":"Point","coordinates":[1,2]}'), rulesFor(7), { client, signal });
    const sent = Array.from({ length: 65 }, () => send("a"));
    const refused = send("a");
    t.match(await refusal(refused), { kind: "busy" });
    const left = send("b", gone.signal);
    const waiting = send("c", gone.signal);
    gone.abort();
    await t.rejects(waiting, { name: "AbortError" });
    await Promise.allSettled([...sent, left]);
    t.match(threads.counts(), { waiting: 0, running: 0 });
  },
);

t.test(
  "a token is no part of the hash of a body, wherever it stands and however it is spelled",
  async (t) => {
    const threads = new BodyThreads(quietLog);
    t.teardown(() => threads.stop());
    const hash = (text: string, start = "") => threads.digest(bodyOf(text), start, reader);
    const same = await Promise.all([
      hash('{"token":"a","n":1}'),
      hash('{"n":1,"token":"b"}'),
      hash('{"\\u0074oken":"c","n":1}'),
    ]);
    t.equal(new Set(same).size, 1);
    t.not(await hash('{"token":"a","n":2}'), same[0]);
    t.not(await hash('{"token":"a","n":1}', "PUT"), same[0]);
    t.not(
      await hash('{"n":{"token":"a"}}'),
      await hash('{"n":{"token":"b"}}'),
      "a value of that name is one",
    );
  },
);
