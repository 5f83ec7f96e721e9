import type { Readable } from "node:stream";
import { type Entry, getFileNameLowLevel, openPromise, validateFileName, type ZipFile } from "yauzl";
import { Refusal, refused } from "./refusal.js";

/** Reads ZIP archives. Names, counts and sizes in them are not trusted, and nothing is written. */

/** Bound on the files of one archive. */
const maxEntries = 10_000;
/** In the general purpose flags: the name is UTF-8. */
const utf8Flag = 0x800;
/** Extra field of Info-ZIP: the name as UTF-8. */
const unicodePathField = 0x7075;
/** File types of Unix in the upper half of the external attributes; 0 = the archive does not say. */
const fileTypes: ReadonlySet<number> = new Set([0, 0x8000, 0x4000]);

/** What is left of the bytes that the archives of one import may have, unpacked, in all. */
export class ByteBudget {
  private left: number;

  constructor(private readonly total: number) {
    this.left = total;
  }

  /** Whether that number is left. */
  allows(bytes: number): boolean {
    return bytes <= this.left;
  }

  /** @throws Refusal when less is left */
  take(bytes: number): void {
    this.left -= bytes;
    if (this.left < 0) throw refused(`The archive is larger than ${this.total} bytes when it is unpacked.`);
  }
}

/** A file of an archive. */
export interface ArchivedFile {
  /** Path in the archive with slashes, as the client wrote it; never part of a path of ours. */
  readonly name: string;
  readonly entry: Entry;
}

/** An open archive with its files, without folders, in the order of the archive. */
export class ZipArchive {
  private constructor(
    private readonly zip: ZipFile,
    readonly files: readonly ArchivedFile[],
    private readonly budget: ByteBudget,
  ) {}

  /**
   * Calls `use` with the archive, and closes it.
   * @throws Refusal when it is no archive, or has links, names that lead out of it, or too many files
   */
  static async use<T>(
    path: string,
    budget: ByteBudget,
    use: (archive: ZipArchive) => Promise<T>,
  ): Promise<T> {
    const zip = await readable(() => openPromise(path, { autoClose: false, decodeStrings: false }));
    try {
      if (zip.entryCount > maxEntries) throw refused(`The archive has more than ${maxEntries} files.`);
      const files: ArchivedFile[] = [];
      await readable(async () => {
        for await (const entry of zip.eachEntry()) {
          const name = nameOf(entry);
          if (!name.endsWith("/")) files.push({ name, entry });
        }
      });
      return await use(new ZipArchive(zip, files, budget));
    } finally {
      zip.close();
    }
  }

  /** The unpacked bytes of a file. @throws Refusal when it is damaged, encrypted or too large */
  async *read({ name, entry }: ArchivedFile): AsyncGenerator<Buffer, void, undefined> {
    if (entry.isEncrypted()) throw refused("The archive is encrypted.");
    if (!entry.canDecodeFileData())
      throw refused(
        `The file ${shown(name)} in the archive is compressed by a method that is not supported.`,
      );
    const stream: Readable = await readable(() => this.zip.openReadStreamPromise(entry));
    try {
      for await (const chunk of stream) {
        this.budget.take((chunk as Buffer).length);
        yield chunk as Buffer;
      }
    } catch (error) {
      throw error instanceof Refusal ? error : damaged(error);
    } finally {
      stream.destroy();
    }
  }
}

/** A name of a file for messages, without control characters. */
export const shown = (name: string): string =>
  JSON.stringify(name.replace(/[\p{Cc}\p{Bidi_Control}]/gu, "").slice(-100));

async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof Refusal ? error : damaged(error);
  }
}

function damaged(error: unknown): Refusal {
  const reason = error instanceof Error ? error.message.slice(0, 200).replace(/\.+$/, "") : "unknown";
  return refused(
    reason.startsWith("End of central directory record")
      ? "The file cannot be read: it is no ZIP archive, or its end is missing."
      : `The archive cannot be read: ${reason}.`,
  );
}

function nameOf(entry: Entry): string {
  const name = decodedName(entry);
  if (validateFileName(name) !== null)
    throw refused(`The archive has a file ${shown(name)}, whose name leads out of it.`);
  const type = (entry.externalFileAttributes >>> 16) & 0xf000;
  if (!fileTypes.has(type))
    throw refused(`The archive has an entry ${shown(name)} that is neither a file nor a folder.`);
  return name;
}

/** Names have no known encoding unless a flag says UTF-8. What is valid UTF-8 is hardly ever anything else. */
function decodedName(entry: Entry): string {
  const { generalPurposeBitFlag: flags, fileNameRaw: raw, extraFields } = entry;
  if (flags & utf8Flag || extraFields.some(({ id }) => id === unicodePathField))
    return getFileNameLowLevel(flags, raw, extraFields, false);
  let name: string;
  try {
    name = new TextDecoder("utf-8", { fatal: true }).decode(raw);
  } catch {
    name = new TextDecoder("ibm866").decode(raw);
  }
  return name.replaceAll("\\", "/");
}
