import type { Queryable } from "../storage/postgres.js";
import type { PublicationChange } from "./restore-publication.js";
import type { Caller, StoredSettings } from "./state.js";

/**
 * The bin: deleted maps, folders, layers and columns that can be restored. Nothing that hangs on them is touched: a map belongs to
 * a hidden project, folders and layers to a map of their own there, columns to a layer of their own. An entry has what the deletion
 * took from elsewhere.
 */

export type BinKind = "map" | "folder" | "layer" | "column";

/** Who deletes, and that it is kept. */
export interface Deleter {
  /** null = the operator. */
  readonly accountId: number | null;
  /** "" = the operator. */
  readonly login: string;
}

/** Who is said to have done something: the login that the session was opened for, or a key by its number. */
export const loginOf = (caller: Caller): string =>
  (caller.grantedBy ?? caller).login ?? (caller.isKey ? `key ${caller.accountId}` : "");

/** For deletions whose data are kept; undefined = they are kept for no day. */
export function deleterOf(
  { bin }: { readonly bin: { readonly days: number } },
  caller?: Caller,
): Deleter | undefined {
  if (bin.days === 0) return undefined;
  return { accountId: caller?.accountId || null, login: caller ? loginOf(caller) : "" };
}

type Row = Readonly<Record<string, unknown>>;

/** What the deletion of maps, folders and layers took from others. */
export interface KeptPlace {
  /** Rows of `access_grant`. */
  readonly grants: readonly Row[];
  /** Rows of `search_setting`. */
  readonly search: readonly Row[];
  /** null = the map's publication tree was not changed. */
  readonly publication: PublicationChange | null;
  readonly parentId: number | null;
  readonly sort: number;
  /** Views that were dropped since. */
  readonly views?: LostViews;
}

/** A definition and the types of its columns, by name. */
export type LostViews = Readonly<Record<string, { readonly sql: string; readonly types: object }>>;

/** What the deletion of a column took from its layer. */
export interface KeptColumn {
  readonly parentId: number | null;
  readonly sort: number;
  /** Of the columns under a title. */
  readonly children: readonly { readonly id: number; readonly sort: number }[];
  /** Rows of `column_constraint`. */
  readonly constraints: readonly Row[];
  /** Rows of `search_setting`. */
  readonly search: readonly Row[];
  /** Settings of the layer that named it, before and after. */
  readonly settings: { readonly before: LayerSettings; readonly after: LayerSettings } | null;
}

export interface LayerSettings {
  readonly visual_settings: StoredSettings | null;
  readonly visual_custom_settings: StoredSettings | null;
  readonly vector_settings: StoredSettings | null;
  readonly style_mode: number;
}

export interface NewEntry {
  readonly kind: BinKind;
  readonly itemId: number;
  readonly code: string;
  readonly name: string;
  readonly mapId: number;
  readonly layerId?: number;
  readonly holderId: number | null;
  readonly kept: object;
}

/** Puts what is deleted into the bin of the map's project. The caller has locked the map's row. */
export const addToBin = (tx: Queryable, entry: NewEntry, by: Deleter): Promise<unknown> =>
  tx.execute(
    `insert into bin (project_id, kind, item_id, code, name, map_id, map_code, layer_id, layer_code, holder_id, kept,
       deleted_by, deleted_login)
     select project_id, $1, $2, $3, $4, id, code, $6, (select code from node where id = $6), $7, $8, $9, $10
     from map where id = $5`,
    [
      entry.kind,
      entry.itemId,
      entry.code,
      entry.name,
      entry.mapId,
      entry.layerId ?? null,
      entry.holderId,
      JSON.stringify(entry.kept),
      by.accountId,
      by.login,
    ],
  );
