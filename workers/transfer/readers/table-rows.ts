import { counted } from "../../../src/counted.js";
import type { RowEncoder } from "../rows.js";
import type { RowSink } from "../sink.js";
import { columnNames } from "./column-names.js";
import type { Cell, RowGeometry } from "./coordinate-columns.js";
import { tableGeometry } from "./table-geometry.js";
import { ExactNumber, type SheetCell } from "./xlsx-sheet.js";

/**
 * Takes the rows of a sheet: the first has the names of the columns, the others are features. Rows of one text above a row of
 * several texts are titles, and that row has the names.
 */

/** Rows by which columns with coordinates are found. */
const sampleRows = 100;
/** Rows above the header that may be titles. */
const maxTitles = 20;

interface Columns {
  readonly names: readonly string[];
  /** Whether the header names the column; others are columns only where they have values. */
  readonly isNamed: readonly boolean[];
  readonly geometry: RowGeometry;
}

export class TableRows {
  /** Cells of the header, as text; undefined = no row came yet. */
  header: readonly (string | null)[] | undefined;
  private readonly sample: (readonly SheetCell[])[] = [];
  private columns: Columns | undefined;
  /** Rows of one text each, as long as no other came. */
  private titles: (readonly SheetCell[])[] = [];

  constructor(
    private readonly sink: RowSink,
    private readonly srsIsGiven: boolean,
  ) {}

  add(cells: readonly SheetCell[]): void {
    if (!this.header) this.addFirst(cells);
    else if (this.columns) this.addRow(this.columns, cells);
    else if (this.sample.push(cells) === sampleRows) this.begin();
  }

  /** The sheet has no more rows; those of others may follow. */
  endSheet(): void {
    const [first, ...others] = this.titles.splice(0);
    if (!first) return;
    this.header = headerOf(first);
    for (const cells of others) this.add(cells);
  }

  /** Adds what was kept; further rows can be added. */
  end(): void {
    if (!this.columns && this.header) this.begin();
  }

  /** A row before the header is known. */
  private addFirst(cells: readonly SheetCell[]): void {
    const filled = cells.filter((cell) => cell !== null);
    const areTexts = filled.every((cell) => typeof cell === "string");
    const isTitle = filled.length === 1 && areTexts;
    if (isTitle && this.titles.length < maxTitles) {
      this.titles.push(cells);
      return;
    }
    if (this.titles.length > 0 && !isTitle && areTexts) {
      const count = this.titles.splice(0).length;
      this.sink.note(`The names of the columns are below ${counted(count, "row")} of titles: left out.`);
    }
    this.endSheet();
    if (this.header) this.add(cells);
    else this.header = headerOf(cells);
  }

  private begin(): void {
    const header = this.header ?? [];
    const width = Math.max(header.length, ...this.sample.map(({ length }) => length));
    const given = Array.from({ length: width }, (_, index) => header[index] ?? null);
    const names = columnNames(given);
    const sample = this.sample.map((cells) => cells.map(plainCell));
    this.columns = {
      names,
      isNamed: given.map((name) => name !== null),
      geometry: tableGeometry(this.sink, { names, sample, srsIsGiven: this.srsIsGiven }),
    };
    for (const cells of this.sample.splice(0)) this.addRow(this.columns, cells);
  }

  private addRow(columns: Columns, cells: readonly SheetCell[]): void {
    this.sink.add((row) => writeRow(row, columns, cells));
  }
}

/** Whether two sheets have the same columns. */
export const sameHeader = (one: readonly (string | null)[], other: readonly (string | null)[]): boolean =>
  one.length === other.length && one.every((name, index) => name === other[index]);

export const headerOf = (cells: readonly SheetCell[]): (string | null)[] =>
  Array.from(cells, (cell) => {
    const text = cell === null ? "" : String(plainCell(cell)).replace(/\s+/g, " ").trim();
    return text === "" ? null : text;
  });

const plainCell = (cell: SheetCell): Cell => (cell instanceof ExactNumber ? cell.text : cell);

function writeRow(row: RowEncoder, { names, isNamed, geometry }: Columns, cells: readonly SheetCell[]): void {
  geometry.write(row, (index) => plainCell(cells[index] ?? null));
  for (let index = 0; index < Math.max(names.length, cells.length); index++) {
    if (geometry.takes(index)) continue;
    const cell = cells[index] ?? null;
    if (cell === null && !isNamed[index]) continue;
    const name = names[index] ?? `column_${index + 1}`;
    if (cell instanceof ExactNumber) row.untyped(name, cell.text);
    else row.property(name, cell);
  }
}
