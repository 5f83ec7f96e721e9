import type { Queryable } from "../storage/postgres.js";

/**
 * What happened to maps, folders, layers and columns: who changed what, and when. Triggers of the catalogue write it
 * (storage/functions/history), one entry of each for all that a transaction does to it.
 */

export const structureKinds = ["map", "folder", "layer", "column"] as const;
export type StructureKind = (typeof structureKinds)[number];

const changes = { c: "created", u: "changed", d: "deleted", r: "restored" } as const;
export type StructureChange = (typeof changes)[keyof typeof changes];

type Members = Readonly<Record<string, unknown>>;

export interface StructureEntry {
  readonly id: number;
  readonly kind: StructureKind;
  readonly change: StructureChange;
  /** Of the map, folder, layer or column. */
  readonly item: number;
  /** Its code then. */
  readonly code: string;
  readonly mapId: number;
  readonly map: string;
  /** The folder or layer, or the layer of a column; null = the map itself. */
  readonly nodeId: number | null;
  readonly node: string | null;
  readonly at: Date;
  /** null = it is not known. */
  readonly login: string | null;
  /** The same for all that a transaction did. */
  readonly group: string;
  /** Names of the members that differ. */
  readonly members: readonly string[];
  /** null = they were not asked for. */
  readonly before: Members | null;
  readonly after: Members | null;
}

interface Row extends Omit<StructureEntry, "change"> {
  readonly op: keyof typeof changes;
}

const entryOf = ({ op, ...row }: Row): StructureEntry => ({ ...row, change: changes[op] });

const columns = (values: boolean): string =>
  `h.id, h.kind, h.op, h.item_id as item, h.code, h.map_id as "mapId", h.map_code as map, h.node_id as "nodeId",
   h.node_code as node, h.at, nullif(h.login, '') as login,
   h.transaction_id || '-' || floor(extract(epoch from h.at) * 1000) as group,
   array(select k from jsonb_object_keys(h.after) k order by k) as members,
   ${values ? "h.before, h.after" : "null as before, null as after"}`;

export interface StructureRequest {
  /** Only entries with lower ids. */
  readonly before?: number | undefined;
  readonly limit: number;
  /** Whether `before` and `after` are wanted. */
  readonly values: boolean;
  /** Code of a map, and of a folder or layer, of then or of now. */
  readonly map?: string | undefined;
  readonly layer?: string | undefined;
  readonly kind?: StructureKind | undefined;
  /** A login. */
  readonly by?: string | undefined;
}

/** A page ends before it has more than this, but for its first entry: styles and trees may be long. */
const pageBytes = 8 * 1024 ** 2;

/** SQL of the bytes of a row, as it is stored. */
export const structureRowBytes =
  "(150 + pg_column_size(h.before) + pg_column_size(h.after) + length(h.code) + length(h.map_code))";

/** Changes in a project, newest first. */
export async function listStructureHistory(
  db: Queryable,
  project: number,
  { before, limit, values, map, layer, kind, by }: StructureRequest,
): Promise<StructureEntry[]> {
  const rows = await db.query<Row>(
    `select * from (
       select ${columns(values)}, sum(${structureRowBytes}) over (order by h.id desc) as total,
         row_number() over (order by h.id desc) as place
       from (
         select h.* from structure_history h where h.project_id = $1 and ($2::bigint is null or h.id < $2)
           and ($4::text is null or h.map_code = $4 or h.map_id = (select id from map where project_id = $1 and code = $4))
           and ($5::text is null or h.node_code = $5 or h.node_id in (
             select n.id from node n join map m on m.id = n.map_id where m.project_id = $1 and n.code = $5))
           and ($6::text is null or h.kind = $6) and ($7::text is null or h.login = $7)
         order by h.id desc limit $3) h
     ) sized where place = 1 or $8::bool or total <= ${pageBytes} order by id desc`,
    [project, before ?? null, limit, map ?? null, layer ?? null, kind ?? null, by ?? null, !values],
  );
  return rows.map(({ total: _total, place: _place, ...row }: Row & { total?: number; place?: number }) =>
    entryOf(row),
  );
}

/** The entry of that id in the project, with its members. */
export async function findStructureEntry(
  db: Queryable,
  project: number,
  id: number,
): Promise<StructureEntry | undefined> {
  const [row] = await db.query<Row>(
    `select ${columns(true)} from structure_history h where h.id = $1 and h.project_id = $2`,
    [id, project],
  );
  return row && entryOf(row);
}
