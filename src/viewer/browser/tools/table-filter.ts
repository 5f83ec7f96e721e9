/** What is typed above the columns of a table, as a condition in the server's filter language. Does not depend on the DOM. */

export interface FilterColumn {
  readonly code: string;
  readonly type: string;
}

export interface Asked {
  /** Looked for in all columns of texts. */
  readonly words: string;
  /** What is typed for columns, by code. */
  readonly boxes: ReadonlyMap<string, string>;
}
export interface Condition {
  /** undefined = all objects. */
  readonly filter: string | undefined;
  /** Codes of columns whose text cannot be read; they select nothing away. */
  readonly wrong: ReadonlySet<string>;
}

/** Choices for columns of which only this can be asked, and for true and false. */
export type Choice = "filled" | "empty" | "true" | "false";

/** The server takes expressions of at most 1,000 characters; a letter in two cases has four. */
const maxLetters = 200;

const name = (code: string): string => `"${code}"`;
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const isTextColumn = ({ type }: Pick<FilterColumn, "type">): boolean => type === "string" || type === "text";

/** The choices of a column; undefined = its box takes a text. */
export function choicesOf({ type }: Pick<FilterColumn, "type">): readonly Choice[] | undefined {
  if (type === "bool") return ["true", "false", "empty"];
  if (type === "file" || type === "json") return ["filled", "empty"];
  return undefined;
}

export function conditionOf({ words, boxes }: Asked, columns: readonly FilterColumn[]): Condition {
  const terms: string[] = [];
  const wrong = new Set<string>();
  for (const column of columns) {
    const typed = boxes.get(column.code)?.trim();
    if (!typed) continue;
    const term = termOf(column, typed);
    if (term === undefined) wrong.add(column.code);
    else terms.push(term);
  }
  const texts = columns.filter(isTextColumn);
  for (const word of words.split(/\s+/).filter(Boolean).slice(0, 8)) {
    const ways = texts.map(({ code }) => contains(code, word));
    // Nothing has words where there are no texts.
    terms.push(ways.length > 0 ? `(${ways.join(" or ")})` : `"svc_id" is null`);
  }
  return { filter: terms.length > 0 ? terms.join(" and ") : undefined, wrong };
}

/** Both conditions. */
export const both = (...conditions: readonly (string | undefined)[]): string | undefined =>
  conditions
    .filter(Boolean)
    .map((condition) => `(${condition})`)
    .join(" and ") || undefined;

/** A text column contains the text, in either case. */
function contains(code: string, text: string): string {
  return `${name(code)} matches ${quoted(`.*${inEitherCase(text.slice(0, maxLetters))}.*`)}`;
}

/** A regular expression for the text, in which only letters and digits stand for themselves. */
function inEitherCase(text: string): string {
  return [...text]
    .map((letter) => {
      const [lower, upper] = [letter.toLowerCase(), letter.toUpperCase()];
      if (lower !== upper && [...lower].length === 1 && [...upper].length === 1) return `[${lower}${upper}]`;
      if (/[\p{L}\p{N}\s]/u.test(letter)) return letter;
      // A backslash before it would be one of another meaning for some letters, never for a sign.
      return letter === "^" || letter === "\\" ? `\\${letter}` : `[${letter}]`;
    })
    .join("");
}

