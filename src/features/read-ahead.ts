import { prepend } from "./read.js";

/** Long lists that are read to their end before their headers are sent. Who reads slowly holds what was read for as long. */

type Chunk = string | Uint8Array;
type Chunks = AsyncIterableIterator<Chunk>;

export interface ReadAheadOptions {
  /** Of a list; of a longer one so many are read. */
  readonly mostCharacters: number;
  /** Of all lists together; beyond it others are not read ahead. */
  readonly mostBytes: number;
}

export class ReadAhead {
  /** Of what was read and is not sent yet. */
  bytes = 0;

  constructor(private readonly options: ReadAheadOptions) {}

  /** Takes a list over, whose reader must read to its end, or call `return`. */
  async read(text: string | Chunks): Promise<{ readonly text: string | Chunks; readonly isWhole: boolean }> {
    if (typeof text === "string") return { text, isWhole: true };
    const { mostCharacters, mostBytes } = this.options;
    const ahead: Chunk[] = [];
    const left = (chunk: Chunk): void => {
      this.bytes -= bytesOf(chunk);
    };
    try {
      for (
        let length = 0;
        length <= mostCharacters && this.bytes < mostBytes;
        length += ahead.at(-1)!.length
      ) {
        const { done, value } = await text.next();
        if (done) return { text: prepend(ahead, text, left), isWhole: true };
        ahead.push(value);
        this.bytes += bytesOf(value);
      }
    } catch (error) {
      for (const chunk of ahead) left(chunk);
      throw error;
    }
    return { text: prepend(ahead, text, left), isWhole: false };
  }
}

const bytesOf = (chunk: Chunk): number => (typeof chunk === "string" ? 2 : 1) * chunk.length;
