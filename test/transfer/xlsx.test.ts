import t from "tap";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { failureOf, importBench } from "../support/transfer.js";
import { rowsOf, type WorkbookParts, xlsxOf } from "../support/xlsx.js";
import { zipOf } from "../support/zip.js";

/** Import of workbooks. */

const bench = await importBench();
t.teardown(() => bench.stop());

async function imported(content: Buffer | string, extension = "xlsx") {
  const layer = await bench.layer();
  const result = await bench.import(layer, content, { extension });
  return { ...result, objects: await bench.objects(layer) };
}
const read = async (parts: WorkbookParts) => imported(await xlsxOf(parts));
/** Values of a sheet, without ids and geometry. */
const valuesOf = (objects: readonly Record<string, unknown>[]) =>
  objects.map(({ svc_id: _, geom: __, ...values }) => values);
const cell = (place: string, attributes: string, content: string) =>
  `<c r="${place}" ${attributes}>${content}</c>`;
const v = (value: string) => `<v>${value}</v>`;

t.test("a workbook of this kind is read also when its name ends in .xls", async (t) => {
  const workbook = await xlsxOf({ sheets: { a: rowsOf([["name"], ["oak"]]) } });
  t.same(valuesOf((await imported(workbook, "xls")).objects), [{ name: "oak" }]);
});

t.test("the first row has the names, and columns of coordinates are the geometry", async (t) => {
  const { objects, notes } = await read({
    sheets: {
      a: rowsOf([["Название", "lon", "lat", "n"], ["Дом", 37.5, 55.25, 0.1], [], ["б", null, null, -5]]),
    },
  });
  t.match(objects, [
    { n: 0.1, geom: "POINT(37.5 55.25)" },
    { n: -5, geom: null },
  ]);
  t.same(Object.values(objects[0]!)[1], "Дом");
  t.match(notes, [/"lon" \(east\) and "lat"/]);
  const wkt = await read({
    sheets: {
      a: rowsOf([
        ["a", "wkt"],
        ["=1+1", "LINESTRING (1 2, 3 4)"],
      ]),
    },
  });
  t.match(wkt.objects, [{ a: "=1+1", geom: "LINESTRING(1 2,3 4)" }]);
});

t.test("titles above the names of the columns are left out, with a note", async (t) => {
  const titled = await read({
    sheets: { a: rowsOf([["Отчёт за 2024 год"], ["по районам"], ["name", "n"], ["Дом", 5], ["б", null]]) },
  });
  t.same(valuesOf(titled.objects), [
    { name: "Дом", n: 5 },
    { name: "б", n: null },
  ]);
  t.match(titled.notes.join(), /below 2 rows of titles/);
  const single = await read({ sheets: { a: rowsOf([["name"], ["a"], ["b"]]) } });
  t.same(valuesOf(single.objects), [{ name: "a" }, { name: "b" }]);
  const long = await read({
    sheets: { a: rowsOf([["name"], ...Array.from({ length: 30 }, (_, n) => [`a${n}`])]) },
  });
  t.equal(long.objects.length, 30);
  const numbers = await read({ sheets: { a: rowsOf([["name"], ["a"], ["b", 5]]) } });
  t.same(valuesOf(numbers.objects), [
    { name: "a", column_2: null },
    { name: "b", column_2: 5 },
  ]);
});