/** The condition of a column; undefined when the text cannot be read. */
function termOf(column: FilterColumn, typed: string): string | undefined {
  const code = name(column.code);
  if (typed === "=" || typed === "empty") {
    if (typed === "=" || choicesOf(column))
      return isTextColumn(column) ? `(${code} is null or ${code} = '')` : `${code} is null`;
  }
  if (typed === "!=" || (typed === "filled" && choicesOf(column))) return `${code} is not null`;
  if (column.type === "bool") return typed === "true" || typed === "false" ? `${code} = ${typed}` : undefined;
  if (choicesOf(column)) return undefined;
  if (isTextColumn(column)) return textTerm(column.code, typed);
  const read = column.type === "datetime" ? spanOfTime : spanOfNumber;
  const [, sign, rest] = /^(<=|>=|!=|<|>|=)?(.*)$/s.exec(typed)!;
  const ends = rest!.split("..");
  if (ends.length > 2 || (ends.length === 2 && sign)) return undefined;
  if (ends.length === 2) {
    // 5..<6 is without its end.
    const isBefore = ends[1]!.trim().startsWith("<");
    const [from, to] = ends.map((end, at) => {
      const text = (at === 1 && isBefore ? end.trim().slice(1) : end).trim();
      return text === "" ? null : read(text);
    });
    if (from === undefined || to === undefined || (from === null && to === null)) return undefined;
    const terms = [
      from && `${code} >= ${from.least}`,
      to && (isBefore ? `${code} < ${to.least}` : within(code, to)),
    ];
    return `(${terms.filter(Boolean).join(" and ")})`;
  }
  const span = read(rest!.trim());
  if (!span) return undefined;
  switch (sign) {
    case "<":
      return `${code} < ${span.least}`;
    case ">=":
      return `${code} >= ${span.least}`;
    case "<=":
      return within(code, span);
    case ">":
      return span.before === undefined ? `${code} > ${span.least}` : `${code} >= ${span.before}`;
    case "!=":
      return `(not (${code} >= ${span.least} and ${within(code, span)}) or ${code} is null)`;
    default:
      return span.before === undefined
        ? `${code} = ${span.least}`
        : `(${code} >= ${span.least} and ${within(code, span)})`;
  }
}

function textTerm(code: string, typed: string): string {
  if (typed.startsWith("!=")) {
    const text = quoted(typed.slice(2).trim());
    return `(${name(code)} <> ${text} or ${name(code)} is null)`;
  }
  if (typed.startsWith("=")) return `${name(code)} = ${quoted(typed.slice(1).trim())}`;
  return contains(code, typed);
}

/** Values from `least`, up to one `before` which they lie; without `before` it is `least` alone. */
interface Span {
  readonly least: string;
  readonly before?: string;
}

const within = (code: string, { least, before }: Span): string =>
  before === undefined ? `${code} <= ${least}` : `${code} < ${before}`;

/** 1,234.5 and 1 234,5 are numbers; a single sign is that before decimals. */
function spanOfNumber(text: string): Span | undefined {
  const compact = text.replace(/[\s\u00a0\u202f']/g, "");
  const plain =
    compact.includes(".") && compact.includes(",")
      ? compact.lastIndexOf(",") > compact.lastIndexOf(".")
        ? compact.replaceAll(".", "").replace(",", ".")
        : compact.replaceAll(",", "")
      : compact.replace(",", ".");
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i.test(plain) && Number.isFinite(Number(plain))
    ? { least: String(Number(plain)) }
    : undefined;
}

/** A year, month, day or minute: 2024, 2024-05, 2024-05-31, 31.05.2024, 2024-05-31 12:30. */
function spanOfTime(text: string): Span | undefined {
  const [, day, month, year] = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(text) ?? [];
  const iso = year ? `${year}-${month!.padStart(2, "0")}-${day!.padStart(2, "0")}` : text;
  const parts = /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[ T](\d\d):(\d\d))?)?)?$/.exec(iso)?.slice(1);
  if (!parts) return undefined;
  const given = parts.filter((part) => part !== undefined).map(Number);
  const [y, m = 1, d = 1, hour = 0, minute = 0] = given;
  const start = new Date(Date.UTC(2000, m - 1, d, hour, minute));
  start.setUTCFullYear(y!);
  // A 31st of April would be the first of May.
  if (start.getUTCMonth() !== m - 1 || start.getUTCDate() !== d || hour > 23 || minute > 59 || y === 0)
    return undefined;
  const end = new Date(start);
  if (given.length === 1) end.setUTCFullYear(y! + 1);
  else if (given.length === 2) end.setUTCMonth(m);
  else if (given.length === 3) end.setUTCDate(d + 1);
  else end.setUTCMinutes(minute + 1);
  const literal = (time: Date) => quoted(time.toISOString().replace(".000Z", "Z"));
  return { least: literal(start), before: literal(end) };
}
