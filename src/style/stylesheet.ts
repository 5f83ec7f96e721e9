import { type Place, placeAt, StyleError } from "./lexer.js";

/** A CartoCSS stylesheet whose syntax and size were checked. */
export interface Stylesheet {
  /** The text without comments, each declaration closed with `;`, each string in quotes that need no escapes if possible. */
  readonly parts: readonly Part[];
  readonly declarations: readonly Declaration[];
  /** Tokens of the values by variable name (with `@`). */
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** The ids that its selectors name, without `#`. */
  readonly ids: ReadonlySet<string>;
  /** The rules that stand in no other. */
  readonly blocks: readonly Block[];
  /** Whether it has a `Map` selector. */
  readonly hasMap: boolean;
}

export interface Part {
  readonly role: "text" | "id" | "class" | "variable";
  readonly text: string;
  /** Where it stands in the style. */
  readonly place: Place;
}

/** A rule that stands in no other. */
export interface Block {
  /** Indexes of its first part and of that behind its last. */
  readonly first: number;
  readonly end: number;
  /** Of each of its selectors the ids. */
  readonly selectors: readonly (readonly string[])[];
}

export interface Declaration {
  readonly property: string;
  /** Tokens of the value as written, with spaces between them. */
  readonly value: string;
  readonly place: Place;
}

/** How a stylesheet is written for the compiler. */
export interface StylesheetTextOptions {
  /** Replaces an id selector. */
  readonly id: (id: string) => string;
  /** Replaces every class selector. */
  readonly className: string;
  /** Which part is written. Of the rest the line ends remain, so that line numbers stay. Default: everything. */
  readonly only?: "variables" | "rules";
  /** Rules that only other ids than this select are left out; undefined = all are written. */
  readonly forId?: string | undefined;
}

/** The stylesheet's text with its id and class selectors replaced. */
export function stylesheetText(sheet: Stylesheet, options: StylesheetTextOptions): string {
  return writtenParts(sheet, options).join("");
}

/** Where the character at `written` (of the text that `stylesheetText` gives) stands in the style. */
export function sourcePlace(sheet: Stylesheet, options: StylesheetTextOptions, written: Place): Place {
  const texts = writtenParts(sheet, options);
  let line = 1;
  let column = 1;
  for (const [index, text] of texts.entries()) {
    const end = placeAt(text, text.length);
    const ends = line + end.line - 1;
    const endColumn = end.line === 1 ? column + text.length : (end.column ?? 1);
    if (ends > written.line || (ends === written.line && endColumn > (written.column ?? 1))) {
      const { place } = sheet.parts[index] as Part;
      const isFirstLine = written.line === line;
      return {
        line: written.line,
        column: isFirstLine
          ? (place.column ?? 1) + Math.max(0, (written.column ?? 1) - column)
          : written.column,
      };
    }
    line = ends;
    column = endColumn;
  }
  return { line: written.line };
}

function writtenParts(sheet: Stylesheet, { id, className, only, forId }: StylesheetTextOptions): string[] {
  const texts = sheet.parts.map(({ role, text }) => {
    if (only !== undefined && (role === "variable") !== (only === "variables")) return lineEnds(text);
    return role === "id" ? `#${id(text)}` : role === "class" ? `.${className}` : text;
  });
  if (forId !== undefined) {
    for (const { first, end, selectors } of sheet.blocks) {
      if (selectors.some((ids) => ids.every((one) => one === forId))) continue;
      for (let index = first; index < end; index++) texts[index] = lineEnds(texts[index] as string);
    }
  }
  return texts;
}

const lineEnds = (text: string): string => text.replace(/[^\n]+/g, "");

/** Tokens of one variable after other variables in it are replaced by their values. */
const maxExpandedTokens = 20_000;

/**
 * Bounds the length of variables after expansion. A few variables that use each other could expand to gigabytes, or
 * refer to themselves.
 * @throws StyleError
 */
export function checkVariables(sheets: readonly Stylesheet[]): void {
  const values = new Map(sheets.flatMap((sheet) => [...sheet.variables]));
  const sizes = new Map<string, number>();
  const pending = new Set<string>();
  const size = (name: string): number => {
    const known = sizes.get(name);
    if (known !== undefined) return known;
    if (pending.has(name)) throw new StyleError(`The variable ${name} is defined by itself.`);
    pending.add(name);
    let sum = 0;
    for (const text of values.get(name) ?? []) sum += text.startsWith("@") ? size(text) : 1;
    pending.delete(name);
    if (sum > maxExpandedTokens) throw new StyleError(`The variable ${name} stands for too much.`);
    sizes.set(name, sum);
    return sum;
  };
  for (const name of values.keys()) size(name);
}
