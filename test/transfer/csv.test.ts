import t from "tap";
import { readColumns } from "../../src/catalog/column-rows.js";
import { encode } from "../support/encode.js";
import { failureOf, importBench } from "../support/transfer.js";

/** CSV in the forms in which programs and people write it. */

const bench = await importBench();
t.teardown(() => bench.stop());

/** Imports into a new layer: objects without ids, types of its own columns, and notes. */
async function imported(content: string | Buffer, source: Parameters<typeof bench.import>[2] = {}) {
  const layer = await bench.layer();
  const { notes } = await bench.import(layer, content, { extension: "csv", ...source });
  const objects = (await bench.objects(layer)).map(({ svc_id, ...object }) => object);
  const types = Object.fromEntries(
    (await readColumns(bench.db, layer)).slice(2).map(({ code, type }) => [code, type]),
  );
  return { objects, types, notes, layer };
}
const values = async (content: string | Buffer, source = {}) => (await imported(content, source)).objects;
const lines = (...all: string[]) => `${all.join("\n")}\n`;

t.test("delimiters, ends of line and quotation marks are found from the file", async (t) => {
  const wanted = [
    { id: 1, name: "one", geom: "POINT(37.5 55.5)" },
    { id: 2, name: 'a "b"\r\nc', geom: "POINT(-1 2)" },
  ];
  for (const delimiter of [",", ";", "\t", "|"])
    for (const end of ["\n", "\r\n", "\r"]) {
      const rows = [
        ["id", "lon", "lat", "name"],
        ["1", "37.5", "55.5", "one"],
        ["2", "-1", "2", '"a ""b""\r\nc"'],
      ];
      const text = rows.map((row) => row.join(delimiter)).join(end);
      for (const content of [text, `\uFEFF${text}${end}${end}`])
        t.match(await values(content), wanted, JSON.stringify(content));
    }
  t.match(await values("sep=;\r\na;b\r\n1,5;x,y\r\n"), [{ a: 1.5, b: "x,y" }], "the delimiter is named");
  t.match(await values('a;b\n1;"x"y\n2;5" z\n'), [{ b: "xy" }, { b: '5" z' }], "stray marks");
});

t.test("a file without any row is refused, and one with names only has no objects", async (t) => {
  for (const content of ["", "\uFEFF", "\n\n"])
    t.match(await failureOf(imported(content)), { code: "import_failed", message: /^The file is empty/ });
  t.same(await values("a,b\n"), []);
});

t.test("an empty field is null and an empty text is one", async (t) => {
  const { objects, types } = await imported('a,b,n\n,"",\n"","x",1\n,,""\n');
  t.match(objects, [
    { a: null, b: "", n: null },
    { a: "", b: "x", n: 1 },
    { a: null, b: null, n: null },
  ]);
  t.match(types, { a: "string", b: "string", n: "number" });
});

t.test("texts that were kept from being formulas come back", async (t) => {
  const text = `a;b\n"'=1+1";"'-5"\n"''=x";"'@"\n"'tis";"'+7 495"\n"'";"x"\n`;
  t.match(await values(text), [
    { a: "=1+1", b: "-5" },
    { a: "'=x", b: "@" },
    { a: "'tis", b: "+7 495" },
    { a: "'", b: "x" },
  ]);
});

t.test("spaces around codes do not make numbers of them", async (t) => {
  const { objects, types } = await imported(lines("zip;n", "560 001 ;1", " 560 002;2", "          ;3"));
  t.match(types, { zip: "string" });
  t.match(objects, [{ zip: "560 001 " }, { zip: " 560 002" }, {}]);
});

t.test("types are those that fit the whole column", async (t) => {
  const { objects, types } = await imported(
    lines(
      "code;whole;real;comma;grouped;flag;iso;day;when;year;mixed;json;big;phone;zip",
      '007;1;0.5;3,14;1 234,5;TRUE;2024-02-29;31.12.2024;1.3.2024 9:05;2024/12/31;1;{"a":1};12345678901234567890;+79161234567;560 001',
      "010;-2; 1e3 ;-0,5;12;false;2024-01-01T10:00:00Z;01.02.2024;31.12.2024, 23:59:59;2024/01/02;31.02.2024;[1];1;8;560 002",
      ";;;;;;;;;;;;;;",
    ),
  );
  t.match(types, {
    code: "string",
    whole: "number",
    real: "number",
    comma: "number",
    grouped: "number",
    flag: "bool",
    iso: "datetime",
    day: "datetime",
    when: "datetime",
    year: "datetime",
    mixed: "string",
    json: "json",
    big: "string",
    phone: "string",
    zip: "string",
  });
  t.match(objects, [
    {
      ...{ code: "007", whole: 1, real: 0.5, comma: 3.14, grouped: 1234.5, flag: true, json: { a: 1 } },
      ...{ day: "2024-12-31T00:00:00+00:00", when: "2024-03-01T09:05:00+00:00" },
      ...{ year: "2024-12-31T00:00:00+00:00", big: "12345678901234567890", mixed: "1" },
    },
    {
      ...{ whole: -2, real: 1000, comma: -0.5, grouped: 12, flag: false, json: [1] },
      ...{ day: "2024-02-01T00:00:00+00:00", when: "2024-12-31T23:59:59+00:00", mixed: "31.02.2024" },
    },
    { code: null, whole: null, flag: null, day: null, json: null },
  ]);
});

