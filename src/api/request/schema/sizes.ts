import { type BodyLimits, defaultBodyLimits } from "../../../http/types.js";

const kib = 1024;
const mib = 1024 * kib;

/** Limits for the settings and names of one map, folder, layer or column. */
const element = { bytes: 256 * kib, members: 5_000, values: 50_000 };

/**
 * Limits of request bodies. Operations that require a token accept at most `small` if neither query nor headers have
 * one (`operation.ts`).
 */
export const sizes = {
  /** Logins, passwords and tokens; parameters of a deletion or an upload. */
  small: { ...defaultBodyLimits, bytes: 64 * kib },
  /** A map, folder, layer or column without a style. */
  element,
  /** One with a style, which may have a million characters. */
  styled: { ...element, bytes: 2 * mib },
  /** A list for a whole map or layer. */
  list: { bytes: 2 * mib, members: 100_000, values: 250_000 },
  /** A publication tree of 5,000 elements, with paths of icons. */
  tree: { bytes: 2 * mib, members: 40_000, values: 100_000 },
  /** Settings of a visualization. */
  settings: { bytes: mib, members: 25_000, values: 60_000 },
  /** Parameters that select objects: column codes, ids, a filter value. Each parameter limits its own list. */
  selection: { bytes: mib, members: 1_000, values: 40_000 },
  /** Values and geometry of objects: limited by `maxBodyBytes` only. */
  data: { bytes: undefined, members: 50_000, values: Number.POSITIVE_INFINITY },
  /** A line of 10,000 positions, which is read at once. */
  line: { bytes: 512 * kib, members: 1_000, values: 50_000 },
  /** Many objects: 100,000 of them. */
  bulk: { bytes: undefined, members: 4_000_000, values: Number.POSITIVE_INFINITY },
} as const satisfies Readonly<Record<string, BodyLimits>>;
