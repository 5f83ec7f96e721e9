import t from "tap";
import { addColumns } from "../../src/catalog/columns.js";
import { createLayer } from "../../src/catalog/layers.js";
import { createMap } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { changeColumn } from "../../src/catalog/structure.js";
import type { StructureTarget } from "../../src/catalog/structure-transaction.js";
import type { ColumnType } from "../../src/column-types/column-types.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";

/** What becomes of values when a column changes its type: all nine types against each other. */

const database = await freshDatabase();
const db = openDatabase({ ...database.at, connections: 4, statementTimeoutMs: 30_000, log: quietLog });
t.teardown(async () => {
  await db.close();
  await database.drop();
});
const project = await createProject(db, { code: "p", languages: ["en", "ru"] });
const mapId = await createMap(db, project, { code: "m" });

type ValueType = Exclude<ColumnType, "geom" | "title">;
const valueTypes: readonly ValueType[] = ["number", "string", "text", "datetime", "bool", "file", "json"];

/** Values of each type as SQL. */
const samples: Readonly<Record<ValueType, readonly string[]>> = {
  number: ["5", "0", "1", "-2.5", "1e300", "'NaN'", "'Infinity'", "null"],
  string: [
    "'abc'",
    "' 12.5 '",
    "'1e400'",
    "'2024-02-29'",
    "'2023-02-29'",
    "'2024-05-01T14:00:00+02:00'",
    "'Yes'",
    "''",
    `'{"a": [1]}'`,
    "'{bad'",
    "'1e100000'",
    "'infinity'",
    "'now'",
    "null",
  ],
  text: ["'0'", "'12,7'", "'[1, 2'"],
  datetime: ["'2024-05-01 12:00:00.5Z'", "'infinity'", "null"],
  bool: ["true", "false", "null"],
  file: ["'{1,22}'", "'{}'", "null"],
  json: [`'{"a":1}'`, "'5'", "'true'", `'"7"'`, `'"2024-05-01"'`, "'null'", "null"],
};

/** What the samples of a type become; a type that is not there: null, all of them. */
const expected: Readonly<Record<ValueType, Partial<Record<ValueType, readonly unknown[]>>>> = {
  number: {
    string: ["5", "0", "1", "-2.5", "1e+300", null, null, null],
    text: ["5", "0", "1", "-2.5", "1e+300", null, null, null],
    bool: [true, false, true, null, true, null, null, null],
    json: [5, 0, 1, -2.5, 1e300, null, null, null],
  },
  string: {
    number: [null, 12.5, null, null, null, null, null, null, null, null, null, null, null, null],
    datetime: [
      null,
      null,
      null,
      "2024-02-29T00:00:00+00:00",
      null,
      "2024-05-01T12:00:00+00:00",
      ...Array(8).fill(null),
    ],
    bool: [null, null, null, null, null, null, true, ...Array(7).fill(null)],
    json: [
      "abc",
      12.5,
      "1e400",
      "2024-02-29",
      "2023-02-29",
      "2024-05-01T14:00:00+02:00",
      "Yes",
      null,
      { a: [1] },
      "{bad",
      "1e100000",
      "infinity",
      "now",
      null,
    ],
  },
  text: {
    number: [0, null, null],
    bool: [false, null, null],
    json: [0, "12,7", "[1, 2"],
  },
  datetime: {
    string: ["2024-05-01T12:00:00.5Z", "infinity", null],
    text: ["2024-05-01T12:00:00.5Z", "infinity", null],
    json: ["2024-05-01T12:00:00.5Z", "infinity", null],
  },
  bool: {
    number: [1, 0, null],
    string: ["true", "false", null],
    text: ["true", "false", null],
    json: [true, false, null],
  },
  file: {
    string: ["1,22", "", null],
    text: ["1,22", "", null],
    json: [[1, 22], null, null],
  },
  json: {
    number: [null, 5, 1, 7, null, null, null],
    string: ['{"a": 1}', "5", "true", "7", "2024-05-01", null, null],
    text: ['{"a": 1}', "5", "true", "7", "2024-05-01", null, null],
    datetime: [null, null, null, null, "2024-05-01T00:00:00+00:00", null, null],
    bool: [null, true, true, null, null, null, null],
  },
};

interface Made extends StructureTarget {
  /** Name of the physical column. */
  readonly physical: string;
  readonly table: string;
}

/** A layer with one object for each value. */
async function filled(type: ColumnType, values: readonly string[], localizedValue = false): Promise<Made> {
  const layerId = (await createLayer(db, mapId, {})).id;
  const [column] = await addColumns(db, layerId, [
    { code: "a", type: type as Exclude<ColumnType, "geom">, localizedValue },
    { code: "other", type: "string" },
  ]);
  const table = `layers.l${layerId}`;
  const other = `c${column!.id + 1}`;
  for (const value of values) {
    await db.execute(
      type === "title"
        ? `insert into ${table} (${other}) values ('kept')`
        : `insert into ${table} (${column!.physical}, ${other}, geom) values (${value}, 'kept', 'SRID=4326;POINT(1 2)')`,
    );
  }
  return { mapId, layerId, mainLanguage: "en", physical: column!.physical, table };
}
const valuesOf = async ({ physical, table }: Made): Promise<unknown[]> =>
  (await db.query<{ v: unknown }>(`select to_jsonb(${physical}) as v from ${table} order by svc_id`)).map(
    (row) => row.v,
  );
