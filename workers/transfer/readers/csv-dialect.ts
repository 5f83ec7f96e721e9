import { notationsOf } from "../notations.js";
import { CsvRecords } from "./csv-records.js";
import { isGeometryText } from "./geometry-text.js";
import { BufferSource } from "./text-source.js";

/** How a CSV file is written, found from its first records. */

export interface CsvDialect {
  /** Character code. */
  readonly delimiter: number;
  /** Whether a first line `sep=;` names the delimiter, as spreadsheets write it. */
  readonly isNamed: boolean;
  /** Whether the first record names the columns. */
  readonly hasHeader: boolean;
  /** The first records, the header included; the last one may be cut. */
  readonly sample: readonly (readonly (string | null)[])[];
}

/** In order of preference where the records fit several: a comma is the likeliest to stand within fields. */
const delimiters = ["\t", ";", "|", ","];
const sampleRecords = 500;

/**
 * @param text the beginning of the file as UTF-8, without a byte order mark
 * @param isWhole whether that is all of it
 */
export function findDialect(text: Buffer, isWhole: boolean): CsvDialect {
  const named = /^"?sep=([\t;|,])"?\r?\n/i.exec(text.toString("latin1", 0, 10));
  const body = named ? text.subarray(named[0].length) : text;
  const delimiter = named ? named[1]! : likeliest(body, isWhole);
  const sample = recordsOf(body, delimiter, isWhole);
  return {
    delimiter: delimiter.charCodeAt(0),
    isNamed: named !== null,
    hasHeader: sample.length > 0 && isHeader(sample[0]!),
    sample,
  };
}

/** The delimiter by which most records have as many fields as the first one, which has several. */
function likeliest(text: Buffer, isWhole: boolean): string {
  let [best, bestShare] = [",", 0];
  for (const delimiter of delimiters) {
    const counts = recordsOf(text, delimiter, isWhole).map((fields) => fields.length);
    const [first] = counts;
    if (first === undefined || first === 1) continue;
    const share = counts.filter((count) => count === first).length / counts.length;
    if (share > bestShare) [best, bestShare] = [delimiter, share];
  }
  return best;
}

/** The first records; the last one may be cut, and counts only when there are few others. */
function recordsOf(text: Buffer, delimiter: string, isWhole: boolean): (string | null)[][] {
  const records = new CsvRecords(new BufferSource(text), delimiter.charCodeAt(0), { isSample: true });
  const found: (string | null)[][] = [];
  while (found.length < sampleRecords && records.next())
    found.push(Array.from({ length: records.count }, (_, index) => records.text(index)));
  return found.length > 2 && found.length < sampleRecords && !isWhole ? found.slice(0, -1) : found;
}

/** A first record is data when it has a geometry, a date, true or false, or a number that is no year; or numbers alone. */
function isHeader(record: readonly (string | null)[]): boolean {
  const cells = record.flatMap((cell) => (cell === null || cell.trim() === "" ? [] : [cell.trim()]));
  const values = cells.filter((cell) => isGeometryText(cell) || notationsOf(cell) !== 0);
  return values.length < cells.length && values.every((cell) => /^[12]\d{3}$/.test(cell));
}
