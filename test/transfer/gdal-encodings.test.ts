import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import t from "tap";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { encode } from "../support/encode.js";
import { writeGdalFile } from "../support/gdal-files.js";
import { importBench } from "../support/transfer.js";

/** Encodings of texts in files that GDAL reads. */

const bench = await importBench();
t.teardown(() => bench.stop());

const name = "Улица Ленина";

/** The parts of a shapefile by extension. */
function shapefile(encoding: string): Record<string, Buffer> {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  try {
    const files = writeGdalFile(folder, {
      driver: "ESRI Shapefile",
      extension: "shp",
      fields: { name: "string" },
      features: [{ wkt: "POINT (1 2)", values: { name } }],
      options: [`ENCODING=${encoding}`],
    });
    return Object.fromEntries(
      Object.entries(files).map(([file, content]) => [extname(file).slice(1), content]),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function names(parts: Record<string, Buffer>, encoding?: string): Promise<unknown[]> {
  const layerId = await bench.layer();
  const files = Object.entries(parts).map(([extension, content]) => ({
    path: bench.file(content, extension),
    name: `data.${extension}`,
  }));
  await importIntoLayer(bench.deps, { layerId, language: "en" }, { files, action: "merge", encoding });
  return (await bench.objects(layerId)).map((object) => object.name ?? object.Text);
}

t.test("names of MapInfo columns may be cut within a character", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  const made = writeGdalFile(folder, {
    driver: "MapInfo File",
    extension: "tab",
    fields: { name: "string", data: "string" },
    features: [{ wkt: "POINT (1 2)", values: { name: "one", data: "two" } }],
  });
  rmSync(folder, { recursive: true });
  const layerId = await bench.layer();
  const files = Object.entries(made).map(([file, content]) => {
    const text = content.toString("latin1");
    const cut = text
      .replace("    name Char", "    \xd0_\xd0_ Char")
      .replace("    data Char", "    \xd1_\xd0_ Char");
    const extension = extname(file).slice(1);
    const bytes = extension === "tab" ? Buffer.from(cut, "latin1") : content;
    return { path: bench.file(bytes, extension), name: `data.${extension}` };
  });
  await importIntoLayer(bench.deps, { layerId, language: "en" }, { files, action: "merge" });
  const [object] = await bench.objects(layerId);
  for (const value of ["one", "two"]) t.ok(Object.values(object!).includes(value), value);
});

/** The parts without `.cpg`, and with a language id. */
function withLanguageId({ cpg: _, dbf, ...parts }: Record<string, Buffer>, id: number) {
  const table = Buffer.from(dbf!);
  table[29] = id;
  return { ...parts, dbf: table };
}

t.test("a shapefile's texts are read by its .cpg, its language id, or its bytes", async (t) => {
  for (const [encoding, id] of [
    ["CP1251", 0xc9],
    ["CP866", 0x65],
    ["UTF-8", 0],
  ] as const) {
    const parts = shapefile(encoding);
    t.same(await names(parts), [name], `${encoding} by .cpg`);
    t.same(await names(withLanguageId(parts, id)), [name], `${encoding} by language id`);
    for (const none of [0, 0x57])
      t.same(await names(withLanguageId(parts, none)), [name], `${encoding} by bytes`);
  }
  const parts = shapefile("CP1251");
  for (const cpg of ["1251", "ANSI 1251", "windows-1251", "UTF-8", "65001"])
    t.same(await names({ ...parts, cpg: Buffer.from(cpg) }), [name], cpg);
  t.same(await names({ ...parts, cpg: Buffer.from("866") }, "cp1251"), [name], "the request names it");
});

t.test("a drawing's texts are read by its version, its code page, or its bytes", async (t) => {
  const dxf = (version: string, page: string | undefined, label: string) => {
    const codePage = page === undefined ? "" : `9\n$DWGCODEPAGE\n3\n${page}\n`;
    const head = `0\nSECTION\n2\nHEADER\n9\n$ACADVER\n1\n${version}\n${codePage}0\nENDSEC\n`;
    const entity = `0\nSECTION\n2\nENTITIES\n0\nTEXT\n8\n0\n10\n1.0\n20\n2.0\n40\n1.0\n1\n${name}\n0\nENDSEC\n0\nEOF\n`;
    return { dxf: encode(head + entity, label)! };
  };
  for (const [version, page, label] of [
    ["AC1015", "ANSI_1251", "windows-1251"],
    ["AC1015", "dos866", "ibm866"],
    ["AC1009", undefined, "windows-1251"],
    ["AC1009", undefined, "ibm866"],
    ["AC1021", "ANSI_1251", "utf-8"],
    ["AC1021", undefined, "windows-1251"],
  ] as const)
    t.same(await names(dxf(version, page, label)), [name], `${version} ${page} ${label}`);
  t.same(await names(dxf("AC1015", "ANSI_1252", "windows-1251"), "windows-1251"), [name]);
});

t.test("texts of MapInfo are read by the charset, by their bytes, or by the request", async (t) => {
  const mif = (charset: string | undefined, label: string) => {
    const line = charset === undefined ? "" : `Charset "${charset}"\n`;
    const head = `Version 300\n${line}Delimiter ","\nColumns 1\n  name Char(40)\nData\n\nPoint 1 2\n`;
    return { mif: Buffer.from(head), mid: encode(`"${name}"\n`, label)! };
  };
  for (const [charset, label, encoding] of [
    ["WindowsCyrillic", "windows-1251", undefined],
    ["Neutral", "windows-1251", undefined],
    ["Neutral", "ibm866", undefined],
    ["Neutral", "utf-8", undefined],
    [undefined, "windows-1251", undefined],
    ["WindowsLatin1", "windows-1251", "cp1251"],
    ["WindowsLatin1", "utf-8", "utf-8"],
    ["Neutral", "koi8-r", "koi8-r"],
  ] as const)
    t.same(await names(mif(charset, label), encoding), [name], `${charset} ${label} ${encoding}`);
  const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  const file = { driver: "MapInfo File", extension: "tab", fields: { name: "string" } };
  const features = [{ wkt: "POINT (1 2)", values: { name } }];
  const made = writeGdalFile(folder, { ...file, features, options: ["ENCODING=CP1251"] });
  rmSync(folder, { recursive: true });
  const parts = Object.fromEntries(
    Object.entries(made).map(([path, content]) => [extname(path).slice(1), content]),
  );
  const tab = (charset: string) =>
    Buffer.from(parts.tab!.toString("latin1").replaceAll("WindowsCyrillic", charset), "latin1");
  t.same(await names(parts), [name]);
  t.same(await names({ ...parts, tab: tab("Neutral") }), [name], "by its bytes");
  t.same(await names({ ...parts, tab: tab("WindowsLatin1") }, "cp1251"), [name], "by the request");
});
