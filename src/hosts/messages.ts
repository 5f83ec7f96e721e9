import type { ValueType } from "../column-types/column-types.js";
import type { TileCoord } from "../geo/tile.js";
import type { GeometryKind } from "../geo/wkb.js";
import type { CompiledStyle, MapProperties } from "../style/model.js";

/** The typed messages between the front process and its worker hosts: kind → [request, response]. Plain data only. */

export interface CompileRequest {
  /** The map's base CartoCSS; "" = none. `#code` selects by layer code. */
  readonly mapStyle: string;
  /** The layer's own CartoCSS, in which every `#id` selects this layer. Absent: only the map's properties are asked. */
  readonly layerStyle?: string;
  /** Code of the layer. */
  readonly layerCode?: string;
  /** The thread that compiles is ended after this time. */
  readonly deadlineMs: number;
}
/** `error` is a sentence for the person who wrote the style. */
export type CompileResponse =
  | { readonly ok: true; readonly style: CompiledStyle; readonly map: MapProperties }
  | {
      readonly ok: false;
      readonly error: string;
      /** It took too long: nothing is known about the style itself, so this is not remembered. */
      readonly deadline?: boolean;
    };

/** A Mapnik map, ready to load: the XML was written by us from a checked style. */
export interface MapSource {
  /** Hash of `xml`: the host keeps loaded maps by it. */
  readonly digest: string;
  readonly xml: string;
}

export interface MetatileRequest {
  readonly map: MapSource;
  /** Base map under it; drawn once per metatile and kept while `versions` stay. */
  readonly base?: MapSource & { readonly versions: string };
  readonly origin: TileCoord;
  /** Tiles a side. */
  readonly count: number;
  /** 1, 2 or 3: tiles are 256 × scale pixels wide. */
  readonly scale: number;
  /** Mapnik's name for the encoding of the tiles, with its options, such as `png8:m=h`. */
  readonly encoding: string;
  readonly bufferPixels: number;
}
export interface RenderedTile {
  /** The encoded tile. Tiles of one colour share one encoding; `solid` is that colour as 0xAABBGGRR. */
  readonly bytes: Uint8Array;
  readonly solid?: number;
  /** Hash of the bytes, the core of the ETag. */
  readonly hash: string;
}
export interface MetatileResponse {
  /** Row by row from the top left. */
  readonly tiles: readonly RenderedTile[];
  readonly renderMs: number;
}

export interface RenderMessages {
  compile: [CompileRequest, CompileResponse];
  metatile: [MetatileRequest, MetatileResponse];
  ping: [null, "pong"];
}

export type PictureFormat = "png" | "jpeg" | "gif" | "webp";

/** How a picture fills a box of width × height, as CSS object-fit has it; the first is the default. */
export const pictureFits = ["fill", "none", "contain", "cover", "scale-down"] as const;
export type PictureFit = (typeof pictureFits)[number];

/** The size and format that a picture shall have. With one side only, the other follows by the picture's own ratio. */
export interface ResizeOptions {
  /** Pixels. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Counts when both sides are given. */
  readonly fit: PictureFit;
  /** Whether a small picture stays as small as it is where one side is given. */
  readonly shrinkOnly?: boolean;
  /** Default: the picture's own. */
  readonly format?: PictureFormat | undefined;
}
export interface ResizeRequest extends ResizeOptions {
  /** A file with a name that we made. */
  readonly path: string;
}
export type ResizeResponse =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly format: PictureFormat }
  | {
      readonly ok: false;
      /** The file is no picture, or a damaged or too large one; or the picture asked for would be too large. */
      readonly reason: "unreadable" | "source_too_large" | "result_too_large";
    };

/** A square picture of an SVG that we wrote. */
export interface DrawRequest {
  readonly svg: string;
  /** Pixels a side. */
  readonly size: number;
}

/** A printed object. All texts are shown as they are. */
export interface PrintRequest {
  readonly title: string;
  readonly subtitle: string;
  /** Language code of the document. */
  readonly language: string;
  readonly map: PrintedMap | undefined;
  readonly items: readonly PrintedItem[];
  readonly pictures: readonly { readonly caption: string; readonly jpeg: Uint8Array }[];
}
export type PrintedItem =
  /** `level` 0 = outermost. */
  | { readonly kind: "heading"; readonly text: string; readonly level: number }
  | { readonly kind: "row"; readonly label: string; readonly value: string };
/** A cutting of a map. Places are in its own units, x to the right and y down from its top left corner. */
export interface PrintedMap {
  readonly width: number;
  readonly height: number;
  readonly tiles: readonly { readonly x: number; readonly y: number; readonly png: Uint8Array }[];
  readonly tileSide: number;
  /** The object's parts: points (one place), lines, and areas (rings). */
  readonly points: readonly PrintedPlace[];
  readonly lines: readonly (readonly PrintedPlace[])[];
  readonly areas: readonly (readonly (readonly PrintedPlace[])[])[];
  readonly attribution: string;
}
export type PrintedPlace = readonly [x: number, y: number];

export interface ImageMessages {
  /** PDF. */
  print: [PrintRequest, Uint8Array];
  resize: [ResizeRequest, ResizeResponse];
  draw: [DrawRequest, Uint8Array];
  ping: [null, "pong"];
}

/**
 * What can be imported: the formats by what people call them, with the extensions in lower case that tell them. The
 * transfer host has a reader of each, and everything that names formats to people takes them from here.
 */
export const importFormats = {
  GeoJSON: ["geojson", "json"],
  "GeoJSON of one feature a line": ["geojsonl", "geojsons", "ndjson"],
} as const;
export type ImportFormat = keyof typeof importFormats;

/** Half a sentence for people: `GeoJSON (.geojson, .json), …`. */
export const importFormatList: string = Object.entries(importFormats)
  .map(([format, extensions]) => `${format} (${extensions.map((extension) => `.${extension}`).join(", ")})`)
  .join(", ");

/** One file to staging. */
export interface ImportRequest {
  /** Temporary file with a name that we made. */
  readonly path: string;
  /** Lower-case extension that tells the format: geojson, geojsonl, … */
  readonly extension: string;
  /** Spatial reference of the data as the client gave it; absent = the file's own, else EPSG:4326. */
  readonly srs?: string;
  /** Connection string of the database, and the staging table's name (made by us, schema `staging`). */
  readonly databaseUrl: string;
  readonly stagingTable: string;
}
/** A property of the file, in the file's order. Staging has it as column `p<index>` (text). */
export interface ImportedField {
  readonly name: string;
  readonly type: Exclude<ValueType, "file">;
}
/** What cannot be imported is an error with a code of the contract; nothing is left out silently. */
export type ImportResponse =
  | {
      readonly ok: true;
      readonly fields: readonly ImportedField[];
      readonly rows: number;
      readonly geometryKind: GeometryKind;
      readonly vertices: number;
      /** What was left out, in sentences for the person who sent the file. */
      readonly notes: readonly string[];
    }
  | {
      readonly ok: false;
      readonly code: "import_failed" | "unsupported_format" | "no_georeference" | "invalid_geometry";
      readonly error: string;
      readonly data?: Readonly<Record<string, unknown>>;
    };

export interface TransferMessages {
  import: [ImportRequest, ImportResponse];
  ping: [null, "pong"];
}
