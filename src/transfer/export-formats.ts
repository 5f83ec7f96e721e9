import { failed } from "../errors.js";
import type { Database } from "../storage/postgres.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";
import { writeGeoJson } from "./write-geojson.js";

/** The export formats and their writers. */

/** Names of formats in the API; those without a writer are not supported yet. */
const contractFormats = ["shp", "mif", "tab", "geojson", "kml", "kmz", "xls", "geotif", "csv"] as const;
export type ExportFormat = (typeof contractFormats)[number];

export interface FormatWriter {
  /** Extension of the file, without a dot. */
  readonly extension: string;
  readonly mediaType: string;
  /**
   * The file as a stream of chunks. Rejects if the statement fails immediately. A caller that stops reading early must call
   * the iterator's `return`.
   */
  readonly write: (
    db: Database,
    target: ExportTarget,
    request: ExportRequest,
  ) => Promise<AsyncIterable<string | Uint8Array>>;
}

const writers: Readonly<Partial<Record<ExportFormat, FormatWriter>>> = {
  geojson: { extension: "geojson", mediaType: "application/geo+json", write: writeGeoJson },
};

/** Names of the supported formats, for messages, descriptions and help. */
export const exportFormats: readonly ExportFormat[] = contractFormats.filter((name) => writers[name]);

/** Media types of exported files, without those of archives. */
export const exportMediaTypes: readonly string[] = exportFormats.map((name) => writers[name]!.mediaType);

/** @throws Failure invalid_format for an unknown format, unsupported_format for one without a writer */
export function writerOf(format: string): FormatWriter {
  const known = contractFormats.find((name) => name === format);
  const supported = `Layers can be exported as: ${exportFormats.join(", ")}.`;
  if (!known) throw failed("invalid_format", `The format is unknown. ${supported}`);
  const writer = writers[known];
  if (!writer) throw failed("unsupported_format", `Layers cannot be exported as ${known} yet. ${supported}`);
  return writer;
}

/** The format for a lower-case file extension; undefined when there is none. */
export const formatOfExtension = (extension: string): string | undefined =>
  extension === "json" ? "geojson" : contractFormats.find((name) => name === extension);
