/**
 * The pieces as they come. A store that sends other than what it was given, such as a page of a proxy before it, must not pass
 * for a file.
 * @throws Error, before the first byte too many, or in place of the end
 */
export async function* exactBytes(
  chunks: AsyncIterable<Uint8Array>,
  bytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let left = bytes;
  for await (const chunk of chunks) {
    left -= chunk.length;
    if (left < 0) break;
    yield chunk;
  }
  if (left !== 0) throw new Error(`A file does not have its ${bytes} bytes where it is stored.`);
}
