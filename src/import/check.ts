import { layerTable } from "../catalog/layer-table.js";
import type { BadRow } from "../hosts/import-messages.js";
import type { Queryable } from "../storage/postgres.js";
import { type BadRows, reportedRows } from "./bad-rows.js";
import { fitsSql, type Staged } from "./convert.js";
import type { Matched } from "./match.js";
import { idSql, type ObjectMatch, stagedRows } from "./object-match.js";

/**
 * Checks of the staged rows before the import writes to the layer. Rows that fail are counted and deleted from the staging
 * table, so that later checks and the write can convert all values that remain.
 */

/** Where the rows are staged, and where bad ones are reported. */
export interface Checking {
  readonly tx: Queryable;
  readonly staging: string;
  readonly bad: BadRows;
}

/** What is said of a row that fails a test. `value` is the shown part of its text, "" if the test has none. */
interface Told {
  readonly code: BadRow["code"];
  readonly reason: (value: string) => string;
  readonly data?: (value: string) => Readonly<Record<string, unknown>>;
}

/** A test of the staged row `s`. */
interface RowTest extends Told {
  /** SQL that is true for a row that fails. */
  readonly fails: string;
  /** SQL of the text that is shown. */
  readonly shown?: string;
}

/** A query for rows that fail: `row`, `test` (index, from 0) and `value` (text). */
interface FailingRows {
  readonly select: string;
  readonly values?: readonly unknown[];
  readonly tests: readonly Told[];
}

/** At most 15 digits, well below 2^53, so that ids of later objects are exact as doubles too. */
const idPattern = "^0*[1-9]\\d{0,14}(\\.0+)?$";
const shownLength = 80;

/** Reports the rows and deletes them. */
export async function takeOut(
  { tx, staging, bad }: Checking,
  { select, values = [], tests }: FailingRows,
): Promise<void> {
  const found = await tx.query<{ row: number; test: number; value: string | null; total: number }>(
    `select row, test, value, count(*) over () as total from (${select}) failing order by row limit ${reportedRows}`,
    values,
  );
  if (found.length === 0) return;
  bad.add(
    found[0]!.total,
    found.map(({ row, test, value }) => {
      const { code, reason, data } = tests[test]!;
      return { row, code, reason: reason(value ?? ""), ...(data && { data: data(value ?? "") }) };
    }),
  );
  await tx.execute(
    `delete from staging.${staging} where row in (select row from (${select}) failing)`,
    values,
  );
}

/**
 * Checks each row by itself: values that fit their columns, coordinates on the earth, ids that are positive whole numbers.
 * All tests are one pass over the table.
 * @param idIndex index of the property with object ids
 */
export async function checkRows(
  checking: Checking,
  columns: readonly Staged[],
  idIndex: number | undefined,
): Promise<void> {
  const tests = [
    outsideTest,
    ...columns.flatMap(valueTest),
    ...(idIndex === undefined ? [] : [idTest(`s.p${idIndex}`)]),
  ];
  const cases = tests.map(({ fails, shown }, test) => {
    const value = shown === undefined ? "null" : `left(${shown}, ${shownLength})`;
    return `when ${fails} then array['${test}', ${value}]`;
  });
  const select = `select row, found[1]::int as test, found[2] as value
    from (select s.row, case ${cases.join(" ")} end as found from ${stagedRows(checking.staging)} offset 0) tested
    where found is not null`;
  await takeOut(checking, { select, tests });
}

/**
 * Coordinates beyond longitude ±360 and latitude ±90 usually come from a wrong `srs`. Compares the cached bounding boxes of
 * PostGIS, which are rounded outwards to single precision.
 */
const outsideTest: RowTest = {
  fails: "not s.geom @ st_makeenvelope(-360.001, -90.001, 360.001, 90.001, 4326) and not st_isempty(s.geom)",
  code: "invalid_geometry",
  reason: () => "it lies outside longitude -360 to 360 and latitude -90 to 90. Does srs match the file?",
};

function valueTest(staged: Staged): RowTest[] {
  const fits = fitsSql(staged);
  if (fits === undefined) return [];
  const { code, type } = staged.column;
  const text = `s.p${staged.index}`;
  return [
    {
      fails: `${text} is not null and not (${fits})`,
      shown: text,
      code: "import_failed",
      reason: (value) => `"${value}" is not a value of type ${type} for column ${code}.`,
      data: (value) => ({ column: code, value }),
    },
  ];
}

