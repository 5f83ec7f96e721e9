/** Range requests (RFC 9110, 14): parts of a body whose content never changes under one strong ETag. */

/** Positions of the first and last byte, counted from 0. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * The part that a `Range` header asks for.
 * @param bytes length of the whole body
 * @returns undefined when the whole body is to be sent: without the header, in another unit, malformed, or with several
 *   ranges, which servers may ignore; "unsatisfiable" when the body has no such bytes
 */
export function requestedRange(
  header: string | undefined,
  bytes: number,
): ByteRange | "unsatisfiable" | undefined {
  const match = /^bytes=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header ?? "");
  if (!match) return undefined;
  const [, from = "", to = ""] = match;
  if (from === "") {
    // The last bytes, as many as given.
    if (to === "") return undefined;
    const count = Math.min(Number(to), bytes);
    return count === 0 ? "unsatisfiable" : { first: bytes - count, last: bytes - 1 };
  }
  const first = Number(from);
  const last = to === "" ? bytes - 1 : Math.min(Number(to), bytes - 1);
  if (to !== "" && Number(to) < first) return undefined;
  return first >= bytes ? "unsatisfiable" : { first, last };
}

/** Whether `If-Range` allows a part: it is absent, or is the strong ETag of the body. Dates do not match. */
export const allowsRange = (ifRange: string | undefined, etag: string): boolean =>
  ifRange === undefined || ifRange.trim() === etag;
