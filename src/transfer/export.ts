import { localName } from "../catalog/state.js";
import type { Database } from "../storage/postgres.js";
import { writerOf } from "./export-formats.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";
import { zipped } from "./zip.js";

/** A layer into a file, as a stream. */

/** How the file looks from outside. */
export interface ExportPackage {
  readonly format: string;
  /** Packed into an archive. */
  readonly zip?: boolean;
  /** Language of the file's name, which is the layer's; default: the main one. */
  readonly language?: string | undefined;
}

export interface ExportedFile {
  readonly name: string;
  readonly mediaType: string;
  /** Who stops reading, or never begins, calls the iterator's `return`, or aborts the request's signal. */
  readonly chunks: AsyncIterable<string | Uint8Array>;
}

/**
 * Opens the export. The first objects have been read when this returns, so that a statement that fails at once fails
 * here; the rest are read as the chunks are.
 * @throws Failure invalid_format, unsupported_format, busy
 */
export async function exportLayer(
  db: Database,
  target: ExportTarget,
  request: ExportRequest,
  { format, zip = false, language }: ExportPackage,
): Promise<ExportedFile> {
  const { extension, mediaType, write } = writerOf(format);
  const title = fileTitle(target, language);
  const name = `${title}.${extension}`;
  const chunks = await write(db, target, request);
  return zip
    ? { name: `${title}.zip`, mediaType: "application/zip", chunks: zipped(name, chunks) }
    : { name, mediaType, chunks };
}

/** In UTF-16 units; of three bytes each they still make a file name for every file system. */
const maxTitleLength = 80;

/** The layer's name as file systems take it, else its code. */
function fileTitle({ map, layer }: ExportTarget, language: string | undefined): string {
  const main = map.project.languages[0];
  const title = localName(layer, language ?? main, main)
    .slice(0, maxTitleLength)
    .replace(/[\p{Cc}\p{Cf}\p{Surrogate}/\\:*?"<>|]+/gu, "_")
    .replace(/^[\s.]+|[\s.]+$/g, "");
  return title || layer.code;
}
