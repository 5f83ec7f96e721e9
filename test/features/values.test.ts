import t from "tap";
import type { Column } from "../../src/catalog/state.js";
import type { ColumnType } from "../../src/column-types/column-types.js";
import { readDatetime } from "../../src/column-types/iso-8601.js";
import { readComparison, readValue } from "../../src/features/values.js";

const column = (type: ColumnType, localizedValue = false): Column => ({
  id: 7,
  code: "c",
  physical: "c7",
  type,
  name: "",
  localized: false,
  names: {},
  localizedValue,
  required: false,
  sort: 1,
  parentId: null,
  format: null,
});

t.test("moments are read by ISO 8601 and become UTC", async (t) => {
  const cases: [string, string | undefined][] = [
    ["2024-05-01", "2024-05-01T00:00:00Z"],
    ["2024-05-01T12:00", "2024-05-01T12:00:00Z"],
    ["2024-05-01 12:00:01", "2024-05-01T12:00:01Z"],
    ["2024-05-01T12:00:00Z", "2024-05-01T12:00:00Z"],
    ["2024-05-01T12:00:00.500Z", "2024-05-01T12:00:00.5Z"],
    ["2024-05-01T12:00:00.1234567+02:00", "2024-05-01T10:00:00.123456Z"],
    ["2024-05-01T00:30:00+0530", "2024-04-30T19:00:00Z"],
    ["2024-02-29T00:00:00-12", "2024-02-29T12:00:00Z"],
    ["0050-01-01", "0050-01-01T00:00:00Z"],
    ["2023-02-29", undefined],
    ["2024-13-01", undefined],
    ["2024-00-10", undefined],
    ["2024-05-01T24:00:00", undefined],
    ["2024-05-01T12:60", undefined],
    ["2024-05-01T12:00:00+25:00", undefined],
    ["0001-01-01T00:00:00+01:00", undefined],
    ["9999-12-31T23:59:59-01:00", undefined],
    ["now", undefined],
    ["infinity", undefined],
    ["20240501", undefined],
    ["2024-05-01T12:00:00Z; drop table x", undefined],
  ];
  for (const [given, expected] of cases) t.equal(readDatetime(given), expected, given);
});

t.test("values are taken or refused by the column's type", async (t) => {
  const taken: [ColumnType, unknown, unknown][] = [
    ["number", 1.5, 1.5],
    ["number", " -2e3 ", -2000],
    ["number", "", null],
    ["number", null, null],
    ["string", "", ""],
    ["string", 12, "12"],
    ["text", "a\u{1F600}b", "a\u{1F600}b"],
    ["bool", "0", false],
    ["bool", true, true],
    ["bool", "", null],
    ["datetime", "2024-05-01", "2024-05-01T00:00:00Z"],
    ["datetime", "", null],
    ["json", { a: [1] }, '{"a":[1]}'],
    ["json", "", '""'],
    ["file", "", null],
    ["file", [], null],
    ["file", "3, 4,3", [3, 4]],
  ];
  for (const [type, given, expected] of taken) {
    t.match(
      readValue(column(type), given),
      { ok: true, bound: expected },
      `${type} ${JSON.stringify(given)}`,
    );
  }
  let deep: unknown = 1;
  for (let depth = 0; depth < 200; depth++) deep = [deep];
  const refused: [ColumnType, unknown][] = [
    ["number", "1,5"],
    ["number", "0x10"],
    ["number", "1e999"],
    ["number", Number.NaN],
    ["number", Number.POSITIVE_INFINITY],
    ["number", 2 ** 53],
    ["number", "9007199254740993"],
    ["number", true],
    ["number", [1]],
    ["string", {}],
    ["string", true],
    ["string", "a\0b"],
    ["text", "half \ud800"],
    ["bool", "yes"],
    ["bool", 2],
    ["datetime", "tomorrow"],
    ["datetime", 1714560000],
    ["json", deep],
    ["json", { key: "\0" }],
    ["json", { "\udc00": 1 }],
    ["json", "x".repeat(5_000_000)],
    ["file", "1,x"],
    ["file", "../x"],
  ];
  for (const [type, given] of refused) {
    t.match(readValue(column(type), given), { ok: false }, `${type} ${JSON.stringify(given)?.slice(0, 40)}`);
  }
});

t.test("a filter's text that is no value of the column equals none", async (t) => {
  for (const [type, given] of [
    ["number", "' OR 1=1--"],
    ["number", "pg_sleep(9)"],
    ["datetime", "yesterday"],
    ["bool", "maybe"],
    ["json", "{"],
    ["json", "[".repeat(100_000)],
    ["file", "a"],
    ["string", "\0"],
    ["string", "\ud800"],
  ] as const) {
    t.equal(readComparison(column(type), given), undefined, `${type} ${given.slice(0, 20)}`);
  }
  t.match(readComparison(column("file"), "3, 4"), { value: [3, 4] });
  t.match(readComparison(column("bool", true), "true"), { value: "true" });
});
