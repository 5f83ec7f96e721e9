/** Texts without the lines at their begin and end in which they are the same; a line before and after stays. Does not depend on the DOM. */
export function differing(one: string, other: string): readonly [string, string] {
  const lines = [one.split("\n"), other.split("\n")] as const;
  const [a, b] = lines;
  const least = Math.min(a.length, b.length);
  let begin = 0;
  while (begin < least && a[begin] === b[begin]) begin++;
  let end = 0;
  while (end < least - begin && a.at(-1 - end) === b.at(-1 - end)) end++;
  const from = Math.max(0, begin - 1);
  const part = (all: readonly string[]) => {
    const to = Math.min(all.length, all.length - end + 1);
    return [...(from > 0 ? ["…"] : []), ...all.slice(from, to), ...(to < all.length ? ["…"] : [])].join("\n");
  };
  return [part(a), part(b)];
}
