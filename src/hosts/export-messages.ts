import type { HostAddress } from "../database-hosts.js";

/** The messages of the export host: kind → [request, response]. Plain data only. */

/** Formats that the host writes. */
export type FileFormat = "shp" | "mif" | "tab" | "gpkg" | "fgb" | "parquet";

/** Type of a column's values in a result row. */
export type ExportedType = "number" | "text" | "datetime" | "bool" | "json";

/** A column of the file. Its value is column `v<index>` of the source. */
export interface ExportedColumn {
  /** Unique among the columns; `svc_id` is none of them. */
  readonly name: string;
  readonly type: ExportedType;
}

export interface ExportFileRequest extends HostAddress {
  /**
   * A query for `svc_id`, `g` (geometry in `srid`) and `v0`, `v1` …: float8 for numbers, boolean, else text (datetime in
   * ISO 8601). It was made by the server, with bound values.
   */
  readonly source: { readonly text: string; readonly values: readonly unknown[] };
  /** The table that it reads the objects from, as SQL. */
  readonly table?: string;
  readonly columns: readonly ExportedColumn[];
  readonly srid: 4326 | 3857;
  readonly format: FileFormat;
  /** Name of the layer in formats that name layers; a code. */
  readonly layer: string;
  /** An empty folder that the server made and removes, among those of other exports and nothing else. */
  readonly folder: string;
  /** Bound on the size of all files. */
  readonly maxBytes: number;
  /** Bound on the size of the files of all exports. */
  readonly maxTotalBytes: number;
  /** Bound on the run time of each statement. */
  readonly statementTimeoutMs: number;
}

export type ExportFileResponse =
  | {
      readonly ok: true;
      /** `ending` follows the layer's title in the file's name: ".gpkg", "-points.shp". */
      readonly files: readonly { readonly ending: string; readonly path: string }[];
      /** What the format cannot hold, in sentences. */
      readonly notes: readonly string[];
      readonly objects: number;
    }
  | {
      readonly ok: false;
      /** `away` = the database. */
      readonly reason: "too_large" | "no_room" | "away";
      readonly error: string;
    };

/** What a file of tiles tells of itself. */
export interface TilesetFacts {
  readonly name: string;
  readonly description: string;
  readonly attribution: string;
  /** Whether it is shown alone, or over a base map. */
  readonly type: "baselayer" | "overlay";
  readonly version: string;
  readonly minZoom: number;
  readonly maxZoom: number;
  /** Degrees: west, south, east, north; within ±180. */
  readonly bounds: readonly [number, number, number, number];
  /** Degrees: longitude, latitude; and a zoom. */
  readonly center: readonly [number, number, number];
}

export const tileFileFormats = ["pmtiles", "mbtiles"] as const;
export type TileFileFormat = (typeof tileFileFormats)[number];

export interface TileFileRequest {
  readonly format: TileFileFormat;
  readonly facts: TilesetFacts;
  /** The PNG images of all tiles, each content once. */
  readonly contents: string;
  /** Number and bytes of the contents. */
  readonly count: number;
  readonly bytes: number;
  /** Where each tile lies in `contents` (`tile-index.ts`); at least one. */
  readonly index: string;
  /** A folder that the server made and removes. */
  readonly folder: string;
  /** Bound on the size of the file. */
  readonly maxBytes: number;
}

export type TileFileResponse =
  | {
      readonly ok: true;
      /** The file is what these hold, one after the other. */
      readonly paths: readonly string[];
      readonly bytes: number;
    }
  | Extract<ExportFileResponse, { ok: false }>;

export interface ExportMessages {
  export: [ExportFileRequest, ExportFileResponse];
  tiles: [TileFileRequest, TileFileResponse];
}
