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
  readonly before: Members;
  readonly after: Members;
}

/** Styles and trees may be long: lists have them as the JSON text that PostgreSQL makes. */
export interface ListedEntry extends Omit<StructureEntry, "before" | "after"> {
  /** null = they were not asked for. */
  readonly before: string | null;
  readonly after: string | null;
}

interface Op {
  readonly op: keyof typeof changes;
}

const entryOf = <Row extends Op>({ op, ...row }: Row) => ({ ...row, change: changes[op] });

const columns = `h.id, h.kind, h.op, h.item_id as item, h.code, h.map_id as "mapId", h.map_code as map, h.node_id as "nodeId",
   h.node_code as node, h.at, nullif(h.login, '') as login,
   h.transaction_id || '-' || floor(extract(epoch from h.at) * 1000) as group,
   array(select k from jsonb_object_keys(h.after) k order by k) as members`;

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

/** A page ends before it has more than this, but for its first entry. */
const pageBytes = 8 * 1024 ** 2;

/** SQL of the bytes of a row, as it is stored. */
export const structureRowBytes =
  "(150 + pg_column_size(h.before) + pg_column_size(h.after) + length(h.code) + length(h.map_code))";

/** SQL of those of its answer: what is stored takes up to a hundredth of them. */
const answeredBytes = "(300 + octet_length(h.before::text) + octet_length(h.after::text))";

/** Changes in a project, newest first. */
export async function listStructureHistory(
  db: Queryable,
  project: number,
  { before, limit, values, map, layer, kind, by }: StructureRequest,
): Promise<ListedEntry[]> {
  const given: unknown[] = [project];
  const bind = (value: unknown) => `$${given.push(value)}`;
  const conditions = ["h.project_id = $1"];
  if (map !== undefined) {
    const code = bind(map);
    conditions.push(
      `(h.map_code = ${code} or h.map_id = (select id from map where project_id = $1 and code = ${code}))`,
    );
  }
  if (layer !== undefined) {
    const code = bind(layer);
    conditions.push(
      `(h.node_code = ${code} or h.node_id = any(array(
         select n.id from node n join map m on m.id = n.map_id where m.project_id = $1 and n.code = ${code})))`,
    );
  }
  if (kind !== undefined) conditions.push(`h.kind = ${bind(kind)}`);
  if (by !== undefined) conditions.push(`h.login = ${bind(by)}`);
  /** The next one, so that no more are read than the page has. */
  const next = (under: string) =>
    `(select h.id, ${values ? answeredBytes : structureRowBytes}::bigint as bytes from structure_history h
      where ${conditions.join(" and ")} and h.id < ${under} order by h.id desc limit 1)`;
  const rows = await db.query<Omit<ListedEntry, "change"> & Op>(
    `with recursive page (id, total, place) as (
       select first.id, first.bytes, 1 from ${next(`coalesce(${bind(before ?? null)}::bigint, 9223372036854775807)`)} first
       union all
       select next.id, page.total + next.bytes, page.place + 1 from page cross join lateral ${next("page.id")} next
       where page.place < ${bind(limit)} and page.total <= ${pageBytes})
     select ${columns}, ${values ? "h.before::text as before, h.after::text as after" : "null as before, null as after"}
     from page join structure_history h using (id) where page.place = 1 or page.total <= ${pageBytes} order by h.id desc`,
    given,
  );
  return rows.map(entryOf);
}

/** The entry of that id in the project. */
export async function findStructureEntry(
  db: Queryable,
  project: number,
  id: number,
): Promise<StructureEntry | undefined> {
  const [row] = await db.query<Omit<StructureEntry, "change"> & Op>(
    `select ${columns}, h.before, h.after from structure_history h where h.id = $1 and h.project_id = $2`,
    [id, project],
  );
  return row && entryOf(row);
}
