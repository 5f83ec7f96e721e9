import { zipOf } from "./zip.js";

/** Workbooks for tests. */

export interface WorkbookParts {
  /** XML of the rows by the name of the sheet; names that begin with a dot are of hidden sheets. */
  readonly sheets: Readonly<Record<string, string>>;
  /** XML of the items. */
  readonly sharedStrings?: string;
  /** Codes of formats; style n of a cell has code n - 1. */
  readonly formats?: readonly string[];
  readonly is1904?: boolean;
}

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const relation = (id: string, type: string, target: string) =>
  `<Relationship Id="${id}" Type="${office}/${type}" Target="${target}"/>`;
const relations = (content: string) =>
  `${declaration}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${content}</Relationships>`;

export async function xlsxOf(parts: WorkbookParts): Promise<Buffer> {
  const { sheets, sharedStrings = "", formats = [], is1904 = false } = parts;
  const names = Object.keys(sheets);
  const list = names.map(
    (name, i) =>
      `<sheet name="${name}" sheetId="${i + 1}" r:id="rId${i + 1}"${name.startsWith(".") ? ' state="hidden"' : ""}/>`,
  );
  const codes = formats.map(
    (code, i) => `<numFmt numFmtId="${164 + i}" formatCode="${code.replaceAll('"', "&quot;")}"/>`,
  );
  const styles = formats.map((_, i) => `<xf numFmtId="${164 + i}"/>`);
  return zipOf({
    "_rels/.rels": relations(relation("r", "officeDocument", "/xl/workbook.xml")),
    "xl/workbook.xml": `${declaration}<workbook ${main} xmlns:r="${office}"><workbookPr${is1904 ? ' date1904="1"' : ""}/><sheets>${list.join("")}</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relations(
      names.map((_, i) => relation(`rId${i + 1}`, "worksheet", `worksheets/sheet${i + 1}.xml`)).join("") +
        relation("s", "sharedStrings", "sharedStrings.xml") +
        relation("f", "styles", "styles.xml"),
    ),
    "xl/sharedStrings.xml": `${declaration}<sst ${main}>${sharedStrings}</sst>`,
    "xl/styles.xml":
      `${declaration}<styleSheet ${main}><numFmts>${codes.join("")}</numFmts>` +
      `<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${styles.join("")}</cellXfs></styleSheet>`,
    ...Object.fromEntries(
      Object.values(sheets).map((rows, i) => [
        `xl/worksheets/sheet${i + 1}.xml`,
        `${declaration}<worksheet ${main}><sheetData>${rows}</sheetData></worksheet>`,
      ]),
    ),
  });
}

/** XML of rows; texts that begin with `<` are XML of a cell, null is no cell. */
export const rowsOf = (rows: readonly (readonly (string | number | null)[])[]): string =>
  rows
    .map((cells, row) => {
      const xml = cells.map((cell, column) => {
        if (cell === null) return "";
        if (typeof cell === "string" && cell.startsWith("<")) return cell;
        const place = `r="${String.fromCharCode(65 + column)}${row + 1}"`;
        return typeof cell === "number"
          ? `<c ${place}><v>${cell}</v></c>`
          : `<c ${place} t="inlineStr"><is><t xml:space="preserve">${cell}</t></is></c>`;
      });
      return `<row r="${row + 1}">${xml.join("")}</row>`;
    })
    .join("");
