import { type BodyLimits, defaultBodyLimits } from "../../../http/types.js";

const kib = 1024;
const mib = 1024 * kib;

/** Settings and names of one element of the catalogue. */
const element = { bytes: 256 * kib, members: 5_000, values: 50_000 };

/**
 * How much body operations take. What needs a token takes no more than `small` while nothing before the body tells who
 * asks (`operation.ts`).
 */
export const sizes = {
  /** Logins, passwords and tokens; the few parameters of a deletion, or beside a file. */
  small: { ...defaultBodyLimits, bytes: 64 * kib },
  /** An element of the catalogue without a style. */
  element,
  /** One with a style, which may have a million characters. */
  styled: { ...element, bytes: 2 * mib },
  /** A list that describes a map or layer as a whole. */
  list: { bytes: 2 * mib, members: 100_000, values: 250_000 },
  /** What picks objects: column codes, ids, a value to compare with. Each parameter says how long its own list may be. */
  selection: { bytes: mib, members: 1_000, values: 40_000 },
  /** Values and geometry of objects: as much as the installation takes (`maxBodyBytes`). */
  data: { bytes: undefined, members: 50_000, values: Number.POSITIVE_INFINITY },
} as const satisfies Readonly<Record<string, BodyLimits>>;