t.test("a day and a month that cannot be told apart stay text", async (t) => {
  const text = lines(
    "either,day,month",
    "01/02/2024,01/02/2024,01/02/2024",
    "03/04/2024,13/04/2024,04/13/2024",
  );
  const { objects, types } = await imported(text);
  t.match(types, { either: "string", day: "datetime", month: "datetime" });
  t.match(objects, [
    { either: "01/02/2024", day: "2024-02-01T00:00:00+00:00", month: "2024-01-02T00:00:00+00:00" },
    { day: "2024-04-13T00:00:00+00:00", month: "2024-04-13T00:00:00+00:00" },
  ]);
});

t.test("what a comma in a number means depends on the file", async (t) => {
  t.match(await values('n,m\n"1,234","3,5"\n"12,345","4,25"\n'), [
    { n: 1234, m: 3.5 },
    { n: 12345, m: 4.25 },
  ]);
  t.match(await values("n;m\n1,234;1.234,5\n12,345;2\n"), [
    { n: 1.234, m: 1234.5 },
    { n: 12.345, m: 2 },
  ]);
  t.match(await values("n\tm\n1,234\t1,234.5\n12,345\t2\n"), [
    { n: "1,234", m: 1234.5 },
    { n: "12,345", m: 2 },
  ]);
});

t.test("numbers in quotation marks are text where others have none", async (t) => {
  t.match((await imported('a,b\n1,"12"\n2,"13"\n')).types, { a: "number", b: "string" });
  t.match((await imported('"a","b"\n"1","12"\n"2",""\n')).types, { a: "number", b: "number" });
});

t.test("values in other notations fit the columns that a layer has", async (t) => {
  const layer = await bench.layer();
  const source = { extension: "csv" };
  await bench.import(layer, "n,at,flag,s\n1,2024-01-01,true,a\n", source);
  await bench.import(layer, "n;at;flag;s\n2,5;31.12.2024;FALSE;1,5\n", source);
  t.match((await bench.objects(layer))[1], {
    n: 2.5,
    at: "2024-12-31T00:00:00+00:00",
    flag: false,
    s: "1,5",
  });
  t.match(await failureOf(bench.import(layer, "n;at\n2,5;x\n3;31.12.2024\n", source)), {
    code: "import_failed",
    data: { column: "at", feature: 1, value: "x" },
  });
});

t.test("coordinates come from columns, and the answer says which", async (t) => {
  const { objects, notes, types } = await imported("Название;Широта;Долгота\nМосква;55,75;37,61\nнигде;;\n");
  t.match(
    objects.map(({ geom }) => geom),
    ["POINT(37.61 55.75)", null],
  );
  t.strictSame(Object.values(types), ["string"]);
  t.match(notes.join(), /"Долгота" \(east\) and "Широта" \(north\)/);
  t.match(await values("e,n\n4198000,7500000\n", { srs: "3857" }), [
    { geom: /^POINT\(37\.71\d* 55\.7\d*\)$/ },
  ]);
  t.match(await values("a;wkt\n1;LINESTRING(1 2,3 4)\n2;\n3;POINT Z (1 2 3)\n"), [
    { a: 1, geom: "LINESTRING(1 2,3 4)" },
    { a: 2, geom: null },
    { a: 3, geom: "POINT Z (1 2 3)" },
  ]);
  const geometries = [
    "0101000000000000000000F03F0000000000000040",
    "SRID=3857;POINT(0 0)",
    '{"type":"Point","coordinates":[5,6]}',
  ];
  const rows = geometries.map((geometry) => `"${geometry.replaceAll('"', '""')}"`);
  t.match(
    (await values(lines("the_geom", ...rows))).map(({ geom }) => geom),
    ["POINT(1 2)", "POINT(0 0)", "POINT(5 6)"],
  );
  const without = await imported("a,b\n1,2\n");
  t.match(without.objects, [{ a: 1, b: 2, geom: null }]);
  t.match(without.notes.join(), /No column has coordinates/);
  t.match(await values("37.5;55.7\n38.5;56.7\n"), [{ column_1: 37.5, column_2: 55.7 }, {}], "no header");
});

