import type { ColumnType } from "../column-types/column-types.js";
import type { GeoEnvelope } from "../geo/envelope.js";
import type { MercatorBox } from "../geo/tile.js";
import type { GeometryKind } from "../geo/wkb.js";

/** The catalogue in memory: immutable snapshots of projects and maps. */

export type Role = "admin" | "editor" | "viewer";

/** A user in a project. */
export interface Member {
  readonly login: string;
  readonly role: Role;
}

/** Rights are a sum of these bits. */
export const Right = { read: 1, editObjects: 2, editStructure: 4, administer: 8 } as const;
export type Rights = number;

/** Rights given to a user or the public beyond the role. */
export interface Grant {
  /** null = the whole project. */
  readonly mapId: number | null;
  /** null = the whole map. */
  readonly layerId: number | null;
  /** null = the public. */
  readonly accountId: number | null;
  readonly rights: Rights;
}

export type BaseMap =
  /** In one of its looks; absent = light. */
  | { readonly kind: "builtin"; readonly style?: "light" | "muted" | "dark" }
  | { readonly kind: "none" }
  /** A raster service, as of an external layer. */
  | {
      readonly kind: "tiles";
      readonly url: string;
      readonly minZoom?: number | null;
      readonly maxZoom?: number | null;
      readonly attribution?: string;
    };

/** Base maps that a map can have in place of its project's, as `project base-map` names them. */
export const mapBases = ["builtin", "builtin-muted", "builtin-dark", "none"] as const;
export type MapBase = (typeof mapBases)[number];

const ofMaps: Readonly<Record<MapBase, BaseMap>> = {
  builtin: { kind: "builtin" },
  "builtin-muted": { kind: "builtin", style: "muted" },
  "builtin-dark": { kind: "builtin", style: "dark" },
  none: { kind: "none" },
};

/** What is drawn below a map. */
export const baseMapOf = ({ base, project }: Pick<MapState, "base" | "project">): BaseMap =>
  base === null ? project.baseMap : ofMaps[base];

/** A picture for styles, as it is drawn. */
export interface StoredPicture {
  /** Key of the blob. */
  readonly blob: string;
  /** SHA-256 of its content. */
  readonly digest: string;
  readonly format: "png" | "svg";
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
}

/** A font for styles, as labels are drawn in it. */
export interface StoredFont {
  /** Key of the blob. */
  readonly blob: string;
  /** Hash of what is drawn, and the family that the blob itself names. */
  readonly digest: string;
  readonly format: "ttf" | "otf";
  /** Names that styles have for it, as Mapnik names faces. */
  readonly names: readonly string[];
  readonly bytes: number;
}

/** A key that lasts, for programs. */
export interface ProjectKey {
  /** An account that has no role. */
  readonly accountId: number;
  /** ms since 1970; null = never. */
  readonly endsAt: number | null;
}

export interface ProjectState {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  /** Language codes; the first is the main one. */
  readonly languages: readonly [string, ...string[]];
  readonly baseMap: BaseMap;
  readonly hidden: boolean;
  readonly revision: number;
  /** By account id. */
  readonly members: ReadonlyMap<number, Member>;
  readonly grants: readonly Grant[];
  /** Keys that last, by their hashes. */
  readonly keys: ReadonlyMap<string, ProjectKey>;
  /** Pictures that styles may show, by path. */
  readonly pictures: ReadonlyMap<string, StoredPicture>;
  /** Fonts that styles may use, by path. */
  readonly fonts: ReadonlyMap<string, StoredFont>;
}

/** A text that may be localised: then `names` has it by language, and `name` is a fallback. */
export interface LocalizedName {
  readonly name: string;
  readonly localized: boolean;
  readonly names: Readonly<Record<string, string>>;
}

export interface Column extends LocalizedName {
  readonly id: number;
  readonly code: string;
  /** Name of the column in the layer's table: svc_id, geom or c<id>. Titles have a name, but no such column. */
  readonly physical: string;
  readonly type: ColumnType;
  readonly required: boolean;
  readonly localizedValue: boolean;
  readonly sort: number;
  /** null = top level. */
  readonly parentId: number | null;
  readonly format: Readonly<Record<string, unknown>> | null;
}

/** Whether it is the object id, which the server generates. */
export const isId = (column: Pick<Column, "physical">): boolean => column.physical === "svc_id";