const untouched = async ({ table, layerId }: Made): Promise<boolean> =>
  (
    await db.query<{ ok: boolean }>(
      `select bool_and(t.other = 'kept') and (select count(*) from layer_column where layer_id = $1) = 4 as ok
       from (select to_jsonb(l) ->> ('c' || (select id from layer_column where layer_id = $1 and code = 'other')) as other
         from ${table} l) t`,
      [layerId],
    )
  )[0]!.ok;

for (const from of valueTypes) {
  t.test(`values of a ${from} column become values of every other type, or null`, async (t) => {
    for (const to of valueTypes) {
      const made = await filled(from, samples[from]);
      const before = await valuesOf(made);
      await changeColumn(db, made, "a", { type: to });
      const textual = (type: ValueType) => type === "string" || type === "text";
      const same = from === to || (textual(from) && textual(to));
      t.strictSame(
        await valuesOf(made),
        same ? before : (expected[from][to] ?? samples[from].map(() => null)),
        `${from} to ${to}`,
      );
      t.ok(await untouched(made));
    }
  });

  t.test(`localised values of a ${from} column convert in each language`, async (t) => {
    for (const to of valueTypes) {
      const plain = await filled(from, samples[from]);
      await changeColumn(db, plain, "a", { type: to });
      const made = await filled(from, samples[from]);
      await changeColumn(db, made, "a", { type: from, localizedValue: true });
      await changeColumn(db, made, "a", { type: to });
      for (const value of await valuesOf(made))
        t.ok(
          value === null || Object.keys(value as object).join() === "en",
          "values are in the main language",
        );
      await changeColumn(db, made, "a", { type: to, localizedValue: false });
      // In languages there are no empty texts and no moments without end.
      const shown = (values: unknown[]) =>
        values.map((value) => (value === "" || value === "infinity" ? null : value));
      if (from !== to)
        t.strictSame(shown(await valuesOf(made)), shown(await valuesOf(plain)), `${from} to ${to}`);
      t.ok(await untouched(made));
    }
  });

  t.test(`a ${from} column that becomes a title loses its values, and back it is empty`, async (t) => {
    const made = await filled(from, samples[from]);
    await changeColumn(db, made, "a", { type: "title" });
    await t.rejects(valuesOf(made), "the physical column is gone");
    await changeColumn(db, made, "a", { type: from });
    t.ok((await valuesOf(made)).every((value) => value === null));
    t.ok(await untouched(made));
  });

  t.test(`a ${from} column cannot become geometry`, async (t) => {
    const made = await filled(from, []);
    await t.rejects(changeColumn(db, made, "a", { type: "geom" }), { code: "invalid_value" });
    await t.rejects(changeColumn(db, made, "geom", { type: from }), { code: "invalid_value" });
  });
}

t.test("titles and geometry stay, or refuse", async (t) => {
  const made = await filled("title", ["null"]);
  await changeColumn(db, made, "a", { type: "title" });
  await t.rejects(changeColumn(db, made, "a", { type: "geom" }), { code: "invalid_value" });
  await t.rejects(changeColumn(db, made, "geom", { type: "title" }), { code: "invalid_value" });
  await changeColumn(db, made, "geom", { type: "geom" });
});

t.test("languages that cannot be converted go, the others stay", async (t) => {
  const made = await filled("string", [`'{"en": "5", "ru": "пять"}'`, `'{"ru": "семь"}'`], true);
  await changeColumn(db, made, "a", { type: "number" });
  t.strictSame(await valuesOf(made), [{ en: 5 }, null]);
});

t.test("damage by other SQL clients does not stop a conversion", async (t) => {
  const made = await filled("number", [`'{"en": "x", "ru": [1]}'`, `'[1]'`, `'5'`], true);
  await changeColumn(db, made, "a", { type: "number", localizedValue: false });
  t.strictSame(await valuesOf(made), [null, null, null]);
});

t.test("readers that hold the table delay a change, and are not cut off", async (t) => {
  const made = await filled("string", ["'1'"]);
  const reader = await db.dedicated();
  await reader.query("begin");
  await reader.query(`select * from ${made.table}`);
  const changing = changeColumn(db, made, "a", { type: "number" });
  await new Promise((resolve) => setTimeout(resolve, 300));
  await reader.query(`select * from ${made.table}`);
  await reader.query("commit");
  await reader.end();
  await changing;
  t.strictSame(await valuesOf(made), [1]);
});
