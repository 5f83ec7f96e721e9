import { literal } from "../features/sql.js";
import type { Check } from "./export-checks.js";
import type { FileColumn } from "./export-columns.js";
import { columnList } from "./export-notes.js";

/** Text in XML files. */

/** SQL of a text as XML content; null for null. A carriage return would be read as a line feed. */
export const xmlText = (text: string): string =>
  String.raw`replace(replace(replace(replace(${text},'&','&amp;'),'<','&lt;'),'>','&gt;'),E'\r','&#13;')`;

/** SQL of a column's value as XML content; only texts and JSON need escapes. */
export const xmlValue = ({ alias, isText, type }: FileColumn): string =>
  isText || type === "json" ? xmlText(alias) : alias;

/** A text as XML content or as the value of an attribute in double quotes. */
export const escapeXml = (text: string): string =>
  withoutControls(
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;"),
  );

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const controls = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;

/** Replaces the characters that XML 1.0 cannot hold, not even as references. */
export const replaceControls = (text: string, by: (character: string) => string): string =>
  text.replace(controls, by);

export const withoutControls = (text: string): string => replaceControls(text, () => "\ufffd");

/** Finds texts of which `withoutControls` changes something. */
export const controlsCheck = (columns: readonly FileColumn[]): Check => ({
  says: "Control characters, which XML cannot hold, are written as U+FFFD",
  columns: new Map(
    columns
      .filter(({ isText }) => isText)
      .map(({ name, alias }) => [
        name,
        `${alias} ~ ${literal(String.raw`[\u0001-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]`)}`,
      ]),
  ),
});

/** Finds texts that readers may take for numbers, in files that do not name the types of values. */
export const numericTextsCheck = (columns: readonly FileColumn[]): Check => ({
  says: "Readers may take texts of digits for numbers, since the file does not name types",
  columns: new Map(
    columns
      .filter(({ isText }) => isText)
      .map(({ name, alias }) => [name, String.raw`${alias} ~ '^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$'`]),
  ),
});

/** A name of an element, which begins with a letter or _ and has no colon. Column codes have no dots, so it stays unique. */
export const elementName = (name: string): string =>
  name.replace(/[^A-Za-z0-9_.-]/g, ".").replace(/^(?![A-Za-z_])/, "_");

/** Says which columns have elements of other names. */
export function elementNotes(columns: readonly FileColumn[]): readonly string[] {
  const renamed = columns.filter(({ name }) => elementName(name) !== name);
  const names = renamed.map(({ name }) => `${name} is ${elementName(name)}`);
  return names.length > 0 ? [`Names of elements have no colons: ${columnList(names)}.`] : [];
}
