import type { TileCoord } from "../geo/tile.js";
import type { CompiledStyle, MapProperties } from "../style/model.js";
import type { ImportRequest, ImportResponse } from "./import-messages.js";

/** The messages between the server process and its worker hosts: kind → [request, response]. Plain data only. */

export interface CompileRequest {
  /** The map's base CartoCSS; "" = none. `#code` selects by layer code. */
  readonly mapStyle: string;
  /** The layer's own CartoCSS, in which every `#id` selects this layer. Absent: only the map's properties are compiled. */
  readonly layerStyle?: string;
  /** Code of the layer. */
  readonly layerCode?: string;
  /** The thread that compiles is ended after this time. */
  readonly deadlineMs: number;
}
/** `error` is a message for the style's author. */
export type CompileResponse =
  | { readonly ok: true; readonly style: CompiledStyle; readonly map: MapProperties }
  | {
      readonly ok: false;
      readonly error: string;
      /** It took too long, perhaps because the machine was busy: to be tried again. */
      readonly deadline?: boolean;
    };

/** A Mapnik map, ready to load. Its XML was written from checked styles (style/mapnik-xml.ts). */
export interface MapSource {
  /** Hash of `xml`: the host keeps loaded maps by it. */
  readonly digest: string;
  /** The XML is these texts, one after the other. */
  readonly xml: readonly XmlText[];
}
/** An object, since a message has each object once only, while maps have texts in common, and so have their layers. */
export interface XmlText {
  readonly text: string;
  /** The rules of a style: all maps that have the style have this text. */
  readonly isRules?: true;
}

/** A part of a metatile, drawn over the parts before it. */
export type MetatilePart =
  | {
      readonly kind: "map";
      readonly map: MapSource;
      /** Names of layers of the map that have nothing to draw here; absent = none. */
      readonly without?: readonly string[];
      /**
       * Names the state of the data of this part, which must be the first. The host keeps its pixels by it, for all
       * metatiles that begin with this part.
       */
      readonly keep?: string;
      /** Whether it is drawn by itself and then laid over the others: something in it lies below the rest of it. */
      readonly isApart?: boolean;
      /** Paths of the images that the map's layers show, by the names that the map has for them. */
      readonly files?: Readonly<Record<string, string>>;
    }
  | { readonly kind: "image"; readonly image: PartImage };

/** An image of exactly the metatile's area. */
export interface PartImage {
  /** RGBA, 4 bytes a pixel, row by row from the top left; colours are not multiplied by alpha. */
  readonly pixels: Uint8Array;
  /** 0 to 1; absent = 1. */
  readonly opacity?: number;
}

export interface MetatileRequest {
  /** From the bottom to the top; none = a transparent metatile. */
  readonly parts: readonly MetatilePart[];
  readonly origin: TileCoord;
  /** Tiles a side. */
  readonly count: number;
  /** 1, 2 or 3: tiles are 256 × scale pixels wide. */
  readonly scale: number;
  /** Mapnik's name for the encoding of the tiles, with its options, such as `png8:m=h`. */
  readonly encoding: string;
  readonly bufferPixels: number;
  /** Whose map it is: what takes long of one keeps no slot from others. Absent = nobody's. */
  readonly owner?: string;
}
export interface RenderedTile {
  /** The encoded tile. Tiles of one colour share one encoding; `solid` is that colour as 0xAABBGGRR. */
  readonly bytes: Uint8Array;
  readonly solid?: number;
  /** Names the pixels in this format, the core of the ETag: a hash of these bytes, which equal pixels have in common. */
  readonly hash: string;
}
export interface MetatileResponse {
  /** Row by row from the top left. */
  readonly tiles: readonly RenderedTile[];
  /** How many of them were encoded for it: tiles of one colour have the encoding of an earlier one. */
  readonly encoded: number;
  readonly renderMs: number;
}

/** A square picture of a map that is drawn once: a symbol of a legend. */
export interface SymbolRequest {
  readonly map: MapSource;
  /** Paths of the images that the map shows, by the names that the map has for them. */
  readonly files?: Readonly<Record<string, string>>;
  /** [xmin, ymin, xmax, ymax] of a square in EPSG:3857. */
  readonly extent: readonly [number, number, number, number];
  /** Pixels a side. */
  readonly size: number;
  /** How many pixels of the picture are one of a tile. */
  readonly scale: number;
}

/** A tile of ours, PNG or WebP, to be encoded more closely. */
export interface PackRequest {
  readonly bytes: Uint8Array;
}
export interface PackResponse {
  /** False: it was given up, as other work came. */
  readonly isDone: boolean;
  /** Fewer bytes of the same pixels in the same format; absent = there are none. */
  readonly bytes?: Uint8Array;
}

