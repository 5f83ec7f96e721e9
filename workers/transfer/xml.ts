import { closeSync, openSync, readSync } from "node:fs";
import { SaxesParser, type SaxesTagNS } from "saxes";
import { type Refusal, refused } from "./refusal.js";

/**
 * Reads XML piece by piece. Entities that a document declares are not expanded and nothing that it names is opened: such a
 * reference is an error.
 */

const pieceBytes = 256 * 1024;
/** Bound on a text or a tag, in characters. */
const maxPieceLength = 256 * 1024 ** 2;
const maxDepth = 200;
const maxAttributes = 1000;

export interface XmlElement {
  /** Name without its prefix. */
  readonly name: string;
  /** Namespace; "" when there is none, the prefix when that is not declared. */
  readonly namespace: string;
  /** Value of an attribute by its name without a prefix. */
  attribute(name: string): string | undefined;
}

export interface XmlHandler {
  open(element: XmlElement): void;
  /** @param text of the element itself, without that of the elements in it; only of those that `wantsText` */
  close(name: string, text: string): void;
  /** Whether the text of the element that was opened last is wanted. */
  readonly wantsText: boolean;
}

export type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * Calls the handler for all elements of the document.
 * @param settle called after each piece of the document
 * @throws Refusal when it is not well-formed, or larger or deeper than anything real
 */
export async function readXml(
  text: AsyncIterable<string>,
  handler: XmlHandler,
  settle: () => Promise<void>,
): Promise<void> {
  const source = new XmlSource(handler);
  for await (const piece of text) {
    source.write(piece);
    await settle();
  }
  source.close();
  await settle();
}

class XmlSource {
  private readonly parser = new SaxesParser({ xmlns: true });
  private readonly texts: (string | undefined)[] = [];
  private pending = 0;

  constructor(handler: XmlHandler) {
    const { parser, texts } = this;
    // Of the element that is being opened.
    let attributes = 0;
    // At most six handlers: the parser keeps them as properties, and with one more V8 keeps them all in a dictionary, which
    // takes four times as long.
    parser.on("error", (error) => {
      // Programs forget to declare prefixes such as xsi and gx.
      if (!error.message.includes("unbound namespace prefix")) throw malformed(error);
    });
    parser.on("attribute", () => {
      if (++attributes > maxAttributes) throw refused("The XML has an element of too many attributes.");
    });
    parser.on("opentag", (tag) => {
      attributes = 0;
      this.pending = 0;
      if (texts.length === maxDepth) throw refused(`The XML is nested deeper than ${maxDepth} levels.`);
      handler.open(elementOf(tag));
      texts.push(handler.wantsText ? "" : undefined);
    });
    const addText = (text: string) => {
      this.pending = 0;
      const last = texts.length - 1;
      if (last < 0 || texts[last] === undefined) return;
      texts[last] += text;
      if (texts[last].length > maxPieceLength) throw tooLong();
    };
    parser.on("text", addText);
    parser.on("cdata", addText);
    parser.on("closetag", (tag) => {
      this.pending = 0;
      handler.close(tag.local, texts.pop() ?? "");
    });
  }

  write(piece: string): void {
    // A text is given as a whole, so that it could grow without end.
    this.pending += piece.length;
    if (this.pending > maxPieceLength) throw tooLong();
    this.parser.write(piece);
  }

  close(): void {
    this.parser.close();
  }
}

const tooLong = (): Refusal => refused(`The XML has a text of more than ${maxPieceLength} characters.`);

const malformed = (error: Error): Refusal =>
  refused(`The file is not well-formed XML: ${error.message.slice(0, 200)}`);

function elementOf(tag: SaxesTagNS): XmlElement {
  return {
    name: tag.local,
    namespace: tag.uri,
    attribute: (name) =>
      (tag.attributes[name] ?? Object.values(tag.attributes).find(({ local }) => local === name))?.value,
  };
}

/** The pieces of a file. */
export function* fileChunks(path: string): Generator<Uint8Array, void, undefined> {
  const file = openSync(path, "r");
  try {
    for (;;) {
      const chunk = Buffer.allocUnsafe(pieceBytes);
      const read = readSync(file, chunk);
      if (read === 0) return;
      yield chunk.subarray(0, read);
    }
  } finally {
    closeSync(file);
  }
}

/**
 * The text of a document in the encoding of the request, else that of its byte order mark or its XML declaration, else UTF-8.
 * @throws Refusal when the bytes are not in that encoding
 */
export async function* xmlText(chunks: Chunks, encoding?: string): AsyncGenerator<string, void, undefined> {
  let decoder: Decoder | undefined;
  for await (const chunk of chunks) {
    decoder ??= decoderFor(encoding ?? encodingOf(chunk));
    yield decoded(decoder, chunk);
  }
  if (decoder) yield decoded(decoder, undefined);
}

function encodingOf(head: Uint8Array): string {
  const [first, second] = head;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return "utf-16le";
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return "utf-16be";
  if (first === 0xef && second === 0xbb) return "utf-8";
  const declaration = Buffer.from(head.subarray(0, 200)).toString("latin1");
  return /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)["']/.exec(declaration)?.[1] ?? "utf-8";
}

type Decoder = InstanceType<typeof TextDecoder>;

function decoderFor(encoding: string): Decoder {
  try {
    return new TextDecoder(encoding, { fatal: true });
  } catch {
    throw refused(`The XML is in an unknown encoding, ${JSON.stringify(encoding.slice(0, 40))}.`);
  }
}

function decoded(decoder: Decoder, chunk: Uint8Array | undefined): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch {
    throw refused(`The file is not text in the encoding ${decoder.encoding}; name the right one.`);
  }
}