t.test("cells of every type keep their value", async (t) => {
  const types = [
    cell("A2", 't="s"', v("0")),
    cell("B2", 't="s"', v("1")),
    cell("C2", 't="b"', v("1")),
    cell("D2", 't="str"', `<f>A1&amp;"x"</f>${v("_x0041__x005F_x0042_ y")}`),
    cell("E2", 't="e"', v("#N/A")),
    cell("F2", "", v("9007199254740993")),
    cell("G2", "", v("1.1000000000000001")),
    cell("H2", 't="d"', v("2020-01-02T03:04:05")),
    cell(
      "I2",
      't="inlineStr"',
      '<is><r><t>a</t></r><r><t xml:space="preserve"> b</t></r><rPh><t>no</t></rPh></is>',
    ),
    cell("J2", 't="str"', "<f>x</f><v></v>"),
    cell("K2", 't="inlineStr"', "<is><t/></is>"),
    "<c><v>12</v></c>",
  ];
  const { objects, notes } = await read({
    sheets: { a: rowsOf([[..."abcdefghijkl"], types]) },
    sharedStrings: "<si><t>007</t></si><si><r><t>ж</t></r><r><t>з</t></r><rPh><t>no</t></rPh></si>",
  });
  t.same(valuesOf(objects), [
    {
      a: "007",
      b: "жз",
      c: true,
      d: "A_x0042_ y",
      e: null,
      f: "9007199254740993",
      g: 1.1,
      h: "2020-01-02T03:04:05+00:00",
      i: "a b",
      j: null,
      k: "",
      l: 12,
    },
  ]);
  t.match(notes, [/1 cells of the sheet "a" have errors/, /No column has coordinates/]);
});

t.test("dates are told by the format of the cell", async (t) => {
  const formats = [
    "dd.mm.yyyy",
    'yyyy\\-mm\\-dd"T"hh:mm:ss.000',
    "[$-419]d mmm yy;@",
    "h:mm:ss AM/PM",
    '#,##0.00" дней"',
    "[Red]0.00E+00",
    "General",
    "mmmm",
  ];
  const dated = (style: number, value: string) => cell(`${"ABCDEFGH"[style - 1]}2`, `s="${style}"`, v(value));
  const row = [
    dated(1, "43831"),
    dated(2, "43831.123456789"),
    dated(3, "59"),
    dated(4, "0.75"),
    dated(5, "43831"),
    dated(6, "43831"),
    dated(7, "43831"),
    dated(8, "61"),
  ];
  const sheets = { a: rowsOf([[..."abcdefgh"], row]) };
  t.same(valuesOf((await read({ sheets, formats })).objects), [
    {
      a: "2020-01-01T00:00:00+00:00",
      b: "2020-01-01T02:57:46.666569+00:00",
      c: "1900-02-28T00:00:00+00:00",
      d: "18:00:00",
      e: 43831,
      f: 43831,
      g: 43831,
      h: "1900-03-01T00:00:00+00:00",
    },
  ]);
  t.match((await read({ sheets, formats, is1904: true })).objects, [{ a: "2024-01-02T00:00:00+00:00" }]);
  const exact = await read({
    sheets: {
      a: rowsOf([
        ["a"],
        [cell("A2", 's="1"', v("45000.524305567132"))],
        [cell("A3", 's="1"', v("45000.999999999999"))],
      ]),
    },
    formats: ["yyyy-mm-dd hh:mm:ss"],
  });
  t.match(exact.objects, [{ a: "2023-03-15T12:35:00.001+00:00" }, { a: "2023-03-16T00:00:00+00:00" }]);
});

t.test("columns without a name, or with the name of another one, keep their values", async (t) => {
  const { objects } = await read({
    sheets: { a: rowsOf([["a", null, "a", " b\n c "], [1, 2, 3, 4, 5], [6]]) },
  });
  t.same(valuesOf(objects), [
    { a: 1, column_2: 2, a_2: 3, b_c: 4, column_5: 5 },
    { a: 6, column_2: null, a_2: null, b_c: null, column_5: null },
  ]);
});

t.test("sheets of the same columns are read together, others are named", async (t) => {
  const sheet = (value: number) =>
    rowsOf([
      ["a", "b"],
      [value, "x"],
    ]);
  const { objects, notes } = await read({
    sheets: { empty: "", ".hidden": sheet(0), one: sheet(1), other: rowsOf([["c"], [1]]), two: sheet(2) },
  });
  t.same(
    objects.map(({ a }) => a),
    [1, 2],
  );
  t.same(notes.slice(1), ['Sheets that were not read: "empty", ".hidden" (hidden), "other".']);
});