export interface RenderMessages {
  compile: [CompileRequest, CompileResponse];
  metatile: [MetatileRequest, MetatileResponse];
  pack: [PackRequest, PackResponse];
  /** Answers a PNG. */
  symbol: [SymbolRequest, Uint8Array];
  ping: [null, "pong"];
}

export type PictureFormat = "png" | "jpeg" | "gif" | "webp";

/**
 * How an image fills a box of width × height, as in CSS `object-fit`; the first is the default. `inside` is as `scale-down`, but
 * without the margins: the result is as large as the image is in the box.
 */
export const pictureFits = ["fill", "none", "contain", "cover", "scale-down", "inside"] as const;
export type PictureFit = (typeof pictureFits)[number];

/** Size and format of an image. If one side is absent, it follows from the aspect ratio. */
export interface ResizeOptions {
  /** Pixels. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Counts when both sides are given. */
  readonly fit: PictureFit;
  /** With one side given: whether a smaller image keeps its size. */
  readonly shrinkOnly?: boolean;
  /** Default: the format of the file. */
  readonly format?: PictureFormat | undefined;
}
export interface ResizeRequest extends ResizeOptions {
  /** A file whose name the server made. */
  readonly path: string;
}
export type ResizeResponse =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly format: PictureFormat }
  | {
      readonly ok: false;
      /** The file is not an image or is damaged, or the image is too large, or the result would be. */
      readonly reason: "unreadable" | "source_too_large" | "result_too_large";
    };

/** A square image of an SVG that the server made. */
export interface DrawRequest {
  readonly svg: string;
  /** Pixels a side. */
  readonly size: number;
}

/** Square images of equal size in rows, of which an area is cut and scaled. */
export interface MosaicRequest {
  /** PNG, JPEG or WebP, row by row from the top left; null = nothing is there. */
  readonly pieces: readonly (Uint8Array | null)[];
  readonly columns: number;
  /** Left edge, top edge and side of the area, in images. */
  readonly left: number;
  readonly top: number;
  readonly side: number;
  /** Pixels a side of the result. */
  readonly pixels: number;
}
export type MosaicResponse =
  | {
      readonly ok: true;
      /** RGBA, colours not multiplied by alpha. */
      readonly pixels: Uint8Array;
      /** Numbers of the images that cannot be read. */
      readonly unread: readonly number[];
    }
  /** None of the images can be read, or they are too large. */
  | { readonly ok: false; readonly isTooLarge?: boolean };
/** Of one picture for styles as it is sent, and of a zip of them, also unpacked. */
export const maxPictureBytes = 1024 ** 2;
export const maxPictureArchiveBytes = 256 * 1024 ** 2;

/** Pictures for styles, to be checked and written anew. */
export interface PicturesRequest {
  /** The uploaded file: a zip of pictures, or one picture. */
  readonly path: string;
  /** Path of the one picture in its project; absent = the file is a zip, whose names are the paths. */
  readonly name?: string;
  /** An empty folder of the server's, which the pictures are written to. */
  readonly folder: string;
}
/** A picture that was written: PNG, or an SVG with nothing but shapes. */
export interface SafePicture {
  readonly path: string;
  readonly file: string;
  readonly format: "png" | "svg";
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
  /** SHA-256 of the written file. */
  readonly digest: string;
}
export type PicturesResponse =
  | {
      readonly ok: true;
      readonly pictures: readonly SafePicture[];
      /** Why others were not: a sentence by path. Of a zip, files of other kinds are not named. */
      readonly refused: Readonly<Record<string, string>>;
    }
  /** The archive cannot be read. */
  | { readonly ok: false; readonly error: string };

/** Of a font for styles as it is sent. */
export const maxFontBytes = 4 * 1024 ** 2;

/** A font for styles, to be checked and written anew. */
export interface FontRequest {
  /** The uploaded file. */
  readonly path: string;
  /** Path of the file to write. */
  readonly target: string;
}
export type FontResponse =
  | {
      readonly ok: true;
      readonly format: "ttf" | "otf";
      readonly names: readonly string[];
      readonly digest: string;
      readonly bytes: number;
    }
  | { readonly ok: false; readonly error: string };

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
  mosaic: [MosaicRequest, MosaicResponse];
  pictures: [PicturesRequest, PicturesResponse];
  font: [FontRequest, FontResponse];
  ping: [null, "pong"];
}

export interface TransferMessages {
  import: [ImportRequest, ImportResponse];
  ping: [null, "pong"];
}

/** A file of GSHHG, of which the flowing water or the lakes are written as GeoJSON, one feature a line. */
export interface WaterRequest {
  readonly source: string;
  readonly what: "rivers" | "lakes";
  /** Path of the file to write; there is none yet. */
  readonly target: string;
}

export interface WaterMessages {
  /** Features of rivers have a `rank`, 1 = wide or main ones to 4 = minor ones; those of lakes `km2`, the largest first. */
  water: [WaterRequest, null];
  ping: [null, "pong"];
}
