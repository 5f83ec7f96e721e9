import type { Query } from "../../paths.js";

/** How a file was read that was imported, and how else it can be. */

/** What a property of the file becomes; absent members = as it is found. */
export interface ColumnWish {
  readonly name?: string;
  readonly type?: string;
  /** How its values are written, as the import calls it. */
  readonly notation?: string;
}

/** What is said of a file; absent = it is found out. */
export interface Reading {
  readonly encoding?: string | undefined;
  /** As the import takes it, such as an EPSG number. */
  readonly srs?: string | undefined;
  /** Columns of a table with east and north, or with shapes; [] = none. */
  readonly coordinates?: readonly string[] | undefined;
  /** By names in the file; null = it is left out. */
  readonly columns?: Readonly<Record<string, ColumnWish | null>> | undefined;
}

/** A file that a layer was made of. */
export interface ReadFile {
  readonly name: string;
  readonly project: string;
  /** Of the operation that imports into the layer. */
  readonly segments: readonly string[];
  readonly files: readonly File[];
  /** Parameters that say what of it was imported. */
  readonly part: Query;
  readonly reading: Reading;
  /** Imports it in place of what the layer has. */
  again(reading: Reading): void;
}
