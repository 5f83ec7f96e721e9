import type { LayerNode } from "../catalog/state.js";
import { structureRowBytes } from "../catalog/structure-history.js";
import type { Database, Queryable } from "../storage/postgres.js";

/** What happened to objects: who changed what, and when. Triggers of layers' tables write it (063_object_history.sql). */

export type HistoryKind = "created" | "changed" | "deleted" | "added" | "replaced" | "emptied";

const kinds: Readonly<Record<string, HistoryKind>> = {
  i: "created",
  u: "changed",
  d: "deleted",
  I: "added",
  R: "replaced",
  T: "emptied",
};

export type Values = Readonly<Record<string, unknown>>;

export interface HistoryEntry {
  readonly id: number;
  readonly layerId: number;
  /** null = many objects at once. */
  readonly object: number | null;
  readonly kind: HistoryKind;
  /** Objects of it. */
  readonly count: number | null;
  readonly at: Date;
  /** null = it is not known: by SQL, a command, the public, or a server of an older version. */
  readonly login: string | null;
  /** The same for all that a transaction did. */
  readonly group: string;
  /** Values by column code, and `geom` as GeoJSON; null = there was no object. */
  readonly before: Values | null;
  readonly after: Values | null;
}

interface Row extends Omit<HistoryEntry, "kind"> {
  readonly op: string;
}

export interface HistoryRequest {
  readonly object?: number | undefined;
  /** Only entries with lower ids. */
  readonly before?: number | undefined;
  readonly limit: number;
  /** Whether values are wanted, too. */
  readonly values: boolean;
}

/** SQL of values with their geometry as GeoJSON. */
const shown = (values: string): string =>
  `case when ${values} ? 'geom' then ${values} || jsonb_build_object('geom',
     case when ${values} ->> 'geom' is not null then st_asgeojson((${values} ->> 'geom')::geometry)::jsonb end)
   else ${values} end`;

/** SQL of ids of changes of a layer that meet a condition, newest first, so that no more are read than a page has. */
const newest = (condition: string): string =>
  `(select id from object_history
    where layer_id = l.id and id < coalesce($2::bigint, 9223372036854775807) and ${condition} order by id desc limit $3)`;

/** Each by an index of its own. */
const ofObject = `(${newest("object_id = $4::bigint")} union all ${newest("op = 'I' and $4::bigint = any(ids)")})`;

/** A page with values ends before it has more than this, but for its first change: shapes may have millions of vertices. */
const pageBytes = 8 * 1024 ** 2;

/** SQL of the ids of a page that the answer has: one is read after the other, so that no more are than it has. */
const within = `(select ids[:greatest(1, (select max(place) from read where total <= ${pageBytes}))] from page)`;

/** Changes of objects of these layers, newest first. */
export async function listHistory(
  db: Queryable,
  layers: readonly LayerNode[],
  { object, before, limit, values }: HistoryRequest,
): Promise<HistoryEntry[]> {
  // Of all layers at once PostgreSQL would go through the changes of everybody, back to theirs.
  const rows = await db.query<Row>(
    `with recursive page as (
       select array(select found.id from unnest($1::bigint[]) l (id)
         cross join lateral ${object === undefined ? newest("true") : ofObject} found order by found.id desc limit $3) as ids
     ), read (place, total) as (
       select 0, 0::bigint
       union all
       select place + 1, total + 100 + coalesce(octet_length(h.before::text), 0) + coalesce(octet_length(h.after::text), 0)
       from read cross join page join object_history h on h.id = page.ids[place + 1]
       where total <= ${pageBytes})
     select h.id, h.layer_id as "layerId", h.object_id as object, h.op, h.at, nullif(h.login, '') as login,
       case when h.op = 'I' then cardinality(h.ids) when h.object_id is not null then 1 end as count,
       h.transaction_id || '-' || floor(extract(epoch from h.at) * 1000) as group,
       ${values ? shown("h.before") : "null"} as before, ${values ? shown("h.after") : "null"} as after
     from object_history h where h.id = any(${values ? within : "(select ids from page)"}::bigint[]) order by h.id desc`,
    [layers.map(({ id }) => id), before ?? null, limit, ...(object === undefined ? [] : [object])],
  );
  const codes = new Map(
    layers.map(({ id, columns }) => [id, new Map(columns.map(({ physical, code }) => [physical, code]))]),
  );
  return rows.map(({ op, ...row }) => {
    const named = (found: Values | null) =>
      found &&
      Object.fromEntries(
        Object.entries(found).flatMap(([physical, value]) => {
          const code = codes.get(row.layerId)!.get(physical);
          return code === undefined ? [] : [[code, value]];
        }),
      );
    return { ...row, kind: kinds[op]!, before: named(row.before), after: named(row.after) };
  });
}