t.test("merged cells have their value once", async (t) => {
  const rows = rowsOf([
    ["a", "b"],
    ["x", "y"],
    [null, "z"],
  ]);
  const merged = `${rows}</sheetData><mergeCells><mergeCell ref="A2:A3"/></mergeCells><sheetData>`;
  const { objects, notes } = await read({ sheets: { a: merged } });
  t.match(objects, [
    { a: "x", b: "y" },
    { a: null, b: "z" },
  ]);
  t.match(notes, [/Merged cells/, /No column/]);
});

t.test("what is no workbook, or attacks, is refused", async (t) => {
  const good = { sheets: { a: rowsOf([["a"], [1]]) } };
  const laughs = Array.from({ length: 20 }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join(
    "",
  );
  const entities = `<!DOCTYPE x [<!ENTITY l0 "lol">${laughs}]>`;
  const started = performance.now();
  const withPart = async (name: string, content: string) =>
    zipOf({
      "_rels/.rels":
        '<Relationships><Relationship Id="a" Type="x/officeDocument" Target="xl/workbook.xml"/></Relationships>',
      "xl/workbook.xml": '<workbook><sheets><sheet name="a" id="a"/></sheets></workbook>',
      "xl/_rels/workbook.xml.rels":
        '<Relationships><Relationship Id="a" Type="x/worksheet" Target="s.xml"/><Relationship Id="b" Type="x/sharedStrings" Target="t.xml"/></Relationships>',
      "xl/s.xml": "<worksheet/>",
      [name]: content,
    });
  const bad: readonly (readonly [string, Buffer | string, RegExp])[] = [
    ["nothing", "", /cannot be read/],
    ["a text", "a;b", /cannot be read/],
    ["another archive", await zipOf({ "a.txt": "" }), /not an XLSX workbook/],
    [
      "an old or encrypted workbook",
      Buffer.from("d0cf11e0a1b11ae1", "hex"),
      /encrypted, or of a version before 2007/,
    ],
    ["no data", await xlsxOf({ sheets: { a: "", ".b": good.sheets.a } }), /no visible sheet with data/],
    ["entities in a sheet", await withPart("xl/s.xml", `${entities}<worksheet>&l20;</worksheet>`), /entity/],
    [
      "entities in texts",
      await withPart("xl/t.xml", `${entities}<sst><si><t>&l20;</t></si></sst>`),
      /entity/,
    ],
    [
      "a far column",
      await xlsxOf({ sheets: { a: '<row><c r="ZZZZZ1"><v>1</v></c></row>' } }),
      /more than 16384 columns/,
    ],
    ["no column", await xlsxOf({ sheets: { a: '<row><c r="1"><v>1</v></c></row>' } }), /malformed reference/],
    [
      "too many columns",
      await xlsxOf({
        sheets: {
          a: rowsOf([
            Array.from({ length: 1_100 }, (_, i) => `<c><v>${i}</v></c>`),
            Array.from({ length: 1_100 }, () => "<c><v>1</v></c>"),
          ]),
        },
      }),
      /more than 1000 properties/,
    ],
    ["half of it", (await xlsxOf(good)).subarray(0, 600), /cannot be read/],
  ];
  for (const [name, content, message] of bad)
    t.match(await failureOf(imported(content)), { code: "import_failed", message }, name);
  t.ok(performance.now() - started < 15_000);
  t.equal(bench.transfer.counts().restarts, 0);
});

t.test("a workbook may be unpacked to so many bytes and no more", async (t) => {
  const { config } = bench.deps;
  const deps = {
    ...bench.deps,
    config: { ...config, transfer: { ...config.transfer, unpackedBytes: 1_000_000 } },
  };
  const layer = await bench.layer();
  for (const parts of [
    { sheets: { a: `${rowsOf([["a"], [1]])}${" ".repeat(5_000_000)}` } },
    { sheets: { a: rowsOf([["a"], [1]]) }, sharedStrings: "<si/>".repeat(1_000_000) },
  ]) {
    const path = bench.file(await xlsxOf(parts), "xlsx");
    const failure = await failureOf(
      importIntoLayer(
        deps,
        { layerId: layer, language: "en" },
        { files: [{ path, name: path }], action: "merge" },
      ),
    );
    t.match(failure, { code: "import_failed", message: /larger than 1000000 bytes/ });
  }
});
