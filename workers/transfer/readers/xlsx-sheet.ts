import { refused } from "../refusal.js";
import type { XmlElement, XmlHandler } from "../xml.js";
import type { Cell } from "./coordinate-columns.js";
import { dateText } from "./xlsx-dates.js";
import { unescaped, type Workbook } from "./xlsx-parts.js";

/** Reads the rows of a sheet. */

/** Columns of a sheet, by the format. */
const maxColumns = 16_384;
/** A number that a double does not hold exactly, as text. */
export class ExactNumber {
  constructor(readonly text: string) {}
}

export type SheetCell = Cell | ExactNumber;

export class SheetHandler implements XmlHandler {
  wantsText = false;
  errors = 0;
  hasMergedCells = false;
  private cells: SheetCell[] = [];
  private column = 0;
  private type = "n";
  private style = 0;
  private text: string | undefined;
  private phonetic = 0;

  /** @param take is called with each row that has a value; the cells may end before the last column */
  constructor(
    private readonly workbook: Workbook,
    private readonly take: (cells: readonly SheetCell[]) => void,
  ) {}

  open(element: XmlElement): void {
    const { name } = element;
    this.wantsText = name === "v" || name === "t";
    if (name === "row") {
      this.cells = [];
      this.column = 0;
    } else if (name === "c") this.openCell(element);
    else if (name === "rPh") this.phonetic++;
    else if (name === "mergeCell") this.hasMergedCells = true;
  }

  close(name: string, text: string): void {
    if (name === "v") this.text = text;
    else if (name === "t" && this.phonetic === 0) this.text = (this.text ?? "") + text;
    else if (name === "rPh") this.phonetic--;
    else if (name === "c") this.closeCell();
    else if (name === "row" && this.cells.some((cell) => cell !== null)) this.take(this.cells);
  }

  private openCell(element: XmlElement): void {
    const reference = element.attribute("r");
    this.column = reference === undefined ? this.column + 1 : columnOf(reference);
    if (this.column > maxColumns) throw refused(`The sheet has more than ${maxColumns} columns.`);
    this.type = element.attribute("t") ?? "n";
    this.style = Number(element.attribute("s") ?? 0);
    this.text = undefined;
  }

  private closeCell(): void {
    const value = this.value();
    if (value === null) return;
    while (this.cells.length < this.column - 1) this.cells.push(null);
    this.cells[this.column - 1] = value;
  }

  private value(): SheetCell {
    const { text, type } = this;
    if (text === undefined) return null;
    switch (type) {
      case "s":
        return this.workbook.texts[Number(text)] ?? null;
      case "inlineStr":
        return unescaped(text);
      // A formula that gives no text gives an empty one.
      case "str":
        return text === "" ? null : unescaped(text);
      case "b":
        return text.trim() === "1" || text.trim() === "true";
      case "e":
        this.errors++;
        return null;
      case "d":
        return text.trim();
      default:
        return this.number(text.trim());
    }
  }

  private number(text: string): SheetCell {
    if (text === "") return null;
    const value = Number(text);
    if (!Number.isFinite(value)) return text;
    const { dateFormats, is1904 } = this.workbook;
    const format = dateFormats[this.style];
    const date = format && dateText(value, format, is1904);
    if (date !== undefined) return date;
    return Math.abs(value) > Number.MAX_SAFE_INTEGER ? new ExactNumber(text) : value;
  }
}

/** Number of the column of a reference such as `AB12`, from 1. */
function columnOf(reference: string): number {
  let column = 0;
  for (let at = 0; at < reference.length; at++) {
    const letter = (reference.charCodeAt(at) & ~0x20) - 0x40;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
    if (column > maxColumns) return column;
  }
  if (column === 0) throw refused("A cell of the sheet has a malformed reference.");
  return column;
}
