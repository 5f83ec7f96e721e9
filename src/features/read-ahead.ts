import { siteOf } from "../queues/clients.js";
import { prepend } from "./read.js";

/** Long lists that are read to their end before their headers are sent. Who reads slowly holds what was read for as long. */

type Chunk = string | Uint8Array;
type Chunks = AsyncIterableIterator<Chunk>;

export interface ReadAheadOptions {
  /** Of a list; of a longer one so many are read. */
  readonly mostCharacters: number;
  /** Of all lists together; beyond it others are not read ahead. One client may have half of it. */
  readonly mostBytes: number;
}

export class ReadAhead {
  /** Of what was read and is not sent yet. */
  bytes = 0;
  private readonly ofClients = new Map<string, number>();

  constructor(private readonly options: ReadAheadOptions) {}

  /** Takes the list of a client over, whose reader must read to its end, or call `return`. */
  async read(
    text: string | Chunks,
    client: string,
  ): Promise<{ readonly text: string | Chunks; readonly isWhole: boolean }> {
    if (typeof text === "string") return { text, isWhole: true };
    const { mostCharacters } = this.options;
    const site = siteOf(client);
    const ahead: Chunk[] = [];
    const left = (chunk: Chunk) => this.hold(site, -bytesOf(chunk));
    try {
      for (let length = 0; length <= mostCharacters && this.hasRoom(site); length += ahead.at(-1)!.length) {
        const { done, value } = await text.next();
        if (done) return { text: prepend(ahead, text, left), isWhole: true };
        ahead.push(value);
        this.hold(site, bytesOf(value));
      }
    } catch (error) {
      for (const chunk of ahead) left(chunk);
      throw error;
    }
    return { text: prepend(ahead, text, left), isWhole: false };
  }

  private hasRoom(site: string): boolean {
    const { mostBytes } = this.options;
    return this.bytes < mostBytes && (this.ofClients.get(site) ?? 0) < mostBytes / 2;
  }

  private hold(site: string, bytes: number): void {
    this.bytes += bytes;
    const held = (this.ofClients.get(site) ?? 0) + bytes;
    if (held > 0) this.ofClients.set(site, held);
    else this.ofClients.delete(site);
  }
}

const bytesOf = (chunk: Chunk): number => (typeof chunk === "string" ? 2 : 1) * chunk.length;