export type ConstraintType = "enum" | "range" | "pattern";

/** A constraint on values of columns; null and empty text are always allowed. */
export interface ColumnConstraint {
  readonly id: number;
  readonly type: ConstraintType;
  readonly name: string;
  readonly columnIds: readonly number[];
  /** enum: the allowed values; range: [min, max], null = unbounded; pattern: [regular expression]. */
  readonly definition: readonly unknown[];
}

export type NodeType = "folder" | "layer" | "virtual" | "material" | "raster" | "external";

/** A folder or layer in a map's tree. */
export interface TreeNode extends LocalizedName {
  readonly id: number;
  readonly type: NodeType;
  /** null = directly in the map. */
  readonly parentId: number | null;
  readonly code: string;
  readonly sort: number;
  /** Whether it is on by default: as in the publication tree, or without one as set on the node. */
  readonly selected: boolean;
  readonly icon: string;
  readonly json: Readonly<Record<string, unknown>>;
  readonly cssStyle: string;
  readonly renderType: 0 | 1;
  readonly styleMode: 0 | 1 | 2 | 3 | 4;
  readonly ownerId: number | null;
}

export interface LayerNode extends TreeNode {
  readonly type: Exclude<NodeType, "folder">;
  readonly geometryKind: GeometryKind;
  /** Ordered by `sort`, each title before its columns; with svc_id and geom. */
  readonly columns: readonly Column[];
  /** Absent = none. */
  readonly constraints?: readonly ColumnConstraint[];
  /** The highest zoom of each level with generalized geometry, ascending; of a virtual layer those of its source. */
  readonly generalizationLevels: readonly number[];
  /**
   * The generalization levels that are light even when strokes show each of some small objects (tiles/small-features.ts). null
   * or absent = nothing is known of the objects that the levels leave out.
   */
  readonly smallFeatureLevels?: readonly number[] | null;
  /** Area that a stroke takes at the bends of one of its small lines, in squares of the stroke's width. Absent = 0. */
  readonly lineBends?: number;
  /** Whether there are shapes that are read from chunks of their vertices (tiles/large-shapes.ts). Absent = none. */
  readonly hasVertexChunks?: boolean;
  /**
   * How dense the layer is: for each zoom from 0 to 14, how many objects there are around one in its square of 4 x 4 tiles,
   * on average. null or absent = it is small, or nobody has looked yet.
   */
  readonly density?: readonly number[] | null;
  /** How points are thinned ahead of time (tiles/thinning.ts); of a virtual layer nothing. Absent = not. */
  readonly thinnings?: readonly Thinning[];
  /** Whether objects may lie beyond ±180°, so that they are drawn in several copies of the world. */
  readonly crossesAntimeridian: boolean;
  /** Id of the layer that a virtual or materialized layer is derived from. */
  readonly sourceId: number | null;
  readonly source: LayerSource | null;
  /** The image of a raster layer; null for other layers. */
  readonly raster: RasterImage | null;
  /** Checked settings as stored; at most one of visualSettings and visualCustomSettings. */
  readonly visualSettings: StoredSettings | null;
  readonly visualCustomSettings: StoredSettings | null;
  readonly vectorSettings: StoredSettings | null;
  /** Whether its look is tried and not saved: nothing is kept for it. Absent = no. */
  readonly isTried?: boolean;
}

/** Tables of thinned points: those of a zoom are `<table>_p<number>_z<zoom>`. */
export interface Thinning {
  readonly number: number;
  /** Digest of the rules that the points are thinned by. */
  readonly digest: string;
  /** Zooms of the tables, ascending; none = the points are too few. */
  readonly levels: readonly number[];
}

/** What an uploaded image tells of itself. */
export interface RasterFacts {
  /** In pixels. */
  readonly width: number;
  readonly height: number;
  readonly bands: number;
  /** EPSG number or WKT of the image's coordinates. */
  readonly srs: string;
  /** GDAL's six numbers from column and row to those coordinates. */
  readonly transform: readonly number[];
  /** Whether the uploaded file itself tells where it lies. */
  readonly hasOwnReference: boolean;
  readonly nodata: number | null;
  /** Least and greatest value, where tiles are drawn from one band of numbers; null = from colours. */
  readonly valueRange: readonly [number, number] | null;
  /** Extent of the processed image, in EPSG:3857; x beyond the antimeridian goes on. null = an image from before this was kept. */
  readonly extent: MercatorBox | null;
  /** Whether its values or colours stand for something (classes, identifiers) and are not to be mixed. */
  readonly isDiscrete: boolean;
}

