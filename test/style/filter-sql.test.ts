import { createRequire } from "node:module";
import pg from "pg";
import t from "tap";
import { filterToSql, type SqlColumn } from "../../src/style/filter-sql.js";
import { freshDatabase } from "../support/database.js";

/** The same rows are asked of Mapnik's own expressions and of PostgreSQL. */

interface Feature {
  id(): number;
}
const mapnik = createRequire(import.meta.url)("mapnik") as {
  Feature: { fromJSON(json: string): Feature };
  Expression: new (text: string) => { evaluate(feature: Feature): unknown };
};

type Row = { n: number | null; s: string | null; b: boolean | null };
const numbers = [null, -1.5, 0, 0.1, 5, 1e15];
const texts = [
  null,
  "",
  "x",
  "5",
  "he's",
  'say "да"',
  "back\\slash",
  "a!bbox!",
  "null",
  "true",
  "Москва",
  "%_",
];
const booleans = [null, true, false];
const rows: Row[] = [
  ...numbers.map((n) => ({ n, s: "x", b: true })),
  ...texts.map((s) => ({ n: 5, s, b: false })),
  ...booleans.map((b) => ({ n: null, s: null, b })),
];

const columns: Record<string, SqlColumn> = {
  n: { sql: "n", type: "number" },
  s: { sql: "s", type: "text" },
  b: { sql: "b", type: "bool" },
  o: { sql: "o", type: "other" },
};
const toSql = (filter: string) =>
  filterToSql(filter, (code) => (Object.hasOwn(columns, code) ? columns[code] : undefined));

const quote = (text: string) => `'${text.replace(/[\\']/g, (character) => `\\${character}`)}'`;
const atoms = [
  ...["=", "!=", "<", "<=", ">", ">="].flatMap((operator) =>
    ["0", "5", "0.1", "-1.5", "1e3"].flatMap((value) => [
      `[n] ${operator} ${value}`,
      `${value} ${operator} [n]`,
    ]),
  ),
  ...["=", "!="].flatMap((operator) => [
    ...texts.filter((text) => text !== null).map((text) => `[s] ${operator} ${quote(text)}`),
    ...["n", "s", "b"].map((code) => `[${code}] ${operator} null`),
    `[b] ${operator} true`,
    `[b] ${operator} false`,
    `[s] ${operator} 5`,
  ]),
  "[b]",
  "true",
  "false",
];
/** Combinations that are the same in each run. */
const combined = atoms.flatMap((atom, index) => {
  const other = atoms[(index * 7 + 3) % atoms.length];
  const third = atoms[(index * 13 + 5) % atoms.length];
  return [`not (${atom})`, `(${atom}) and (${other})`, `(${atom}) or not ((${other}) and (${third}))`];
});

t.test("a filter selects the same rows in PostgreSQL as in Mapnik", async (t) => {
  const database = await freshDatabase({ bare: true });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  t.teardown(async () => {
    await client.end();
    await database.drop();
  });
  await client.query("create table rows (id int, n double precision, s text, b boolean)");
  await client.query(
    "insert into rows select * from json_to_recordset($1) as r(id int, n double precision, s text, b boolean)",
    [JSON.stringify(rows.map((row, id) => ({ id, ...row })))],
  );
  const features = rows.map((properties) =>
    mapnik.Feature.fromJSON(
      JSON.stringify({ type: "Feature", geometry: { type: "Point", coordinates: [0, 0] }, properties }),
    ),
  );
  for (const filter of [...atoms, ...combined]) {
    const sql = toSql(filter);
    if (sql === undefined) throw new Error(`not translated: ${filter}`);
    const { rows: found } = await client.query<{ id: number; result: boolean | null }>(
      `select id, ${sql} as result from rows order by id`,
    );
    const expression = new mapnik.Expression(filter);
    t.same(
      found.map(({ result }) => result),
      // A column by itself gives its value: Mapnik's filters take null for false.
      features.map((feature) => expression.evaluate(feature) === true),
      filter,
    );
  }
});

t.test("what SQL would answer otherwise is not translated", async (t) => {
  const filters = [
    "[s] < 'x'",
    "[n] = 'x'",
    "[b] > 0",
    "[b] = 1",
    "[o] = 1",
    "[missing] = 1",
    "[n] = [s]",
    "[n] + 1 = 2",
    "[n]",
    "5",
    "[mapnik::geometry_type] = polygon",
    "[s].match('a')",
    "[n] = 1 and [o] = 1",
    "not",
    "",
  ];
  for (const filter of filters) t.equal(toSql(filter), undefined, filter);
});

t.test("names that Mapnik replaces in queries do not stand in the SQL", async (t) => {
  t.equal(toSql("[s] = '!bbox!'"), "coalesce(s = ('' || chr(33) || 'bbox' || chr(33) || ''), false)");
});
