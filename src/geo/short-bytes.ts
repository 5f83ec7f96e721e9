/** Texts and runs of bytes that are mostly short: for those a loop is faster than a call of the runtime. */

const longestLoop = 40;

/** Writes a text in UTF-8; three bytes for each of its characters must fit. @returns the number of bytes */
export function writeText(target: Buffer, at: number, text: string): number {
  const { length } = text;
  if (length > longestLoop) return target.write(text, at, "utf8");
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return target.write(text, at, "utf8");
    target[at + index] = code;
  }
  return length;
}

/** Copies `count` bytes. */
export function copyBytes(source: Buffer, from: number, target: Buffer, at: number, count: number): void {
  if (count > longestLoop) source.copy(target, at, from, from + count);
  else for (let index = 0; index < count; index++) target[at + index] = source[from + index]!;
}
