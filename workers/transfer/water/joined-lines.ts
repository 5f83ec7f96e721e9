/** Joins lines that were cut, by the equal coordinates of their ends. */

export type Point = readonly [number, number];
export type Line = readonly Point[];

/** Longer lines are read whole for each tile that they touch. */
const mostPoints = 400;

const keyOf = (point: Point): string => point.join();

/** Joins ends where exactly two lines meet, whichever way they run, while the result has not too many points. */
export function joinLines(lines: Iterable<Line>): Line[] {
  const all = [...lines].filter((line) => line.length > 1);
  const ends = new Map<string, number[]>();
  for (const [index, line] of all.entries())
    for (const point of [line[0]!, line.at(-1)!]) {
      const key = keyOf(point);
      const there = ends.get(key);
      if (there) there.push(index);
      else ends.set(key, [index]);
    }
  const used = new Set<number>();
  /** The line goes on at its end as long as there is one way only. */
  const extended = (line: Line): Line => {
    const points = [...line];
    while (points.length < mostPoints) {
      const there = ends.get(keyOf(points.at(-1)!))!;
      const next = there.length === 2 ? there.find((index) => !used.has(index)) : undefined;
      if (next === undefined) break;
      used.add(next);
      const other = all[next]!;
      const forward = keyOf(other[0]!) === keyOf(points.at(-1)!);
      points.push(...(forward ? other : [...other].reverse()).slice(1));
    }
    return points;
  };
  const joined: Line[] = [];
  for (const [index, line] of all.entries()) {
    if (used.has(index)) continue;
    used.add(index);
    joined.push(extended([...extended(line)].reverse()));
  }
  return joined;
}

/** Closed rings of lines that follow each other end to start; what does not close is left out. */
export function joinRings(lines: readonly Line[]): Line[] {
  const starts = new Map<string, Line[]>();
  for (const line of lines.filter(({ length }) => length > 1)) {
    const key = keyOf(line[0]!);
    starts.set(key, [...(starts.get(key) ?? []), line]);
  }
  const rings: Line[] = [];
  for (const key of starts.keys()) {
    for (let line = starts.get(key)!.pop(); line; line = starts.get(key)!.pop()) {
      const ring = [...line];
      for (let end = keyOf(ring.at(-1)!); end !== key; end = keyOf(ring.at(-1)!)) {
        const next = starts.get(end)?.pop();
        if (!next) break;
        ring.push(...next.slice(1));
      }
      if (ring.length > 3 && keyOf(ring.at(-1)!) === key) rings.push(ring);
    }
  }
  return rings;
}
