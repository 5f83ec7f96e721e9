import pg from "pg";
import t from "tap";
import { addColumns } from "../../src/catalog/columns.js";
import { layerTable } from "../../src/catalog/layer-table.js";
import { loadMap, loadProject } from "../../src/catalog/load.js";
import type { Column } from "../../src/catalog/state.js";
import type { Failure } from "../../src/errors.js";
import { filterSql, requireExpressions } from "../../src/features/filter-language.js";
import { parseFilter } from "../../src/features/filter-parser.js";
import { Constants, Values } from "../../src/features/sql.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { makeLayer } from "../support/layers.js";
import { quietLog } from "../support/log.js";

const database = await freshDatabase();
const db = openDatabase({ ...database.at, connections: 2, statementTimeoutMs: 30_000, log: quietLog });
t.teardown(async () => {
  await db.close();
  await database.drop();
});

const client = new pg.Client({ connectionString: database.url });
await client.connect();
await client.query("set search_path = mapwright, public");
const { layerId } = await makeLayer(client, "p");
await client.end();
const types = {
  name: "string",
  note: "text",
  size: "number",
  born: "datetime",
  open: "bool",
  files: "file",
} as const;
await db.transaction((tx) =>
  addColumns(tx, layerId, [
    ...Object.entries(types).map(([code, type]) => ({ code, type })),
    { code: "in", type: "number" },
    { code: "title", type: "title" },
    { code: "place", type: "string", localizedValue: true },
    { code: "rank", type: "number", localizedValue: true },
    { code: "since", type: "datetime", localizedValue: true },
  ]),
);
const project = await loadProject(db, "p");
const columns = (await loadMap(db, project!, "m"))!.layers.get("l")!.columns;
const physical = (code: string) => columns.find((column: Column) => column.code === code)!.physical;

// 1: Oslo, 2: O'Brien, 3: nothing but a name, 4: all null
await db.execute(
  `insert into ${layerTable(layerId)} (${["name", "note", "size", "born", "open", "in", "place", "rank", "since"].map(physical).join(", ")}, geom)
   values ('Oslo', 'north', 12.5, '2020-01-01T00:00:00Z', true, 1, '{"en":"Harbour","ru":"Порт"}', '{"en":7}', '{"en":"2020-01-01T12:00:00Z"}', 'SRID=4326;POINT(10 60)'),
     ('O''Brien', '50% \\ _', -3, '2021-06-01T12:00:00+02', false, 2, '{"ru":"Лес"}', null, '{"en":"2020-02-01T00:00:00.5Z"}', null),
     ('x', '', 0, null, null, null, null, null, null, null),
     (null, null, null, null, null, null, null, null, null, null)`,
);

async function ids(filter: string, values = new Values()): Promise<number[]> {
  const context = { columns, language: "en", values };
  const sql = filterSql(filter, context);
  const rows = await db.query<{ id: number }>(
    `select svc_id as id from ${layerTable(layerId)} where ${sql} order by 1`,
    values.list,
  );
  return rows.map((row) => row.id);
}

const cases: Readonly<Record<string, number[]>> = {
  "name = 'Oslo'": [1],
  "'Oslo' = name": [1],
  "name <> 'Oslo'": [2, 3],
  "name != 'Oslo'": [2, 3],
  "not name = 'Oslo'": [2, 3],
  "name = 'O''Brien'": [2],
  "size > -3 and size <= 12.5": [1, 3],
  "5 < size": [1],
  "size = -3e0": [2],
  "size in (0, -3)": [2, 3],
  "size not in (0, -3)": [1],
  "name in ('Oslo', 'x') AND NOT (size = 0 Or size is null)": [1],
  "name like 'O%'": [1, 2],
  "name not like 'O%'": [3],
  "note like '50\\% %'": [2],
  "note = ''": [3],
  "name matches '[A-Z].*o'": [1],
  "name MATCHES 'O''B.*|x'": [2, 3],
  "name matches 'sl'": [],
  "name not matches 'O.*'": [3],
  "not name matches 'O.*'": [3],
  "note matches '\\d+% \\\\ _'": [2],
  "place matches 'Har.+'": [1],
  "born is null": [3, 4],
  "born is not null": [1, 2],
  "born < '2020-06-01'": [1],
  "born = '2021-06-01T10:00:00Z'": [2],
  "open = true": [1],
  "open = false": [2],
  "not (open = true)": [2],
  '"in" = 2': [2],
  "geom is not null": [1],
  "files is null": [1, 2, 3, 4],
  "svc_id >= 3": [3, 4],
  "svc_id in (1, 4)": [1, 4],
  'size > "in"': [1],
  "name = note": [],
  "place = 'Harbour'": [1],
  "place = 'Лес'": [],
  "place is null": [2, 3, 4],
  "rank = 7": [1],
  "rank < 7": [],
  "rank < 7.5 or rank > 100": [1],
  "7 <= rank": [1],
  "rank >= rank": [1],
  "since < '2020-02-01'": [1],
  "since > '2020-01-01T12:00:00Z'": [2],
  "rank is null": [2, 3, 4],
  "(((name = 'x')))": [3],
  "name = 'a' or name = 'Oslo' and size = 0": [],
  "name = 'Oslo' or name = 'a' and size = 0": [1],
};