t.test("a merge of a table without geometry keeps the geometry", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, "a,lon,lat\n1,2,3\n", { extension: "csv" });
  await bench.import(layer, "svc_id,a\n1,5\n", { extension: "csv" });
  t.match(await bench.objects(layer), [{ svc_id: 1, a: 5, geom: "POINT(2 3)" }]);
});

t.test("names of columns may be missing or the same", async (t) => {
  const { types } = await imported("a,a,,\n1,2,3,\n4,5,6,\n");
  t.strictSame(Object.keys(types), ["a", "a_2", "column_3"]);
  t.match((await imported("region;2019;2020\nx;1;2\n")).types, { region: "string", _2019: "number" });
});

t.test("files in any encoding are read, and what was found is said", async (t) => {
  const text = "имя;lon;lat\nУлица Ленина;37,5;55,5\n";
  for (const label of ["utf-8", "windows-1251", "ibm866", "koi8-r", "utf-16le", "utf-16be"]) {
    const { objects, notes } = await imported(encode(text, label)!);
    t.match(objects, [{ imia: "Улица Ленина" }], label);
    t.equal(
      notes.some((note) => note.includes(label)),
      label !== "utf-8",
    );
  }
  t.match(await values(encode("a\nЯ\n", "ibm866")!, { encoding: "DOS 866" }), [{ a: "Я" }]);
  t.match(await failureOf(values("a\n1\n", { encoding: "klingon" })), {
    code: "invalid_value",
    message: /cp866/,
  });
  t.match(await values("a,b\nx\\y,z\n", { extension: "tsv" }), [{ a: "x\\y" }]);
});

t.test("rows that do not fit are told", async (t) => {
  const failure = await failureOf(values("a,lon,lat\n1,2,3\n1,2,3,4\n5,6,north\n7,8,\n9\n"));
  t.match(failure, {
    code: "import_failed",
    data: {
      rows: [
        { row: 2, reason: /4 fields, where the header has 3/ },
        { row: 3, reason: /"north" is not a coordinate/ },
        { row: 4, reason: /only one coordinate/ },
      ],
    },
  });
  const { objects, notes } = await imported("a,b\n1\n2,3,,,\n");
  t.match(objects, [
    { a: 1, b: null },
    { a: 2, b: 3 },
  ]);
  t.match(notes.join(), /Fewer fields than the header: 1 row\./);
  const broken = Buffer.concat([Buffer.from("имя\nМосква\nТ"), Buffer.from([0xd0]), Buffer.from("\nТула\n")]);
  t.match(await failureOf(values(broken)), { data: { rows: [{ row: 2, reason: /UTF-8/ }] } });
  t.match(await failureOf(values("a,b\nx,y\nx\0,z\n")), {
    data: { rows: [{ row: 2, reason: /cannot be stored/ }] },
  });
  t.match(await failureOf(values("wkt\nPOINT(1 2)\nPOINT(1\nhouse\n")), { code: "invalid_geometry" });
});

t.test("hostile files are refused", async (t) => {
  const wide = Array.from({ length: 10_000 }, (_, index) => `c${index}`).join(",");
  t.match(await failureOf(values(`${wide}\n${wide}\n`)), {
    code: "import_failed",
    message: /more than 100\d col/,
  });
  t.match(await failureOf(values(`a,b\n${wide}\n`)), { code: "import_failed", message: /10000 fields/ });
  const open = Buffer.concat([Buffer.from('a,b\n1,2\n1,"'), Buffer.alloc(70 * 1024 ** 2, "x\n")]);
  t.match(await failureOf(values(open)), { code: "import_failed", message: /line 3/ });
  t.match(await failureOf(values('a,b\n1,"2\n')), {
    code: "import_failed",
    message: /line 2 or after it is not closed/,
  });
  const vrt =
    '<OGRVRTDataSource><OGRVRTLayer name="x"><SrcDataSource>/etc/passwd</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>';
  t.match(await failureOf(values(vrt)), { code: "import_failed", message: /XML/ });
  t.match(await failureOf(values(Buffer.from("504b030414000600080000002100", "hex"))), {
    message: /not a text/,
  });
  t.match(
    await failureOf(values(`wkt\n${"GEOMETRYCOLLECTION(".repeat(10_000)}POINT(1 2)${")".repeat(10_000)}\n`)),
    {
      code: "invalid_geometry",
    },
  );
  t.match(await values(`a\n"${"[".repeat(100_000)}"\n`), [{ a: /^\[/ }]);
});
