/** How values are written in fields of a form, and read there. Does not depend on the DOM. */

export interface Reading {
  written(value: unknown): string;
  /** Undefined = it is none. */
  read(text: string): unknown;
}

export const isMissing = (value: unknown): boolean => value === null || value === undefined;

const textReading: Reading = {
  written: (value) => (isMissing(value) ? "" : String(value)),
  read: (text) => (text === "" ? null : text),
};
const numberReading: Reading = {
  written: textReading.written,
  read: (text) => {
    const compact = text.replace(/[\s\u00a0\u202f]/g, "").replace(",", ".");
    if (compact === "") return null;
    return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(compact) ? Number(compact) : undefined;
  },
};
const jsonReading: Reading = {
  written: (value) => (isMissing(value) ? "" : JSON.stringify(value, undefined, 2)),
  read: (text) => {
    if (text.trim() === "") return null;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return undefined;
    }
  },
};

/** @param type of a column */
export const readingOf = (type: string): Reading =>
  type === "number" ? numberReading : type === "json" ? jsonReading : textReading;
