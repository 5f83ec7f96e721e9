import t from "tap";
import { columnLetters, rowsPerSheet, sheetName, workbook } from "../../src/export/workbook.js";

/** Names and sheets of workbooks. */

t.test("columns have the letters of spreadsheets", async (t) => {
  t.same([0, 25, 26, 51, 52, 701, 702, 16_383].map(columnLetters), [
    "A",
    "Z",
    "AA",
    "AZ",
    "BA",
    "ZZ",
    "AAA",
    "XFD",
  ]);
});

t.test("a sheet has a name that spreadsheets take", async (t) => {
  for (const [title, name] of [
    ["Улицы", "Улицы"],
    ["a[b]c:d*e?f/g\\h", "a_b_c_d_e_f_g_h"],
    ["'quoted'", "_quoted_"],
    ["", "_"],
    ["History", "History_"],
    ["x".repeat(40), "x".repeat(31)],
    [`${"x".repeat(30)}🎄`, "x".repeat(30)],
  ] as const)
    t.equal(sheetName(title, 1), name);
  t.equal(sheetName("x".repeat(40), 2), `${"x".repeat(27)} (2)`);
});

t.test("rows that a sheet has no room for go to the next one", async (t) => {
  async function* batches(): AsyncGenerator<readonly string[], void> {
    const batch = new Array<string>(1000).fill("<row/>");
    for (let rows = 0; rows < rowsPerSheet; rows += 1000)
      yield batch.slice(0, Math.min(1000, rowsPerSheet - rows));
    yield ["<row>last</row>"];
  }
  const sheets: { name: string; rows: number; end: string }[] = [];
  let list = "";
  for await (const { name, chunks } of workbook({ title: "t", names: ["a"], batches: batches() })) {
    let rows = 0;
    let end = "";
    for await (const chunk of chunks) {
      rows += String(chunk).split("<row").length - 1;
      end = String(chunk).slice(-60);
      if (name === "xl/workbook.xml") list += chunk;
    }
    if (name.includes("sheet")) sheets.push({ name, rows, end });
  }
  t.match(sheets, [
    { name: "xl/worksheets/sheet1.xml", rows: 1_048_576 },
    { name: "xl/worksheets/sheet2.xml", rows: 2, end: /<row>last<\/row><\/sheetData><\/worksheet>$/ },
  ]);
  t.match(list, /<sheet name="t" sheetId="1" r:id="rId1"\/><sheet name="t \(2\)" sheetId="2" r:id="rId2"\/>/);
});
