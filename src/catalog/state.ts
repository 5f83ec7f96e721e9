import type { ColumnType } from "../column-types/column-types.js";

import type { GeometryKind } from "../geo/wkb.js";

/** The catalogue as a serving node holds it in memory: immutable snapshots of projects and maps. */

export type Role = "admin" | "editor" | "viewer";

/** A user in a project. */
export interface Member {
  readonly login: string;
  readonly role: Role;
}

/** Rights are a sum of these bits. */
export const Right = { read: 1, editObjects: 2, editStructure: 4, administer: 8 } as const;
export type Rights = number;

/** A right given beyond the role. Absent parts widen it: no layer = the whole map, no map = the project. */
export interface Grant {
  readonly mapId: number | null;
  readonly layerId: number | null;
  /** null = the public. */
  readonly accountId: number | null;
  readonly rights: Rights;
}

export type BaseMap =
  | { readonly kind: "builtin" }
  | { readonly kind: "none" }
  | { readonly kind: "tiles"; readonly url: string };

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
}

/** A text that may exist in several languages. `names` counts when `localized`. */
export interface LocalizedName {
  readonly name: string;
  readonly localized: boolean;
  readonly names: Readonly<Record<string, string>>;
}

export interface Column extends LocalizedName {
  readonly id: number;
  readonly code: string;
  /** Name of the column in the layer's table: svc_id, geom or c<id>. Titles have none, but keep the scheme. */
  readonly physical: string;
  readonly type: ColumnType;
  readonly required: boolean;
  readonly localizedValue: boolean;
  readonly sort: number;
  /** null = top level. */
  readonly parentId: number | null;
  readonly format: Readonly<Record<string, unknown>> | null;
}

/** Whether it is the object id, made by the server. */
export const isId = (column: Pick<Column, "physical">): boolean => column.physical === "svc_id";

export type ConstraintType = "enum" | "range" | "pattern";

/** What values of columns may be; null and empty text always may. */
export interface ColumnConstraint {
  readonly id: number;
  readonly type: ConstraintType;
  readonly name: string;
  readonly columnIds: readonly number[];
  /** enum: the allowed values; range: [least, greatest], null = none; pattern: [regular expression]. */
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
  /** Whether its element in the publication tree is ticked; before there is a tree, whether it is on by itself. */
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
  /** In the order of `sort`, each title before what it holds; svc_id and geom among them. */
  readonly columns: readonly Column[];
  /** Absent = none. */
  readonly constraints?: readonly ColumnConstraint[];
  /** Highest zoom of each band that has generalised geometry, ascending; a virtual layer has its source's. */
  readonly bands: readonly number[];
  /** The layer that a virtual or materialized one is made from. */
  readonly sourceId: number | null;
  readonly source: LayerSource | null;
  /** Checked settings as they were stored; at most one of the two visualizations. */
  readonly visualSettings: StoredSettings | null;
  readonly visualCustomSettings: StoredSettings | null;
  readonly vectorSettings: StoredSettings | null;
}

/** Where a layer's objects or picture come from. */
export type LayerSource =
  /** Of a virtual or materialized layer: which of the source's objects, in the filter language; "" = all. */
  | { readonly filter: string }
  /** Of an external layer: a raster service. */
  | {
      readonly url: string;
      readonly minZoom: number | null;
      readonly maxZoom: number | null;
      readonly attribution: string;
    };

export type StoredSettings = Readonly<Record<string, unknown>>;

/** An element of what save-publication-tree was given. */
export interface PublicationElement {
  readonly id: number;
  readonly parentId: number;
  readonly nodeId: number;
  readonly sort: number;
  readonly selected: boolean;
  readonly icon: string;
}

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

/** Whether the element is a layer of objects, with a table or view of them. */
export const hasObjects = (node: TreeNode | LayerNode): boolean =>
  node.type === "layer" || node.type === "virtual" || node.type === "material";

/** Whether the layer's objects come from another layer, so that nobody edits them here. */
export const isDerived = (node: TreeNode | LayerNode): boolean =>
  node.type === "virtual" || node.type === "material";

/** The string for a language: the language's own, else the main language's, else any; "" when there is none. */
export function localName(text: LocalizedName, language: string, main: string): string {
  if (!text.localized) return text.name;
  const own = (key: string) => (Object.hasOwn(text.names, key) ? text.names[key] : undefined);
  return own(language) || own(main) || Object.values(text.names).find(Boolean) || text.name;
}

/**
 * Who a user is, as something says that outlives the database's history: after a restore an account may have the number
 * that another one had, so the login counts too.
 */
export interface UserName {
  readonly accountId: number;
  readonly login: string;
}

/** Who asks: the public, or a signed-in user of one project. */
export interface Caller {
  /** null = the public. */
  readonly accountId: number | null;
  readonly login: string | null;
  /** Project that the session belongs to. */
  readonly projectId: number | null;
  /** The user who asked for this user's session. */
  readonly grantedBy?: UserName;
}
export const publicCaller: Caller = { accountId: null, login: null, projectId: null };
