import type { Query } from "../../paths.js";

/** How a file was read that was imported, and how else it can be. */

/** What is said of a file; absent = it is found out. */
export interface Reading {
  readonly encoding?: string | undefined;
  /** As the import takes it, such as an EPSG number. */
  readonly srs?: string | undefined;
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
  /**
   * Imports it in place of what the layer has.
   * @param columns codes of those that the file has by that reading; undefined = nobody knows
   */
  again(reading: Reading, columns: readonly string[] | undefined): void;
}
