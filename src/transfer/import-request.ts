import type { RowReport } from "./bad-rows.js";
import type { Written } from "./write.js";

/** Parameters and result of an import. */

export interface ImportTarget {
  readonly layerId: number;
  /** Language of localised values whose property name has no language. */
  readonly language: string;
  /** Alias of svc_id; absent = none. */
  readonly idAlias?: string;
}

export interface ImportFile {
  /** Path that was not chosen by a client. */
  readonly path: string;
  /** The client's name of the file: its extension determines the format; never part of a path. */
  readonly name: string;
}

export interface ImportSource {
  /** One file, or several that belong together, such as the parts of a shapefile. */
  readonly files: readonly ImportFile[];
  /** EPSG number, WKT or proj4; absent = that of the file, else EPSG:4326. */
  readonly srs?: string | undefined;
  /** Text encoding; absent = what the file says, else what its bytes look like. */
  readonly encoding?: string | undefined;
  readonly action: "replace" | "merge";
  /** Code of the column by whose values a merge finds the objects; absent = svc_id. */
  readonly key?: string | undefined;
  /** Whether rows that cannot be imported are left out; else one of them fails the import. */
  readonly partial?: boolean;
  /** Whether to find out only what the import would do. */
  readonly dryRun?: boolean;
}

export interface ImportOptions {
  /** If false, the import fails when a property has no matching column. Default: true. */
  readonly mayAddColumns?: boolean;
  /** Called with the number of features when the file was read without errors. */
  readonly onStaged?: (rows: number) => void;
  /** Removes a waiting file from the queue of the transfer host; a file that is being read is not cancelled. */
  readonly signal?: AbortSignal;
}

/** What an import has done; of a dry run, what it would do. */
export interface Imported extends Written {
  /** Features of the file. */
  readonly rows: number;
  readonly vertices: number;
  /** The columns that were added to the layer; the name is that of the file. */
  readonly columns: readonly { readonly code: string; readonly name: string }[];
  /** Rows that name an object which the layer did not have: they are among the inserted. */
  readonly unmatched: { readonly count: number; readonly first: readonly string[] };
  /** Rows that were left out. */
  readonly bad: RowReport;
  /** What was done, in one sentence. */
  readonly summary: string;
  /** Sentences on what was left out or changed. */
  readonly notes: readonly string[];
}
