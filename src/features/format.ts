import { type Column, isId } from "../catalog/state.js";
import type { Languages } from "./column-sql.js";
import {
  type BoolFormat,
  type DatetimeFormat,
  type LocalizedText,
  type NumberFormat,
  splitPattern,
} from "./format-settings.js";

/** Formats values for display (`f=fjson`, PDF) by their columns' formats, in the request's language. Pure. */

/** Formats a JSON value of the API: a string for numbers, timestamps and booleans, else the value itself. */
export type Formatter = (value: unknown) => unknown;

/** A column's formatter; undefined when its values are not formatted. Null stays null. */
export function columnFormatter(column: Column, languages: Languages): Formatter | undefined {
  const format = column.format;
  switch (column.type) {
    case "number":
      if (format?.kind === "number") return numberFormatter(format as unknown as NumberFormat, languages);
      // Ids have no digit grouping.
      return isId(column) ? undefined : numberFormatter({ kind: "number" }, languages);
    case "datetime":
      return format?.kind === "datetime"
        ? datetimeFormatter(format as unknown as DatetimeFormat, languages)
        : undefined;
    case "bool":
      return boolFormatter(
        format?.kind === "bool" ? (format as unknown as BoolFormat) : { kind: "bool" },
        languages,
      );
    default:
      return undefined;
  }
}

/**
 * A function that formats the values in an object's JSON text, as PostgreSQL makes it (`item.ts`): in its `fields`, or a
 * feature's `properties`. The rest, which may be a large geometry, stays as it is and is not parsed.
 * @param columns columns whose values are formatted
 */
export function objectFormatter(columns: readonly Column[], languages: Languages): (text: string) => string {
  const formatters = columns.flatMap((column) => {
    const format = columnFormatter(column, languages);
    return format ? [{ code: column.code, format }] : [];
  });
  return (text) => {
    if (formatters.length === 0) return text;
    const place = valuesIn(text);
    if (!place) return text;
    const fields = JSON.parse(text.slice(...place)) as Record<string, unknown>;
    for (const { code, format } of formatters) {
      if (Object.hasOwn(fields, code)) fields[code] = format(fields[code]);
    }
    return text.slice(0, place[0]) + JSON.stringify(fields) + text.slice(place[1]);
  };
}

const fieldsName = ',"fields":';
const propertiesName = ',"properties":';

/** From where to where the values are in an object's text; undefined = it has none. */
function valuesIn(text: string): [start: number, end: number] | undefined {
  // Nothing that a client chose stands before them.
  if (text.startsWith('{"type":"Feature"')) {
    const start = text.indexOf(propertiesName) + propertiesName.length;
    return [start, text.length - 1];
  }
  const before = text.indexOf(fieldsName);
  // Without values it is nowhere: geometries have the names of GeoJSON.
  if (before < 0) return undefined;
  const start = before + fieldsName.length;
  return [start, objectEnd(text, start)];
}

/** The end of the JSON object that begins at `start`. */
function objectEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = stringEnd(text, at);
        break;
      case 0x7b: // {
        depth++;
        break;
      case 0x7d: // }
        if (--depth === 0) return at + 1;
        break;
    }
  }
  return text.length;
}

/** The end of the string that begins at `start`; long ones are not looked through a character at a time. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}

/** Locale for Intl: the request's language if supported, else the project's main language, else English. */
export function locale(languages: Languages): string {
  for (const code of [languages.own, languages.main]) {
    try {
      const [known] = Intl.NumberFormat.supportedLocalesOf(code.replaceAll("_", "-"));
      if (known) return known;
    } catch {
      // Not a valid language tag.
    }
  }
  return "en";
}

function inLanguage(text: LocalizedText | undefined, languages: Languages, fallback: string): string {
  if (text === undefined) return fallback;
  if (typeof text === "string") return text;
  const own = (code: string) => (Object.hasOwn(text, code) ? text[code] : undefined);
  return own(languages.own) ?? own(languages.main) ?? Object.values(text)[0] ?? fallback;
}

/** Maximum number of decimals that Intl shows. */
const maxDecimals = 20;

function numberFormatter(format: NumberFormat, languages: Languages): Formatter {
  const { decimals, grouping } = format;
  const intl = new Intl.NumberFormat(locale(languages), {
    minimumFractionDigits: decimals ?? 0,
    maximumFractionDigits: decimals ?? maxDecimals,
    ...(grouping === undefined ? {} : { useGrouping: grouping }),
  });
  const prefix = inLanguage(format.prefix, languages, "");
  const suffix = inLanguage(format.suffix, languages, "");
  const zero = intl.format(0);
  const minusZero = intl.format(-0);
  return (value) => {
    if (typeof value !== "number") return value;
    const text = intl.format(value);
    // A negative number that rounds to zero is shown without a sign.
    return `${prefix}${text === minusZero ? zero : text}${suffix}`;
  };
}

function boolFormatter(format: BoolFormat, languages: Languages): Formatter {
  const yes = inLanguage(format.true, languages, "true");
  const no = inLanguage(format.false, languages, "false");
  return (value) => (typeof value === "boolean" ? (value ? yes : no) : value);
}

const timestamp = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?Z$/;

/** Formatted parts of a timestamp by pattern token. */
interface TimestampParts {
  readonly [token: string]: string;
}

function datetimeFormatter(format: DatetimeFormat, languages: Languages): Formatter {
  const tag = locale(languages);
  const names = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(tag, { ...options, timeZone: "UTC" });
  const named: Readonly<Record<string, Intl.DateTimeFormat>> = {
    MMMM: names({ month: "long", day: "numeric" }),
    MMM: names({ month: "short", day: "numeric" }),
    EEEE: names({ weekday: "long" }),
    EEE: names({ weekday: "short" }),
  };
  const parts = splitPattern(inLanguage(format.pattern, languages, "yyyy-MM-dd'T'HH:mm:ss'Z'"));
  return (value) => {
    const match = typeof value === "string" ? timestamp.exec(value) : null;
    if (!match) return value;
    const numbers = numericParts(match);
    return parts
      .map(({ token, literal }) => {
        if (token === undefined) return literal;
        const intl = named[token];
        return intl ? nameOf(intl, token, String(value)) : (numbers[token] ?? token);
      })
      .join("");
  };
}

function numericParts(match: RegExpExecArray): TimestampParts {
  const [, year = "", month = "", day = "", hour = "", minute = "", second = "", fraction = ""] = match;
  const twelve = String(Number(hour) % 12 || 12);
  const bare = (digits: string) => String(Number(digits));
  return {
    yyyy: year,
    yy: year.slice(2),
    MM: month,
    M: bare(month),
    dd: day,
    d: bare(day),
    HH: hour,
    H: bare(hour),
    hh: twelve.padStart(2, "0"),
    h: twelve,
    mm: minute,
    m: bare(minute),
    ss: second,
    s: bare(second),
    SSS: fraction.padEnd(3, "0").slice(0, 3),
    a: Number(hour) < 12 ? "AM" : "PM",
  };
}

/** The name of the month (in the form used with a day: мая, not май) or weekday. */
function nameOf(intl: Intl.DateTimeFormat, token: string, value: string): string {
  const wanted = token.startsWith("M") ? "month" : "weekday";
  return intl.formatToParts(new Date(value)).find(({ type }) => type === wanted)?.value ?? "";
}
