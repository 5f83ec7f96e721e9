/** Text in encodings that `Buffer` does not write. */

/** The bytes of a text in an encoding that `TextDecoder` knows; undefined when it lacks one of the characters. */
export function encode(text: string, label: string): Buffer | undefined {
  if (label === "utf-8") return Buffer.from(text);
  if (label === "utf-16le") return Buffer.from(text, "utf16le");
  if (label === "utf-16be") return Buffer.from(text, "utf16le").swap16();
  const decoder = new TextDecoder(label);
  const bytes = new Map<string, number>();
  for (let byte = 0; byte < 256; byte++) bytes.set(decoder.decode(Buffer.from([byte])), byte);
  const encoded = [...text].map((character) => bytes.get(character));
  return encoded.includes(undefined) ? undefined : Buffer.from(encoded as number[]);
}