t.test("filters select the objects that they describe, with bound values and as constants", async (t) => {
  for (const [filter, wanted] of Object.entries(cases)) {
    t.same(await ids(filter), wanted, filter);
    t.same(await ids(filter, new Constants()), wanted, `${filter} as constants`);
  }
});

t.test("what could be read as SQL stays a value", async (t) => {
  for (const text of ["' or 1=1 --", "\\'; drop table x; --", "$2", "%s", "!bbox!", "'/**/"]) {
    const filter = `name = '${text.replaceAll("'", "''")}'`;
    t.same(await ids(filter), [], filter);
    t.same(await ids(filter, new Constants()), [], `${filter} as constants`);
    const bound = new Values();
    t.notOk(filterSql(filter, { columns, language: "en", values: bound }).includes(text));
    t.same(bound.list, [text]);
  }
});

function refusal(filter: string): Partial<Failure> {
  try {
    filterSql(filter, { columns, language: "en", values: new Values() });
  } catch (error) {
    return error as Failure;
  }
  return {};
}

t.test("what is no filter is refused with the place of its flaw", async (t) => {
  const flaws: Readonly<Record<string, number>> = {
    "": 1,
    name: 5,
    "name =": 7,
    "name = 'a": 8,
    "name = null": 8,
    "name = 'a' 'b'": 12,
    "(name = 'a'": 12,
    "name = 'a')": 11,
    "name in ()": 10,
    "name not 'a'": 10,
    "name is 'a'": 9,
    "1 = 1": 5,
    "name = 'a' and": 15,
    "name = 12abc": 8,
    "name like 'a\\'": 11,
    "name matches 5": 14,
    "name matches ''": 14,
    "name not": 9,
    "matches = 1": 1,
    "name = 'a'; drop table x": 11,
    "pg_sleep(10) = 1": 9,
    'name = "a b"': 8,
    "size = 1e999": 8,
    "name == 'a' # x": 13,
    "name = 'a\0'": 8,
  };
  for (const [filter, position] of Object.entries(flaws))
    t.match(refusal(filter), { code: "invalid_value", data: { position } }, filter);
});

t.test("values and columns have to fit each other", async (t) => {
  for (const filter of [
    "size = 'many'",
    "size = true",
    "open = 1",
    "open < true",
    "born = 'yesterday'",
    "svc_id = 1.5",
    "svc_id = 'a'",
    "size like '1%'",
    "size matches '1'",
    "rank matches '7'",
    "files = 1",
    "geom = 'x'",
    "name = size",
    "place = name",
    "size = ''",
  ])
    t.match(refusal(filter), { code: "invalid_value", data: { columns: Object } }, filter);
  for (const filter of ["nothing = 1", "title = 'x'", "title is null", "Name = 'x'", "constructor = 1"])
    t.match(refusal(filter), { code: "unknown_column" }, filter);
});

