import { readXml, type XmlElement, type XmlHandler, xmlText } from "../xml.js";
import { ZipArchive } from "../zip-archive.js";
import type { FindTables, OwnTable } from "./reader.js";
import { requireXlsx } from "./xlsx.js";
import { readSheets, type SheetPart } from "./xlsx-parts.js";

/** Finds the visible sheets of a workbook. How many rows they have, only those know that were read to their end. */

export const findSheets: FindTables = async ({ path, budget }) => {
  requireXlsx(path);
  return ZipArchive.use(path, budget, async (zip) => {
    const { sheets } = await readSheets(zip);
    const found: OwnTable[] = [];
    for (const [place, sheet] of sheets.entries()) {
      if (sheet.isHidden) continue;
      const isTable = await hasRows(zip, sheet);
      found.push({ name: sheet.name, place, ...(!isTable && { features: 0 }) });
    }
    return found;
  });
};

/** Ends the reading of a sheet. */
const enough = new Error("The sheet has rows.");

/** Whether the sheet has a row below that of the names. */
async function hasRows(zip: ZipArchive, sheet: SheetPart): Promise<boolean> {
  const handler = new RowHandler();
  try {
    await readXml(xmlText(zip.read(sheet.file)), handler, async () => undefined);
    return false;
  } catch (error) {
    if (error === enough) return true;
    throw error;
  }
}

/** Ends at the second row that has a value. */
class RowHandler implements XmlHandler {
  readonly wantsText = false;
  private rows = 0;
  private hasValue = false;

  open({ name }: XmlElement): void {
    if (name === "row") this.hasValue = false;
    else if (name === "v" || name === "t") this.hasValue = true;
  }

  close(name: string): void {
    if (name === "row" && this.hasValue && ++this.rows === 2) throw enough;
  }
}
