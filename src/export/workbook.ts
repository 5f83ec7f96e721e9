import { escapeXml, replaceControls } from "./xml-text.js";
import type { ZipEntry } from "./zip.js";

/** The files of a workbook (Office Open XML), of which each sheet has the same columns. */

/** Without the row of names; a sheet has 1 048 576 rows. */
export const rowsPerSheet = 1_048_575;
export const maxColumns = 16_384;

export interface WorkbookContent {
  /** Names the sheets. */
  readonly title: string;
  /** Of the columns. */
  readonly names: readonly string[];
  /** Rows as XML, in which characters that XML cannot hold stand as they are. */
  readonly batches: AsyncIterableIterator<readonly string[]>;
}

const main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const packageRelations = "http://schemas.openxmlformats.org/package/2006/relationships";
const types = "application/vnd.openxmlformats-officedocument.spreadsheetml";
const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/** The entries of the archive. Rows that no sheet has room for go to a further one, which is why the sheets are listed last. */
export async function* workbook(content: WorkbookContent): AsyncGenerator<ZipEntry, void> {
  const rows = new Rows(content.batches);
  try {
    yield entry("[Content_Types].xml", contentTypes);
    yield entry("_rels/.rels", relationships([["officeDocument", "xl/workbook.xml"]]));
    let sheets = 0;
    do {
      sheets++;
      yield { name: `xl/worksheets/sheet${sheets}.xml`, chunks: sheet(rows, content.names) };
    } while (rows.hasNext || (await rows.read()));
    const numbers = Array.from({ length: sheets }, (_, index) => index + 1);
    const list = numbers.map(
      (number) =>
        `<sheet name="${escapeXml(sheetName(content.title, number))}" sheetId="${number}" r:id="rId${number}"/>`,
    );
    yield entry(
      "xl/workbook.xml",
      `<workbook xmlns="${main}" xmlns:r="${relations}"><sheets>${list.join("")}</sheets></workbook>`,
    );
    yield entry(
      "xl/_rels/workbook.xml.rels",
      relationships([
        ...numbers.map((number) => ["worksheet", `worksheets/sheet${number}.xml`] as const),
        ["styles", "styles.xml"],
      ]),
    );
    yield entry("xl/styles.xml", styles);
  } finally {
    await content.batches.return?.();
  }
}

const entry = (name: string, xml: string): ZipEntry => ({ name, chunks: once(declaration + xml) });

async function* once(text: string): AsyncGenerator<string, void> {
  yield text;
}

const contentTypes =
  '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">' +
  '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
  `<Default Extension="xml" ContentType="${types}.worksheet+xml"/>` +
  `<Override PartName="/xl/workbook.xml" ContentType="${types}.sheet.main+xml"/>` +
  `<Override PartName="/xl/styles.xml" ContentType="${types}.styles+xml"/></Types>`;

const relationships = (targets: readonly (readonly [type: string, target: string])[]): string =>
  `<Relationships xmlns="${packageRelations}">${targets
    .map(
      ([type, target], index) =>
        `<Relationship Id="rId${index + 1}" Type="${relations}/${type}" Target="${target}"/>`,
    )
    .join("")}</Relationships>`;

/** Style 1 is that of texts that look like formulas: an editor keeps them texts. */
const styles =
  `<styleSheet xmlns="${main}"><fonts count="1"><font/></fonts><fills count="2"><fill><patternFill patternType="none"/></fill>` +
  '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>' +
  '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf xfId="0"/><xf xfId="0" quotePrefix="1"/></cellXfs>' +
  '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>' +
  "</styleSheet>";

const maxSheetName = 31;

/** A name that a sheet may have: 31 characters, without `[]:*?/\` and without apostrophes at its ends. */
export function sheetName(title: string, number: number): string {
  const suffix = number === 1 ? "" : ` (${number})`;
  const name = title
    .replace(/[[\]:*?/\\\p{Cc}\p{Surrogate}]/gu, "_")
    .slice(0, maxSheetName - suffix.length)
    // The cut may have halved a pair.
    .replace(/\p{Surrogate}/gu, "")
    .replace(/^'+|'+$/g, "_")
    .trim();
  // "History" is reserved.
  const usable = name === "" || /^history$/i.test(name) ? `${name}_` : name;
  return usable + suffix;
}

/** A, B … Z, AA … of a column's index from 0. */
export function columnLetters(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  return index < 26 ? letter : columnLetters(Math.floor(index / 26) - 1) + letter;
}

const chunkCharacters = 16 * 1024;

async function* sheet(rows: Rows, names: readonly string[]): AsyncGenerator<string, void> {
  const cells = names.map(
    (name, index) => `<c r="${columnLetters(index)}1" t="inlineStr"><is><t>${escapeXml(name)}</t></is></c>`,
  );
  let pending = `${declaration}<worksheet xmlns="${main}"><sheetData><row r="1">${cells.join("")}</row>`;
  for (let count = 0; count < rowsPerSheet && (rows.hasNext || (await rows.read())); count++) {
    pending += rows.take();
    if (pending.length < chunkCharacters) continue;
    yield replaceControls(pending, escapeControl);
    pending = "";
  }
  yield `${replaceControls(pending, escapeControl)}</sheetData></worksheet>`;
}

const escapeControl = (character: string): string =>
  `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`;

/** Rows one after the other. */
class Rows {
  private batch: readonly string[] = [];
  private next = 0;

  constructor(private readonly batches: AsyncIterator<readonly string[]>) {}

  /** Whether `take` may be called. Synchronous, since a promise for each row takes longer than the row. */
  get hasNext(): boolean {
    return this.next < this.batch.length;
  }

  /** Reads the next batch; false = there is none. */
  async read(): Promise<boolean> {
    const { done, value } = await this.batches.next();
    if (done) return false;
    this.batch = value;
    this.next = 0;
    return true;
  }

  take(): string {
    return this.batch[this.next++] as string;
  }
}