/** SQL of the bytes of a row, as it is stored. */
const rowBytes = `(100 + coalesce(pg_column_size(h.before), 0) + coalesce(pg_column_size(h.after), 0)
  + coalesce(pg_column_size(h.ids), 0))`;

/** So many changes are measured, of more the newest: whoever looks at a history does not read the whole of it. */
const mostMeasured = 2_000;

/** Bytes that the history of these layers takes, without indexes; of more than 2,000 changes an estimate. */
export async function historyBytes(db: Queryable, layers: readonly LayerNode[]): Promise<number> {
  const ids = layers.map(({ id }) => id);
  const [found] = await db.query<{ rows: number; bytes: number }>(
    `select count(*)::int as rows, coalesce(sum(${rowBytes}), 0)::bigint as bytes
     from (select newest.id from unnest($1::bigint[]) l (id) cross join lateral (
         select id from object_history where layer_id = l.id order by id desc limit ${mostMeasured}) newest
         order by newest.id desc limit ${mostMeasured}) page
       join object_history h using (id)`,
    [ids],
  );
  const { rows, bytes } = found!;
  if (rows < mostMeasured) return bytes;
  const [planned] = await db.query<{ "QUERY PLAN": readonly [{ Plan: { "Plan Rows": number } }] }>(
    `explain (format json) select from object_history where layer_id = any('{${ids.map(Math.trunc).join(",")}}'::bigint[])`,
  );
  const all = planned!["QUERY PLAN"][0].Plan["Plan Rows"];
  return Math.round((bytes / rows) * Math.max(rows, all));
}

/** Rows that one turn deletes. */
const prunedAtOnce = 20_000;

/** Deletes what is older, of objects and of the structure. @returns number of rows of objects, of at most 20,000 */
export const pruneHistory = (
  db: Queryable,
  { days, now }: { readonly days: number; readonly now?: Date },
): Promise<number> =>
  db.execute(
    `with structure as (
       delete from structure_history where ctid = any(array(
         select ctid from structure_history where at < coalesce($2::timestamptz, now()) - $1 * interval '1 day'
         limit ${prunedAtOnce})))
     delete from object_history where ctid = any(array(
       select ctid from object_history where at < coalesce($2::timestamptz, now()) - $1 * interval '1 day'
       limit ${prunedAtOnce}))`,
    [days, now ?? null],
  );

/** All projects are measured in one statement, which reads the whole history. */
const measureTimeoutMs = 600_000;

/** SQL of all rows with their bytes; project null = it is gone. */
const measured = `(
  select 'object_history' as source, 'layer_id' as owner_name, h.id, h.at, h.layer_id as owner, m.project_id as project,
    ${rowBytes} as size
  from object_history h left join node n on n.id = h.layer_id left join map m on m.id = n.map_id
  union all
  select 'structure_history', 'project_id', h.id, h.at, h.project_id, p.id, ${structureRowBytes}
  from structure_history h left join project p on p.id = h.project_id) measured`;

/** Deletes the oldest of projects whose history takes more than that, and what layers and projects that are gone have left. */
export async function boundHistory(
  db: Pick<Database, "execute" | "transaction">,
  mostBytes: number,
): Promise<number> {
  const tooMuch = await db.transaction(async (tx) => {
    // All projects together do not come to that: nothing needs to be read. A row is measured as at most twice of what it takes.
    const [size] = await tx.query<{ bytes: number }>(
      "select pg_table_size('object_history') + pg_table_size('structure_history') as bytes",
    );
    if (2 * size!.bytes <= mostBytes) return [];
    await tx.execute(`set local statement_timeout = ${measureTimeoutMs}`);
    // Only the rows of some projects are sorted.
    const projects = await tx.query<{ id: number }>(
      `select coalesce(project, -2) as id from ${measured} group by project having project is null or sum(size) > $1`,
      [mostBytes],
    );
    if (projects.length === 0) return [];
    return tx.query<{ table: string; owner: string; owners: number[]; last: number }>(
      `select source as table, owner_name as owner, array_agg(distinct owner) as owners,
         max(id) filter (where project is null or total > $1) as last
       from (select *, sum(size) over (partition by project order by at desc, id desc) as total
         from ${measured} where coalesce(project, -2) = any($2::int[])) sized
       group by project, source, owner_name having max(id) filter (where project is null or total > $1) is not null`,
      [mostBytes, projects.map(({ id }) => id)],
    );
  });
  let gone = 0;
  for (const { table, owner, owners, last } of tooMuch) {
    for (let some = prunedAtOnce; some === prunedAtOnce; gone += some)
      some = await db.execute(
        `delete from ${table} where id = any(array(
           select id from ${table} where ${owner} = any($1::bigint[]) and id <= $2 limit ${prunedAtOnce}))`,
        [owners, last],
      );
  }
  return gone;
}
