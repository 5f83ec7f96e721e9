import fc from "fast-check";
import t from "tap";
import type { Column } from "../../src/catalog/state.js";
import { columnFormatter, objectFormatter } from "../../src/features/format.js";
import { readFormat } from "../../src/features/format-settings.js";

/** Values as text by their column's format. */

const column = (type: Column["type"], format: object | null): Column => ({
  id: 7,
  code: "a",
  physical: "c7",
  type,
  name: "",
  localized: false,
  names: {},
  required: false,
  localizedValue: false,
  sort: 1,
  parentId: null,
  format: format && { ...readFormat(format, type) },
});
const shown = (type: Column["type"], format: object | null, value: unknown, own = "en"): unknown => {
  const formatter = columnFormatter(column(type, format), { own, main: "en" });
  return formatter ? formatter(value) : value;
};

t.test("numbers", async (t) => {
  const cases: [object | null, unknown, string, unknown][] = [
    [null, 0.1, "en", "0.1"],
    [null, 1e21, "en", "1,000,000,000,000,000,000,000"],
    [null, 9007199254740991, "de", "9.007.199.254.740.991"],
    [null, 1e-7, "en", "0.0000001"],
    [{ kind: "number", decimals: 0 }, 1234.5, "en", "1,235"],
    [{ kind: "number", decimals: 1 }, -0.04, "en", "0.0"],
    [{ kind: "number", decimals: 2, suffix: "%" }, 5, "ru", "5,00%"],
    [{ kind: "number", grouping: false }, 1234567, "ru", "1234567"],
    [{ kind: "number" }, null, "en", null],
    [{ kind: "number" }, "12", "en", "12"],
    [{ kind: "number", prefix: { ru: "р. " } }, 1, "en", "р. 1"],
  ];
  for (const [format, value, language, text] of cases)
    t.equal(shown("number", format, value, language), text, JSON.stringify([format, value]));
});

t.test("moments", async (t) => {
  const cases: [string, string][] = [
    ["yyyy-MM-dd", "2024-01-09"],
    ["d.M.yy", "9.1.24"],
    ["HH:mm:ss.SSS", "00:05:07.120"],
    ["h:mm a", "12:05 AM"],
    ["hh 'o''clock'", "12 o'clock"],
    ["'day' d", "day 9"],
    ["H''m", "0'5"],
    ["MMM d, yyyy", "Jan 9, 2024"],
    ["EEE", "Tue"],
  ];
  for (const [pattern, text] of cases)
    t.equal(shown("datetime", { kind: "datetime", pattern }, "2024-01-09T00:05:07.12Z"), text, pattern);
  t.equal(shown("datetime", { kind: "datetime", pattern: "yyyy" }, "infinity"), "infinity");
  t.equal(shown("datetime", null, "2024-01-09T00:05:07Z"), "2024-01-09T00:05:07Z");
});

t.test("truth", async (t) => {
  t.equal(shown("bool", null, true), "true");
  t.equal(shown("bool", { kind: "bool", true: { en: "yes", ru: "да" } }, true, "ru"), "да");
  t.equal(shown("bool", { kind: "bool", true: "yes" }, false), "false");
  t.equal(shown("bool", null, null), null);
});

t.test("a format that a changed type has left behind is passed over", async (t) => {
  const left = { ...column("bool", null), format: { kind: "number", decimals: 2 } };
  t.equal(columnFormatter(left, { own: "en", main: "en" })?.(true), "true");
});

t.test("values are found in an object's text whatever they hold, and the rest stays as it is", async (t) => {
  const columns = [column("number", null), { ...column("bool", null), code: 'b"}{,' }];
  const languages = { own: "en", main: "en" };
  const format = objectFormatter(columns, languages);
  const geometry = '{"type":"Point","coordinates":[1.10,2E1]}';
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('"}{', "\\", ',"fields":{', ',"properties":{', '\\"}'),
  );
  const values = fc.record({
    other: value,
    a: fc.oneof(fc.double(), value),
    'b"}{,': fc.boolean(),
    last: value,
  });
  fc.assert(
    fc.property(values, (made) => {
      for (const [before, after] of [
        ['{"id":1,"fields":', `,"geom":${geometry},"bbox":null}`],
        ['{"id":1,"fields":', "}"],
        [`{"type":"Feature","id":1,"bbox":null,"geometry":${geometry},"properties":`, "}"],
      ] as const) {
        const text = before + JSON.stringify(made) + after;
        const formatted = format(text);
        t.ok(formatted.startsWith(before) && formatted.endsWith(after));
        const expected = JSON.parse(text);
        const fields = expected.fields ?? expected.properties;
        for (const one of columns) fields[one.code] = columnFormatter(one, languages)?.(fields[one.code]);
        t.strictSame(JSON.parse(formatted), JSON.parse(JSON.stringify(expected)));
      }
    }),
    { numRuns: 200 },
  );
  for (const text of ['{"id":1}', `{"id":1,"geom":${geometry}}`]) t.equal(format(text), text);
});
