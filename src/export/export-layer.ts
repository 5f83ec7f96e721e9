import { requireExpressions } from "../features/filter-language.js";
import type { Chunks, ContentFile, ExportContent, ExportServices } from "./export-content.js";
import { formatOf } from "./export-formats.js";
import { notesReadme } from "./export-notes.js";
import { type ExportRequest, type ExportTarget, layerTitle } from "./export-request.js";
import { type ZipEntry, zipped } from "./zip.js";

/** Exports a layer to a file, as a stream. */

/** Format and packaging of the file. */
export interface ExportPackage {
  readonly format: string;
  /** Packs the file into a zip archive, unless it is an archive already. */
  readonly zip?: boolean;
}

export interface ExportedFile {
  readonly name: string;
  readonly mediaType: string;
  /** A caller that does not read to the end must call the iterator's `return` or abort the request's signal. */
  readonly chunks: Chunks;
  /** What the format cannot hold, in sentences; in a zip archive they are the file README.txt. */
  readonly notes: readonly string[];
}

/**
 * Opens the export. The first objects are read before this resolves, so that a statement that fails immediately rejects
 * here; the others are read as the chunks are consumed.
 * @throws Failure invalid_format, unsupported_format, unknown_column, invalid_value, busy
 */
export async function exportLayer(
  services: ExportServices,
  target: ExportTarget,
  request: ExportRequest,
  { format: name, zip = false }: ExportPackage,
): Promise<ExportedFile> {
  const format = formatOf(name);
  if (request.filter) await requireExpressions(services.db, request.filter);
  const content = await format.write(services, target, request);
  const title = fileTitle(layerTitle(target, request)) || target.layer.code;
  const { notes, done } = content;
  if (format.hasSeveralFiles || (zip && !format.isArchive)) {
    const chunks = finished(zipped(entriesOf(content, title)), done, request.signal);
    return { name: `${title}.zip`, mediaType: "application/zip", chunks, notes };
  }
  const [{ ending, chunks }] = content.files;
  const mediaType = content.charset ? `${format.mediaType}; charset=${content.charset}` : format.mediaType;
  return { name: `${title}${ending}`, mediaType, chunks: finished(chunks, done, request.signal), notes };
}

function entriesOf({ files, notes }: ExportContent, title: string): ZipEntry[] {
  const entries = files.map(({ ending, chunks }: ContentFile) => ({ name: `${title}${ending}`, chunks }));
  return notes.length > 0
    ? [...entries, { name: "README.txt", chunks: once(notesReadme(title, notes)) }]
    : entries;
}

async function* once(text: string): AsyncGenerator<string, void> {
  yield text;
}

/**
 * Calls `done` after the last chunk, a failure, `return` or an abort. Not a generator, whose `return` does nothing before it
 * starts.
 */
export function finished(
  chunks: Chunks,
  done: (() => Promise<void>) | undefined,
  signal: AbortSignal,
): Chunks {
  if (!done) return chunks;
  const source = chunks[Symbol.asyncIterator]();
  let ended: Promise<void> | undefined;
  const end = () => {
    signal.removeEventListener("abort", aborted);
    // A file that was sent to its end is whole: what is not removed now is removed as abandoned.
    ended ??= done().catch(() => undefined);
    return ended;
  };
  const aborted = () => void end();
  signal.addEventListener("abort", aborted, { once: true });
  const iterator: AsyncIterableIterator<string | Uint8Array> = {
    [Symbol.asyncIterator]: () => iterator,
    async next() {
      try {
        const result = await source.next();
        if (result.done) await end();
        return result;
      } catch (error) {
        await end();
        throw error;
      }
    },
    async return() {
      try {
        await source.return?.();
      } finally {
        await end();
      }
      return { done: true, value: undefined };
    },
  };
  return iterator;
}

/** In UTF-16 code units, of up to 3 bytes in UTF-8: below the usual limit of 255 bytes per file name. */
const maxTitleLength = 80;

/** A title without characters that file systems do not allow. */
export const fileTitle = (title: string): string =>
  title
    .slice(0, maxTitleLength)
    .replace(/[\p{Cc}\p{Cf}\p{Surrogate}/\\:*?"<>|]+/gu, "_")
    .replace(/^[\s.]+|[\s.]+$/g, "");
