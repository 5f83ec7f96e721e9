/** Formats single values for display as the format of a column says, in a language. Pure; the viewer uses it, too. */

/** Formats a JSON value of the API: a string for numbers, timestamps and booleans, else the value itself. */
export type Formatter = (value: unknown) => unknown;

/** That of the request, and that of the project. */
export interface FormatLanguages {
  readonly own: string;
  readonly main: string;
}

/** One text for all languages, or one per language code. */
export type LocalizedText = string | Readonly<Record<string, string>>;

export interface NumberFormat {
  readonly kind: "number";
  /** Decimal places; absent = as many as the number has. */
  readonly decimals?: number;
  /** Thousands separators; default: those of the language. */
  readonly grouping?: boolean;
  readonly prefix?: LocalizedText;
  readonly suffix?: LocalizedText;
}
export interface DatetimeFormat {
  readonly kind: "datetime";
  readonly pattern: LocalizedText;
}
export interface BoolFormat {
  readonly kind: "bool";
  readonly true?: LocalizedText;
  readonly false?: LocalizedText;
}
export type ColumnFormat = NumberFormat | DatetimeFormat | BoolFormat;

/** Null stays null. */
export function formatterOf(format: ColumnFormat, languages: FormatLanguages): Formatter {
  switch (format.kind) {
    case "number":
      return numberFormatter(format, languages);
    case "datetime":
      return datetimeFormatter(format, languages);
    case "bool":
      return boolFormatter(format, languages);
  }
}

/** Locale for Intl: the request's language if supported, else the project's main language, else English. */
export function locale(languages: FormatLanguages): string {
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

function inLanguage(text: LocalizedText | undefined, languages: FormatLanguages, fallback: string): string {
  if (text === undefined) return fallback;
  if (typeof text === "string") return text;
  const own = (code: string) => (Object.hasOwn(text, code) ? text[code] : undefined);
  return own(languages.own) ?? own(languages.main) ?? Object.values(text)[0] ?? fallback;
}

/** Maximum number of decimals that Intl shows. */
const maxDecimals = 20;

/** @param minus in place of the hyphen that many languages have for it */
export function numberFormatter(format: NumberFormat, languages: FormatLanguages, minus = "-"): Formatter {
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
    return `${prefix}${text === minusZero ? zero : text.replace("-", minus)}${suffix}`;
  };
}

function boolFormatter(format: BoolFormat, languages: FormatLanguages): Formatter {
  const yes = inLanguage(format.true, languages, "true");
  const no = inLanguage(format.false, languages, "false");
  return (value) => (typeof value === "boolean" ? (value ? yes : no) : value);
}

const timestamp = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?Z$/;

/** Formatted parts of a timestamp by pattern token. */
interface TimestampParts {
  readonly [token: string]: string;
}

function datetimeFormatter(format: DatetimeFormat, languages: FormatLanguages): Formatter {
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

/** Splits a pattern into tokens (runs of one letter) and literal text; single quotes enclose letters, '' is a quote. */
export function splitPattern(pattern: string): { readonly token?: string; readonly literal?: string }[] {
  const parts: { token?: string; literal?: string }[] = [];
  for (const [part] of pattern.matchAll(/''|'(?:[^']|'')*'?|([A-Za-z])\1*|[^A-Za-z']+/g)) {
    if (part === "''") parts.push({ literal: "'" });
    else if (part.startsWith("'")) parts.push({ literal: part.replace(/^'|'$/g, "").replaceAll("''", "'") });
    else if (/^[A-Za-z]/.test(part)) parts.push({ token: part });
    else parts.push({ literal: part });
  }
  return parts;
}
