import { refused } from "../refusal.js";
import { readXml, type XmlElement, xmlText } from "../xml.js";
import type { ArchivedFile, ZipArchive } from "../zip-archive.js";
import { builtInDateFormat, type DateFormat, dateFormatOf } from "./xlsx-dates.js";

/** The parts of a workbook beside its sheets: the list of these, texts that cells share, and formats of cells. */

export interface SheetPart {
  readonly name: string;
  readonly isHidden: boolean;
  readonly file: ArchivedFile;
}

/** What a workbook tells of itself before its texts are read. */
interface SheetParts {
  readonly sheets: readonly SheetPart[];
  /** Whether days count from 1904. */
  readonly is1904: boolean;
}

export interface Workbook extends SheetParts {
  readonly texts: readonly string[];
  /** By style of the cell; undefined = no date. */
  readonly dateFormats: readonly (DateFormat | undefined)[];
}

/** Bound on the memory of shared texts. */
const maxTextBytes = 256 * 1024 ** 2;
/** What a text needs beside its characters. */
const textOverheadBytes = 48;
const maxStyles = 100_000;
const maxSheets = 10_000;

/** @throws Refusal when the archive is no workbook */
export async function readWorkbook(zip: ZipArchive): Promise<Workbook> {
  const { ofType, ...sheets } = await readSheets(zip);
  return {
    ...sheets,
    texts: await sharedTexts(zip, ofType("sharedStrings")),
    dateFormats: await dateFormats(zip, ofType("styles")),
  };
}

/** @returns also the first part of a type that the workbook refers to @throws Refusal when the archive is no workbook */
export async function readSheets(
  zip: ZipArchive,
): Promise<SheetParts & { readonly ofType: (type: string) => ArchivedFile | undefined }> {
  const parts = new Map(zip.files.map((file) => [file.name.replace(/^\/+/, "").toLowerCase(), file]));
  const part = (path: string) => parts.get(path.toLowerCase());
  const roots = await relations(zip, part("_rels/.rels"), "");
  const main = roots.find(({ type }) => type === "officeDocument")?.path ?? "xl/workbook.xml";
  const file = part(main);
  if (!file) throw refused("The file is not an XLSX workbook.");
  const folder = main.slice(0, main.lastIndexOf("/") + 1);
  const links = await relations(zip, part(`${folder}_rels/${main.slice(folder.length)}.rels`), folder);
  const { sheets, is1904 } = await readSheetList(zip, file);
  const ofType = (type: string) => {
    const link = links.find((link) => link.type === type);
    return link && part(link.path);
  };
  return {
    is1904,
    sheets: sheets.flatMap(({ id, ...sheet }) => {
      const link = links.find((link) => link.id === id && link.type === "worksheet");
      const file = link && part(link.path);
      return file ? [{ ...sheet, file }] : [];
    }),
    ofType,
  };
}

/** Calls `open` for each element, and `close` with the text of those for which `open` returns true. */
async function readPart(
  zip: ZipArchive,
  file: ArchivedFile,
  open: (element: XmlElement) => boolean,
  close: (name: string, text: string) => void = () => undefined,
): Promise<void> {
  const handler = {
    wantsText: false,
    open(element: XmlElement) {
      handler.wantsText = open(element);
    },
    close,
  };
  await readXml(xmlText(zip.read(file)), handler, async () => undefined);
}

interface Relation {
  readonly id: string;
  /** Last word of the type's address. */
  readonly type: string;
  readonly path: string;
}

async function relations(
  zip: ZipArchive,
  file: ArchivedFile | undefined,
  folder: string,
): Promise<Relation[]> {
  const found: Relation[] = [];
  if (!file) return found;
  await readPart(zip, file, (element) => {
    const [id, type, target] = ["Id", "Type", "Target"].map((name) => element.attribute(name));
    if (element.name !== "Relationship" || !id || !type || !target) return false;
    if (element.attribute("TargetMode") === "External") return false;
    const path = target.startsWith("/") ? target.slice(1) : folder + target;
    found.push({ id, type: type.slice(type.lastIndexOf("/") + 1), path: path.replace(/(^|\/)\.\//g, "$1") });
    if (found.length > maxSheets) throw refused("The workbook has too many parts.");
    return false;
  });
  return found;
}

interface ListedSheet {
  readonly id: string;
  readonly name: string;
  readonly isHidden: boolean;
}

async function readSheetList(zip: ZipArchive, file: ArchivedFile) {
  const sheets: ListedSheet[] = [];
  let is1904 = false;
  await readPart(zip, file, (element) => {
    if (element.name === "workbookPr")
      is1904 = ["1", "true", "on"].includes(element.attribute("date1904") ?? "");
    else if (element.name === "sheet") {
      const [id = "", name = "", state = "visible"] = ["id", "name", "state"].map((key) =>
        element.attribute(key),
      );
      sheets.push({ id, name, isHidden: state !== "visible" });
      if (sheets.length > maxSheets) throw refused("The workbook has too many sheets.");
    }
    return false;
  });
  return { sheets, is1904 };
}

async function sharedTexts(zip: ZipArchive, file: ArchivedFile | undefined): Promise<string[]> {
  const texts: string[] = [];
  if (!file) return texts;
  let text = "";
  let bytes = 0;
  let phonetic = 0;
  await readPart(
    zip,
    file,
    ({ name }) => {
      if (name === "si") text = "";
      if (name === "rPh") phonetic++;
      return name === "t";
    },
    (name, own) => {
      if (name === "t" && phonetic === 0) text += own;
      else if (name === "rPh") phonetic--;
      else if (name === "si") {
        bytes += 2 * text.length + textOverheadBytes;
        if (bytes > maxTextBytes) throw refused("The workbook has more texts than can be read.");
        texts.push(unescaped(text));
      }
    },
  );
  return texts;
}

/** Characters that XML cannot hold are written by their code: `_x000D_`. */
export const unescaped = (text: string): string =>
  text.includes("_x")
    ? text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 16)),
      )
    : text;

async function dateFormats(
  zip: ZipArchive,
  file: ArchivedFile | undefined,
): Promise<(DateFormat | undefined)[]> {
  const byStyle: (DateFormat | undefined)[] = [];
  if (!file) return byStyle;
  const custom = new Map<number, DateFormat | undefined>();
  let inCells = false;
  await readPart(
    zip,
    file,
    (element) => {
      const { name } = element;
      const format = Number(element.attribute("numFmtId") ?? 0);
      if (name === "numFmt") custom.set(format, dateFormatOf(element.attribute("formatCode") ?? ""));
      else if (name === "cellXfs") inCells = true;
      else if (name === "xf" && inCells)
        byStyle.push(custom.has(format) ? custom.get(format) : builtInDateFormat(format));
      if (byStyle.length > maxStyles || custom.size > maxStyles)
        throw refused("The workbook has too many formats.");
      return false;
    },
    (name) => {
      if (name === "cellXfs") inCells = false;
    },
  );
  return byStyle;
}