const ofId = (reason: string): Told => ({
  code: "import_failed",
  reason: (value) => `the svc_id "${value}" ${reason}.`,
  data: (value) => ({ column: "svc_id", value }),
});

const idTest = (text: string): RowTest => ({
  ...ofId("is not a positive whole number"),
  fails: `${text} is not null and ${text} !~ '${idPattern}'`,
  shown: text,
});

/**
 * Checks that object ids do not occur twice; the first of several rows is the good one. Called after `checkRows`.
 * @returns the highest id; 0 when there is none
 */
export async function checkIds(checking: Checking, index: number): Promise<number> {
  await checkUnique(checking, stagedRows(checking.staging), {
    value: idSql(index),
    shown: `s.p${index}`,
    told: ofId("occurs more than once"),
  });
  const [highest] = await checking.tx.query<{ id: number | null }>(
    `select max(${idSql(index)}) as id from ${stagedRows(checking.staging)}`,
  );
  return highest?.id ?? 0;
}

/**
 * Checks that a key names one object: no value occurs in two rows of the file or in two objects of the layer. Called after
 * `checkRows`.
 */
export async function checkKey(
  checking: Checking,
  match: ObjectMatch,
  { layerId, physical }: { readonly layerId: number; readonly physical: string },
): Promise<void> {
  const ofKey = (reason: string): Told => ({
    code: "import_failed",
    reason: (value) => `the value "${value}" of the key ${match.column} ${reason}.`,
    data: (value) => ({ column: match.column, value }),
  });
  await checkUnique(checking, stagedRows(checking.staging), {
    value: match.given,
    shown: match.name,
    told: ofKey("occurs more than once in the file"),
  });
  await takeOut(checking, {
    select: `select s.row, 0 as test, left(${match.name}, ${shownLength}) as value from ${stagedRows(checking.staging)}
      where ${match.given} in (select t.${physical} from ${layerTable(layerId)} t group by 1 having count(*) > 1)`,
    tests: [ofKey("belongs to more than one object of the layer")],
  });
}

interface Unique {
  readonly value: string;
  readonly shown: string;
  readonly told: Told;
}

async function checkUnique(checking: Checking, from: string, { value, shown, told }: Unique): Promise<void> {
  const repeated = `select ${value} as value from ${from} where ${value} is not null group by 1 having count(*) > 1`;
  // Usually there are none: finding that out takes no sort.
  const some = await checking.tx.query(`${repeated} limit 1`);
  if (some.length === 0) return;
  await takeOut(checking, {
    select: `select row, 0 as test, shown as value from (
        select s.row, left(${shown}, ${shownLength}) as shown,
          row_number() over (partition by ${value} order by s.row) as place
        from ${from} where ${value} in (${repeated})) placed
      where place > 1`,
    tests: [told],
  });
}

/**
 * Checks that the ids in file columns are files of the same object and column; a row with files must therefore name an
 * object. Called after the checks of values, ids and keys.
 */
export async function checkFiles(checking: Checking, { layerId, columns, match }: FileCheck): Promise<void> {
  for (const { column, index } of columns) {
    if (column.type !== "file") continue;
    const named =
      layerId === undefined ? "false" : `f.layer_id = ${layerId} and f.object_id = ${match?.id ?? "null"}`;
    await takeOut(checking, {
      select: `select s.row, 0 as test, left(s.p${index}, ${shownLength}) as value
        from ${match?.from ?? stagedRows(checking.staging)}
        where btrim(s.p${index}) <> '' and exists (
          select from unnest(string_to_array(btrim(s.p${index}), ',')::bigint[]) named(id)
          where not exists (select from file f where f.id = named.id and ${named} and f.column_id = ${column.id}))`,
      tests: [
        {
          code: "import_failed",
          reason: (value) => `"${value}" in column ${column.code} names files that the object does not have.`,
          data: (value) => ({ column: column.code, value }),
        },
      ],
    });
  }
}

/** Staged columns and their layer, for the check of file ids. */
export interface FileCheck {
  /** undefined = a new layer. */
  readonly layerId: number | undefined;
  readonly columns: readonly Matched[];
  readonly match: ObjectMatch | undefined;
}
