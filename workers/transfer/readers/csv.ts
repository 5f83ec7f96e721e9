import { counted } from "../../../src/counted.js";
import { detectFileEncoding } from "../detect-encoding.js";
import { badFeature, refused } from "../refusal.js";
import type { RowEncoder } from "../rows.js";
import { columnNames } from "./column-names.js";
import type { RowGeometry } from "./coordinate-columns.js";
import { type CsvDialect, findDialect } from "./csv-dialect.js";
import { CsvRecords } from "./csv-records.js";
import type { Reader } from "./reader.js";
import { tableGeometry } from "./table-geometry.js";
import { openText } from "./text-source.js";

/**
 * Reads CSV and its relatives: the delimiter, the encoding, the header and the columns with coordinates are found from the
 * file. An empty field is null, "" is empty text. A record with fewer fields than the header lacks the last ones; one with
 * more is a bad row.
 */
export const readCsv: Reader = async ({ path, sink, srs, encoding }) => {
  const label = encoding ?? detectFileEncoding(path);
  sink.encoding = label;
  if (label !== "utf-8") sink.note(`The texts were read in the encoding ${label}.`);
  const dialect = readDialect(path, label);
  const [first] = dialect.sample;
  if (!first) throw refused("The file is empty: a table has at least the names of its columns.");
  if (first.length > maxColumns)
    throw refused(`The file has more than ${maxColumns} columns.`, { limit: maxColumns });
  const names = columnNames(dialect.hasHeader ? first : first.map(() => null));
  if (!dialect.hasHeader) sink.note("The file has no header: its columns are named column_1 and so on.");
  const sample = dialect.sample.slice(dialect.hasHeader ? 1 : 0);
  const geometry = tableGeometry(sink, { names, sample, srsIsGiven: srs.isGiven });
  const records = new CsvRecords(openText(path, label), dialect.delimiter);
  const unnamed = new Set(names.filter((_, index) => dialect.hasHeader && !first[index]?.trim()));
  const table = new Table(records, { names, unnamed, geometry });
  const comma = commaOf(dialect);
  try {
    if (dialect.isNamed) records.next();
    if (dialect.hasHeader) records.next();
    while (records.next()) {
      sink.add((row) => {
        row.fields.comma = comma;
        table.write(row);
      });
      if (sink.isFull) await sink.flush();
    }
  } finally {
    records.close();
  }
  if (table.shortRows > 0)
    sink.note(
      `Fewer fields than the header: ${counted(table.shortRows, "row")}. The missing ones are empty.`,
    );
};

/** Two more than a layer has, for coordinates. */
const maxColumns = 1002;
const sampleBytes = 512 * 1024;
/** Exported texts that a spreadsheet would take for formulas have an apostrophe in front, and one more if they have some already. */
const neutralized = /^'+[=+\-@\t]/;

/** Who writes semicolons between fields, does so because commas are in numbers. */
function commaOf({ delimiter }: CsvDialect): "decimal" | "groups" | undefined {
  const character = String.fromCharCode(delimiter);
  return character === ";" ? "decimal" : character === "," ? "groups" : undefined;
}

function readDialect(path: string, label: string): CsvDialect {
  const source = openText(path, label);
  try {
    const sample = Buffer.alloc(sampleBytes);
    let length = 0;
    while (length < sampleBytes) {
      const read = source.read(sample, length);
      if (read === 0) break;
      length += read;
    }
    const text = sample.subarray(0, length);
    checkIsText(text);
    return findDialect(text, length < sampleBytes);
  } finally {
    source.close();
  }
}

/** @throws Refusal for other files that are named like CSV */
function checkIsText(text: Buffer): void {
  let controls = 0;
  for (const byte of text) if (byte < 9 || (byte > 13 && byte < 32 && byte !== 26)) controls++;
  const isArchive = ["504b0304", "d0cf11e0"].includes(text.toString("hex", 0, 4));
  if (isArchive || controls > 10 + text.length / 100) throw refused("The file is not CSV: it is not a text.");
  if (/^\s*<[?!a-zA-Z]/.test(text.toString("latin1", 0, 1000)))
    throw refused("The file is not CSV: it looks like XML or HTML.");
}

interface TableColumns {
  readonly names: readonly string[];
  /** Names of those that have none in the header: they are columns only if they have values. */
  readonly unnamed: ReadonlySet<string>;
  readonly geometry: RowGeometry;
}

class Table {
  shortRows = 0;
  private readonly cellOf = (index: number) => this.records.text(index);

  constructor(
    private readonly records: CsvRecords,
    private readonly columns: TableColumns,
  ) {}

  /** Writes the current record. @throws BadFeature */
  write(row: RowEncoder): void {
    const { records } = this;
    const { names, unnamed, geometry } = this.columns;
    if (!records.isText) throw badFeature("it has characters that are not UTF-8");
    if (records.count > names.length) this.checkRest();
    geometry.write(row, this.cellOf);
    for (let index = 0; index < names.length; index++) {
      if (geometry.takes(index)) continue;
      const text = records.text(index);
      if (text === null && unnamed.has(names[index]!)) continue;
      if (text?.charCodeAt(0) === apostrophe && neutralized.test(text))
        row.property(names[index]!, text.slice(1));
      else row.untyped(names[index]!, text, records.isQuoted(index));
    }
    if (records.count < names.length) this.shortRows++;
  }

  /** Delimiters at the end of a record are harmless. */
  private checkRest(): void {
    const { records } = this;
    const { names } = this.columns;
    for (let index = names.length; index < records.count; index++) {
      if (records.text(index) !== null || index > maxColumns)
        throw badFeature(`it has ${records.count} fields, where the header has ${names.length}`);
    }
  }
}

const apostrophe = 0x27;
