import { localName } from "../catalog/state.js";
import type { Database } from "../storage/postgres.js";
import { writerOf } from "./export-formats.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";
import { zipped } from "./zip.js";

/** Exports a layer to a file, as a stream. */

/** Format, packaging and name of the file. */
export interface ExportPackage {
  readonly format: string;
  /** Packs the file into a zip archive. */
  readonly zip?: boolean;
  /** Language of the layer's name, from which the file name is made; default: the project's main language. */
  readonly language?: string | undefined;
}

export interface ExportedFile {
  readonly name: string;
  readonly mediaType: string;
  /** A caller that does not read to the end must call the iterator's `return` or abort the request's signal. */
  readonly chunks: AsyncIterable<string | Uint8Array>;
}

/**
 * Opens the export. The first objects are read before this resolves, so that a statement that fails immediately rejects
 * here; the others are read as the chunks are consumed.
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

/** In UTF-16 code units, of up to 3 bytes in UTF-8: below the usual limit of 255 bytes per file name. */
const maxTitleLength = 80;

/** The layer's name without characters that file systems do not allow; its code when nothing is left. */
function fileTitle({ map, layer }: ExportTarget, language: string | undefined): string {
  const main = map.project.languages[0];
  const title = localName(layer, language ?? main, main)
    .slice(0, maxTitleLength)
    .replace(/[\p{Cc}\p{Cf}\p{Surrogate}/\\:*?"<>|]+/gu, "_")
    .replace(/^[\s.]+|[\s.]+$/g, "");
  return title || layer.code;
}
