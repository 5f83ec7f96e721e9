import type { Queryable } from "../storage/postgres.js";
import type { RowReport } from "./bad-rows.js";
import type { ColumnChoices } from "./column-choices.js";
import type { Preview } from "./preview-model.js";
import type { Written } from "./write.js";

/** Parameters and result of an import. */

export interface ImportTarget {
  readonly layerId: number;
  /** Projects take turns at the transfer host; absent = a command, which has a host of its own. */
  readonly projectId?: number;
  /** Whose import it is: within a project accounts take turns. */
  readonly accountId?: number;
  /** Language of localised values whose property name has no language. */
  readonly language: string;
  /** Languages of the project; absent = those of the layer's project. */
  readonly languages?: readonly string[];
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
  /** Name of the table, sheet or layer that is imported; absent = all that there are. */
  readonly table?: string | undefined;
  /** Whether a file of several tables is refused, with their names. */
  readonly oneTable?: boolean;
  /** Names, types and notations of properties, and which are left out; absent = as they are found. */
  readonly columns?: ColumnChoices | undefined;
  /** Names of the columns of a table with east and north, or with geometry; [] = none; absent = they are found. */
  readonly coordinates?: readonly string[] | undefined;
  /** For features; an image always replaces that of the layer. */
  readonly action: "replace" | "merge";
  /** Code of the column by whose values a merge finds the objects; absent = svc_id. */
  readonly key?: string | undefined;
  /** Whether rows that cannot be imported are left out; else one of them fails the import. */
  readonly partial?: boolean;
  /** Whether to find out only what the import would do. */
  readonly dryRun?: boolean;
  /** Where an image lies, in `srs`: xmin, ymin, xmax, ymax. */
  readonly rasterBox?: RasterBox | undefined;
}

export type RasterBox = readonly [xMin: number, yMin: number, xMax: number, yMax: number];

/** Parses `BOX(x_min y_min,x_max y_max)`; undefined when it is none, or has no area. */
export function readRasterBox(text: string): RasterBox | undefined {
  const number = String.raw`\s*(-?\d+(?:\.\d*)?(?:e[+-]?\d{1,3})?)\s*`;
  const match = new RegExp(`^\\s*BOX\\s*\\(${number}\\s${number},${number}\\s${number}\\)\\s*$`, "i").exec(
    text,
  );
  if (!match) return undefined;
  const [xMin, yMin, xMax, yMax] = match.slice(1).map(Number) as [number, number, number, number];
  const isBox = [xMin, yMin, xMax, yMax].every(Number.isFinite) && xMin < xMax && yMin < yMax;
  return isBox ? [xMin, yMin, xMax, yMax] : undefined;
}

export interface ImportOptions {
  /** If false, the import fails when a property has no matching column, or its column would get another type. Default: true. */
  readonly mayChangeColumns?: boolean;
  readonly onProgress?: (progress: Progress) => void;
  /** Called at the end of the transaction that writes the objects, which fails with it. A dry run has none. */
  readonly onWritten?: (tx: Queryable, imported: Imported) => Promise<void>;
  /** Ends the import at whatever it does; the layer is as before. */
  readonly signal?: AbortSignal;
}

export interface Progress {
  readonly phase: "reading" | "checking" | "writing";
  /** Features that were read so far. */
  readonly rows: number;
}

/** What an import has done; of a dry run, what it would do. */
export interface Imported extends Written {
  /** Features of the file. */
  readonly rows: number;
  readonly vertices: number;
  /** The columns that were added to the layer; the name is that of the file, or the one that was given. */
  readonly columns: readonly { readonly code: string; readonly name: string }[];
  /** Codes of the columns that the file has properties for. */
  readonly written: readonly string[];
  /** Codes of the columns whose type was changed. */
  readonly retyped: readonly string[];
  /** Rows that name an object which the layer did not have: they are among the inserted. */
  readonly unmatched: { readonly count: number; readonly first: readonly string[] };
  /** Rows that were left out. */
  readonly bad: RowReport;
  /** What the file calls its data. */
  readonly title?: string;
  /** What was done, in one sentence. */
  readonly summary: string;
  /** The image, if the file is one. */
  readonly raster?: { readonly width: number; readonly height: number; readonly bands: number };
  /** Sentences on what was left out or changed. */
  readonly notes: readonly string[];
  /** Of a dry run with features. */
  readonly preview?: Preview;
}
