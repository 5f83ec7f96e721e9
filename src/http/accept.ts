/** What a client would rather have, by its Accept header (RFC 9110, 12.5.1). */

interface Range {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
}

/** Longer headers, and further ranges, are not read. */
const longest = 1_000;
const mostRanges = 50;

function rangesOf(accept: string): Range[] {
  return accept
    .slice(0, longest)
    .split(",", mostRanges)
    .flatMap((part) => {
      const [name = "", ...parameters] = part.toLowerCase().split(";");
      const [, type, subtype] = /^\s*([^\s/]+)\/([^\s/]+)\s*$/.exec(name) ?? [];
      if (type === undefined || subtype === undefined) return [];
      const given = parameters.map((one) => /^\s*q\s*=\s*([\d.]+)\s*$/.exec(one)?.[1]).find(Boolean);
      const quality = given === undefined ? 1 : Math.min(1, Number(given));
      return [{ type, subtype, quality: Number.isNaN(quality) ? 0 : quality }];
    });
}

/** How much a media type is wanted: its quality, and among equals how exactly it is named. 0 = not at all. */
function wanted(ranges: readonly Range[], mediaType: string): number {
  const [type, subtype] = mediaType.split("/");
  let exactness = 0;
  let quality = 0;
  for (const range of ranges) {
    const exact =
      range.type === type && range.subtype === subtype
        ? 3
        : range.type === type && range.subtype === "*"
          ? 2
          : range.type === "*" && range.subtype === "*"
            ? 1
            : 0;
    // The most exact range counts, whatever its quality.
    if (exact > exactness) [exactness, quality] = [exact, range.quality];
  }
  return quality === 0 ? 0 : quality * 10 + exactness;
}

/**
 * The media type that a client wants most; of equally wanted ones the first. Without the header, and when it wants none of
 * them, it is the first of all.
 * @param mediaTypes in lower case, without parameters
 */
export function preferred<Type extends string>(
  accept: string | undefined,
  mediaTypes: readonly [Type, ...Type[]],
): Type {
  if (!accept) return mediaTypes[0];
  const ranges = rangesOf(accept);
  let [best] = mediaTypes;
  let most = 0;
  for (const type of mediaTypes) {
    const much = wanted(ranges, type);
    if (much > most) [best, most] = [type, much];
  }
  return best;
}

/** Whether a client would rather have JSON of any kind than HTML. */
export function prefersJson(accept: string | undefined): boolean {
  if (!accept) return false;
  const ranges = rangesOf(accept);
  const kinds = ranges
    .filter(({ type, subtype }) => type === "application" && subtype.endsWith("+json"))
    .map(({ subtype }) => `application/${subtype}`);
  const json = ["application/json", "application/problem+json", ...kinds];
  return Math.max(...json.map((type) => wanted(ranges, type))) > wanted(ranges, "text/html");
}
