import type { ContractBox } from "../geo/envelope.js";
import type { FileFormat } from "../hosts/import-messages.js";

/** What a dry run shows of a file: its layers, the columns that it would get, and its first features. */

export interface Preview {
  readonly files: readonly FileFormat[];
  /** Of the features that can be imported; null = none has a geometry. */
  readonly bbox: ContractBox | null;
  /** Names of the columns that places come from: [] = none; absent = the file has places of its own. */
  readonly coordinates?: readonly string[];
  readonly columns: readonly PreviewColumn[];
  readonly features: readonly PreviewFeature[];
}

export interface PreviewColumn {
  /** Name in the file. */
  readonly name: string;
  /** Null = it is left out. */
  readonly code: string | null;
  readonly type: string;
  /** As the API calls it; absent = values are written as the API does. */
  readonly notation?: string;
  /** Whether the layer does not have it yet. */
  readonly isNew: boolean;
  /** Whether the import takes it. */
  readonly isRead: boolean;
  /** Some of the values, as the file has them. */
  readonly values: readonly string[];
}

interface PreviewFeature {
  /** Number in the file, from 1. */
  readonly row: number;
  /** By the codes of the columns; values as the file has them. */
  readonly fields: Readonly<Record<string, string | null>>;
  /** In EPSG:4326, with few vertices: others are simplified, or their box. */
  readonly geom: unknown;
}