t.test("filters have bounds", async (t) => {
  const flat = (count: number) => Array.from({ length: count }, () => "size=1").join(" or ");
  t.ok(parseFilter(flat(500)));
  t.match(refusal(flat(501)), { code: "invalid_value" });
  t.ok(parseFilter(`${"(".repeat(50)}size=1${")".repeat(50)}`));
  t.match(refusal(`${"(".repeat(51)}size=1${")".repeat(51)}`), { code: "invalid_value" });
  t.match(refusal(`${"not ".repeat(2_000)}size=1`), { code: "invalid_value" });
  t.match(refusal("(".repeat(10_000)), { code: "invalid_value" });
  t.match(refusal(`name = '${"x".repeat(100_000)}'`), { code: "invalid_value" });
  t.match(refusal(`name like '${"%".repeat(201)}'`), { code: "invalid_value" });
  t.match(refusal(`name matches '${"x".repeat(1_001)}'`), { code: "invalid_value" });
  const expressions = (count: number, different: number) =>
    Array.from({ length: count }, (_, i) => `name matches '${i % different}'`).join(" or ");
  t.ok(parseFilter(expressions(100, 20)));
  t.match(refusal(expressions(21, 21)), { code: "invalid_value" });
  t.match(refusal(`size in (${Array.from({ length: 1_001 }, () => 1).join(",")})`), {
    code: "invalid_value",
  });
  t.same((await ids(flat(500))).length, 0);
});

t.test("regular expressions are kept only when PostgreSQL can compile them in time", async (t) => {
  for (const good of ["size = 1", "name matches 'a+'", "name matches '(?=a).|(b)c|[[:alpha:]]'"])
    await t.resolves(requireExpressions(db, good), good);
  for (const bad of [
    "(",
    "a)(b",
    "[z-a]",
    "a{2,1}",
    "*",
    "((a{1,100}){1,100}){1,100}",
    "\\",
    "***=a",
    "(?i)a",
  ])
    await t.rejects(
      requireExpressions(db, `size = 1 or not (name matches '${bad}')`),
      { code: "invalid_value", data: { parameter: "filter" } },
      bad,
    );
  t.same(await db.query("select 1 as one"), [{ one: 1 }], "the connection is whole");
});

t.test("regular expressions whose time may know no bounds are no part of a filter", (t) => {
  for (const fit of ["a\\\\1", "(?=a)b", "\\d{1,9}", "(?<!a)b", "[\\\\1]"])
    t.ok(parseFilter(`name matches '${fit}'`), fit);
  for (const unfit of [
    "(a)\\1",
    "(a)\\\\\\1",
    "(?#[)(a)\\1]",
    "(?=(?!a)b)c",
    "(?=[\\])](?<=x))c",
    "((?<!(?<=a)b)c)*",
  ])
    t.match(
      refusal(`size = 1 or name matches '${unfit}'`),
      { code: "invalid_value", data: { position: 26 } },
      unfit,
    );
  t.end();
});

t.test("a regular expression that never ends is ended by the statement timeout", async (t) => {
  const hasty = openDatabase({ ...database.at, connections: 1, statementTimeoutMs: 300, log: quietLog });
  t.teardown(() => hasty.close());
  await db.execute(
    `insert into ${layerTable(layerId)} (${physical("name")})
       select repeat('a', 60000) || 'c' from generate_series(1, 100)`,
  );
  const filter = "name matches '((?=.*x).|a)*[ab]{250}'";
  await requireExpressions(db, filter);
  const values = new Values();
  const sql = filterSql(filter, { columns, language: "en", values });
  await t.rejects(hasty.query(`select 1 from ${layerTable(layerId)} where ${sql}`, values.list), {
    code: "57014",
  });
});

t.test(
  "an expression with a lookaround sees the first 10,000 characters of a value, others all",
  async (t) => {
    const rows = await db.query<{ svc_id: string }>(
      `insert into ${layerTable(layerId)} (${physical("note")}) values (repeat('x', 10000) || 'y'), (repeat('x', 9999) || 'y')
     returning svc_id`,
    );
    const [long, short] = rows.map(({ svc_id }) => Number(svc_id));
    t.same(await ids("note matches 'x+(?!y)'"), [long]);
    t.same(await ids("note matches 'x*(?=y).'"), [short]);
    t.same(await ids("note matches 'x*y'"), [long, short]);
    await db.execute(`delete from ${layerTable(layerId)} where svc_id = any($1)`, [[long, short]]);
  },
);