/** The image of a raster layer. */
export interface RasterImage extends RasterFacts {
  /** Key of the blob of the uploaded file. */
  readonly original: string;
  readonly originalFormat: "GTiff" | "PNG" | "JPEG";
  readonly originalBytes: number;
  /** Key of the blob of the processed image: a GeoTIFF in EPSG:3857, tiled, with overviews. */
  readonly processed: string;
  readonly processedBytes: number;
  /**
   * Key of the blob that tiles are drawn from: the processed image, or where that has values that are no colours, another
   * with the same pixels, whose values Mapnik can draw.
   */
  readonly drawn: string;
  /** In EPSG:4326; longitudes beyond ±180 go on across the antimeridian. */
  readonly box: GeoEnvelope;
}

/** Source of a derived or external layer. */
export type LayerSource =
  /** Virtual and materialized layers: filter for the source's objects, in the filter language; "" = all. */
  | { readonly filter: string }
  /** External layers: a raster service. */
  | {
      readonly url: string;
      readonly minZoom: number | null;
      readonly maxZoom: number | null;
      readonly attribution: string;
    };

export type StoredSettings = Readonly<Record<string, unknown>>;

/** An element of the publication tree (save-publication-tree). */
export interface PublicationElement {
  readonly id: number;
  readonly parentId: number;
  readonly nodeId: number;
  readonly sort: number;
  readonly selected: boolean;
  readonly icon: string;
}

/** West, south, east, north in degrees, west within ±180; east beyond 180 is across that meridian. */
export type StartView = readonly [west: number, south: number, east: number, north: number];

export interface MapState extends LocalizedName {
  readonly id: number;
  readonly project: ProjectState;
  readonly code: string;
  readonly cssStyle: string;
  readonly groupLayers: 0 | 1;
  readonly hasPublication: boolean;
  readonly sort: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly comment: string;
  /** What is seen at first; null = all of its data. */
  readonly startView: StartView | null;
  /** null = that of the project. */
  readonly base: MapBase | null;
  readonly ownerId: number | null;
  readonly revision: number;
  /** Every folder and layer by id. */
  readonly nodes: ReadonlyMap<number, TreeNode | LayerNode>;
  /** Layers by code. */
  readonly layers: ReadonlyMap<string, LayerNode>;
  /** Children by parent id (0 = the map), in the order of the tree: lower `sort` first, then id. */
  readonly children: ReadonlyMap<number, readonly (TreeNode | LayerNode)[]>;
  /** null = the full tree is published. */
  readonly publication: readonly PublicationElement[] | null;
}

export const isLayer = (node: TreeNode | LayerNode): node is LayerNode => node.type !== "folder";

/** Whether the node is a layer with objects in a table or view. */
export const hasObjects = (node: Pick<TreeNode, "type">): boolean =>
  node.type === "layer" || node.type === "virtual" || node.type === "material";

/** Whether the layer's objects come from another layer, so that they cannot be edited here. */
export const isDerived = (node: TreeNode | LayerNode): boolean =>
  node.type === "virtual" || node.type === "material";

/** The text in a language, else in the main language, else in any; "" if there is none. */
export function localName(text: LocalizedName, language: string, main: string): string {
  if (!text.localized) return text.name;
  const own = (key: string) => (Object.hasOwn(text.names, key) ? text.names[key] : undefined);
  return own(language) || own(main) || Object.values(text.names).find(Boolean) || text.name;
}

/**
 * Identifies a user outside the database, such as in sessions: after the database is restored from a backup, an id may
 * belong to another account, so the login is compared too.
 */
export interface UserName {
  readonly accountId: number;
  readonly login: string;
}

/** The caller of a request: the public, or a user who is signed in to one project. */
export interface Caller {
  /** null = the public. */
  readonly accountId: number | null;
  readonly login: string | null;
  /** Project that the session belongs to. */
  readonly projectId: number | null;
  /** The user who requested this session for the caller. */
  readonly grantedBy?: UserName;
  /** It is no user, but a program that came with a key that lasts. */
  readonly isKey?: true;
}
export const publicCaller: Caller = { accountId: null, login: null, projectId: null };
