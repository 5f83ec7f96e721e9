import type { LayerChange } from "../changes/layer-version.js";
import type { Queryable } from "../storage/postgres.js";

/** What the CDN has been told to drop, in the database: the cursor of the purges. */

export type Kind = "project" | "map" | "layer";

/** Something that has another version than the one whose predecessors the CDN has dropped. */
export interface Changed {
  readonly kind: Kind;
  readonly id: number;
  /** null = it is gone. */
  readonly version: number | null;
  /** null = the CDN was never told of it. */
  readonly purged: number | null;
  /** Of layers. */
  readonly map: number | null;
  /** Of layers: whether tiles may show more layers of the map than they name. */
  readonly isWide: boolean;
  /** Of layers that had only changes of known places; null = anywhere. */
  readonly area: number[] | null;
}

export interface Thing {
  readonly kind: Kind;
  readonly id: number;
}

/** Which things are looked at: these, or of all that are outdated the next after one. */
export type Wanted = readonly Thing[] | { readonly after: Thing | undefined };

/** More than these are dropped by the next batch. */
export const mostAtOnce = 1_000;
/** Changes of a layer whose places are told one by one. */
const mostChanges = 200;

/**
 * What has changed since the CDN was told, at most `mostAtOnce` of all, in the order of kinds and ids. All that is read is
 * committed.
 * @param named layers of a map that tiles name
 */
export async function readChanged(db: Connection, wanted: Wanted, named: number): Promise<Changed[]> {
  const isAll = "after" in wanted;
  const listed = isAll ? [] : wanted;
  const { kind, id } = (isAll ? wanted.after : undefined) ?? { kind: "", id: 0 };
  const rows = await db.query<{
    kind: Kind;
    id: number;
    version: number | null;
    purged: number | null;
    map: number | null;
    wide: boolean;
    changes: [version: number, previous: number, area: number[] | null][] | null;
  }>(
    `with wanted (kind, id) as (
       select * from unnest($1::text[], $2::bigint[])
       union all
       (select kind, id from edge_outdated where $3 and (kind collate "C", id) > ($5 collate "C", $6::bigint)
        order by kind collate "C", id limit ${mostAtOnce})
     ), known as (
       select w.kind, w.id, coalesce(p.revision, m.revision, l.version) as version, e.version as purged, n.map_id as map
       from wanted w
         left join project p on w.kind = 'project' and p.id = w.id
         left join map m on w.kind = 'map' and m.id = w.id
         left join layer l on w.kind = 'layer' and l.id = w.id
         left join node n on n.id = l.id
         left join edge_purged e on e.kind = w.kind and e.id = w.id
     )
     select *,
       map is not null and (select count(*) > $4 from (select from node where map_id = known.map limit $4 + 1) n) as wide,
       (select json_agg(json_build_array(c.version, c.previous, c.area) order by c.version) from (
          select version, previous, area from layer_change
          where known.kind = 'layer' and layer_id = known.id and version > known.purged
          order by version limit ${mostChanges + 1}) c) as changes
     from known where version is distinct from purged
     order by kind collate "C", id`,
    [listed.map(({ kind }) => kind), listed.map(({ id }) => id), isAll, named, kind, id],
  );
  return rows.map(({ wide, changes, ...row }) => ({
    ...row,
    isWide: wide,
    area: areaOf(
      row,
      (changes ?? []).map(([version, previous, area]) => ({ version, previous, area })),
    ),
  }));
}

/** The area of all changes from one version to the other; null if it is not known. */
function areaOf(
  { version, purged }: { readonly version: number | null; readonly purged: number | null },
  changes: readonly LayerChange[],
): number[] | null {
  let at = purged;
  const boxes: number[] = [];
  for (const { version: next, previous, area } of changes) {
    if (previous !== at || area === null) return null;
    boxes.push(...area);
    at = next;
  }
  return at !== null && at === version ? boxes : null;
}

/** Notes that the CDN has dropped what was before these versions. */
export async function noteDropped(
  db: Connection,
  told: readonly Pick<Changed, "kind" | "id" | "version">[],
): Promise<void> {
  // What changed while it was read may stand there twice: the later one holds.
  const dropped = [...new Map(told.map((one) => [`${one.kind} ${one.id}`, one])).values()];
  const gone = dropped.filter(({ version }) => version === null);
  const there = dropped.filter(({ version }) => version !== null);
  if (there.length > 0)
    await db.query(
      `insert into edge_purged (kind, id, version) select * from unnest($1::text[], $2::bigint[], $3::bigint[])
       on conflict (kind, id) do update set version = excluded.version`,
      [there.map(({ kind }) => kind), there.map(({ id }) => id), there.map(({ version }) => version)],
    );
  if (gone.length > 0)
    await db.query(
      `delete from edge_purged e using unnest($1::text[], $2::bigint[]) as gone (kind, id)
       where e.kind = gone.kind and e.id = gone.id`,
      [gone.map(({ kind }) => kind), gone.map(({ id }) => id)],
    );
}

type Connection = Pick<Queryable, "query">;

/**
 * What the state in the database is about.
 * @param target names the CDN and the version of the server
 */
export async function readTarget(
  db: Connection,
  target: string,
): Promise<{ readonly isOther: boolean; readonly target: string }> {
  const [row] = await db.query<{ known: string; token: string }>(
    "select e.target as known, h.token from edge e, epoch h",
  );
  const wanted = `${target} ${row!.token}`;
  return { isOther: row!.known !== wanted, target: wanted };
}

/**
 * Age in seconds of the oldest change that an instance of the CDN has not been told, as any node reads it; 0 = they were told
 * of all. It may be a few seconds less.
 */
export async function readLag(db: Connection): Promise<number> {
  const [row] = await db.query<{ seconds: number }>(
    `select coalesce(extract(epoch from clock_timestamp() - least(
         case when exists (select from edge_outdated) then (select told_at from edge) end,
         (select min(since) from edge_behind))), 0)::float8 as seconds`,
  );
  return row!.seconds;
}

/** Notes that the CDN was told of all that had changed so many milliseconds ago. */
export async function noteToldAll(db: Connection, agoMs: number): Promise<void> {
  await db.query("update edge set told_at = clock_timestamp() - make_interval(secs => $1)", [agoMs / 1_000]);
}

/**
 * The keys of all that a CDN may keep.
 * @param everything the key that all answers have; what other versions of the server have answered may lack it
 */
export async function keysOfAll(db: Connection, everything: string): Promise<string[]> {
  const projects = await db.query<{ id: number }>(
    "select id::bigint from project union select id from edge_purged where kind = 'project'",
  );
  return [everything, ...projects.map(({ id }) => `p${id}`)];
}

/** For a CDN that drops everything. */
export const startAnew = {
  /** All versions that there are. To be read before the CDN drops everything. */
  read: (db: Connection) =>
    db.query<Pick<Changed, "kind" | "id" | "version">>(
      `select 'project' as kind, id, revision as version from project
       union all select 'map', id, revision from map
       union all select 'layer', id, version from layer`,
    ),
  /** Notes that it has. */
  async note(
    db: Connection,
    target: string,
    versions: readonly Pick<Changed, "kind" | "id" | "version">[],
  ): Promise<void> {
    await db.query("delete from edge_purged");
    await noteDropped(db, versions);
    // Last: if it does not come to this, it is done once more.
    await db.query("update edge set target = $1", [target]);
  },
};
