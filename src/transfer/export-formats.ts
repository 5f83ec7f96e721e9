import { failed } from "../errors.js";
import type { Database } from "../storage/postgres.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";
import { writeGeoJson } from "./geojson.js";

/** The formats of files that layers are exported to, and what writes each. */

/** The contract's names of formats; those that have no writer yet are refused. */
const contractFormats = ["shp", "mif", "tab", "geojson", "kml", "kmz", "xls", "geotif", "csv"] as const;
export type ExportFormat = (typeof contractFormats)[number];

export interface FormatWriter {
  /** Of the file's name, without a dot. */
  readonly extension: string;
  readonly mediaType: string;
  /**
   * The layer's data as they are read. A statement that fails at once fails here; who stops reading calls the
   * iterator's `return`.
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

/** The formats that layers are exported to, for everything that names them to people. */
export const exportFormats: readonly ExportFormat[] = contractFormats.filter((name) => writers[name]);

/** Media types of exported files, without those of archives. */
export const exportMediaTypes: readonly string[] = exportFormats.map((name) => writers[name]!.mediaType);

/** @throws Failure invalid_format for what the contract does not name, unsupported_format for what cannot be written */
export function writerOf(format: string): FormatWriter {
  const known = contractFormats.find((name) => name === format);
  const possible = `Layers can be exported as: ${exportFormats.join(", ")}.`;
  if (!known) throw failed("invalid_format", `format is none that there is. ${possible}`);
  const writer = writers[known];
  if (!writer) throw failed("unsupported_format", `Layers cannot be exported as ${known} yet. ${possible}`);
  return writer;
}

/** The format that a file of this lower-case extension has, if it is one that is told by it. */
export const formatOfExtension = (extension: string): string | undefined =>
  extension === "json" ? "geojson" : contractFormats.find((name) => name === extension);
