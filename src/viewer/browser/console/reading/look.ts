import type { Edits } from "../edits.js";
import { headOf } from "../file-head.js";
import { fieldsOf } from "../import-fields.js";
import { newKey } from "../new-key.js";
import type { ReadFile, Reading } from "./read-file.js";

/** What an import makes of a file by a reading: a dry run tells it. */

export interface PreviewColumn {
  /** In the file. */
  readonly name: string;
  /** Null = it is left out. */
  readonly code: string | null;
  readonly type: string;
  readonly notation?: string;
}

export interface Preview {
  readonly layers: readonly { readonly srs?: string; readonly encoding?: string }[];
  /** Of the places of all rows. */
  readonly bbox: {
    readonly sw: readonly [lat: number, lon: number];
    readonly ne: readonly [lat: number, lon: number];
  } | null;
  /** Names of the columns that the places come from; absent = the file has places of its own. */
  readonly coordinates?: readonly string[];
  readonly columns: readonly PreviewColumn[];
  readonly features: readonly {
    readonly fields: Readonly<Record<string, string | null>>;
    /** GeoJSON in degrees; null = it has no place. */
    readonly geom: unknown;
  }[];
}
export interface Look {
  /** Absent = it is a file without rows, such as an image. */
  readonly preview?: Preview;
  readonly features: number;
  /** How many cannot be read. */
  readonly bad: number;
  /** Why the first of them cannot, in the server's words. */
  readonly reason: string | undefined;
  /** Columns that the preview does not have. */
  readonly more: number;
  /** Whether only the beginning of the file was looked at. */
  readonly isPart: boolean;
}

/** Formats that are read line by line: their beginning tells how they are read. */
const lines = /\.(csv|tsv|txt|geojsonl|geojsons|ndjson)$/i;
/** Other files are sent as a whole for each look: larger ones are not looked at. */
const mostBytes = 20 * 1024 ** 2;

/** @returns undefined when the file is too large to be looked at @throws ServerError, the signal's reason */
export async function look(
  edits: Edits,
  { project, segments, files, part }: ReadFile,
  reading: Reading,
  signal: AbortSignal,
): Promise<Look | undefined> {
  const [first] = files;
  const isLines = files.length === 1 && first !== undefined && lines.test(first.name);
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (!isLines && size > mostBytes) return undefined;
  const sent = isLines ? [await headOf(first)] : files;
  const { encoding, srs } = reading;
  const query = { action: 1, partial: 1, dry_run: 1, ...part, encoding, srs };
  const { import: done } = await edits.upload<{
    readonly import?: {
      readonly features: number;
      readonly bad: number;
      readonly rows: readonly { readonly reason?: string }[];
      readonly written: readonly string[];
      readonly preview?: Preview;
    };
  }>(project, segments, sent, {
    ...{ query, fields: fieldsOf(reading), key: newKey() },
    ...{ progress: () => undefined, signal },
  });
  const isPart = isLines && sent[0] !== first;
  const written = done?.written.length ?? 0;
  const seen = done?.preview?.columns.filter(({ code }) => code !== null).length ?? 0;
  const reason = done?.rows[0]?.reason;
  return { features: 0, bad: 0, ...done, more: Math.max(0, written - seen), reason, isPart };
}
