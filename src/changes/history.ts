import type { Queryable } from "../storage/postgres.js";
import { keptChanges, type LayerChange, versionStep } from "./layer-version.js";

/** What the database says of layers' versions, and of whose history they belong to. */

/** Something that runs one statement: the pool, or the listening connection. */
type Asked = Pick<Queryable, "query">;

/** A layer that is asked about: changes after `version` are wanted. */
export interface KnownLayer {
  readonly id: number;
  /** 0 = none is known. */
  readonly version: number;
}

/** Whose history the database's is. */
export interface DatabaseHistory {
  readonly token: string;
  /** The database has taken the place of the one that the token was made for: it needs a new one. */
  readonly replaced: boolean;
}

/** SQL of a `DatabaseHistory` over the table `epoch e`. */
export const historySql = "e.token, e.identity <> database_identity() as replaced";

/** One layer as the database has it. */
export interface ReadLayer {
  readonly id: number;
  /** 0 when there is no such layer. */
  readonly version: number;
  /** The last changes after the known version, as many as are kept, in their order. */
  readonly changes: readonly LayerChange[];
  /** The layer never had the known version: that belongs to another history of the database. */
  readonly refuted: boolean;
}

export interface Reading {
  readonly history: DatabaseHistory;
  readonly layers: readonly ReadLayer[];
}

interface Row extends DatabaseHistory {
  readonly layers: readonly [
    id: number,
    version: number | null,
    changes: readonly [version: number, previous: number, area: number[] | null][] | null,
    /** The first change that is no older than the known version. */
    next: readonly [version: number, previous: number] | null,
  ][];
}

/** All of it in one statement, so it is of one moment. */
export async function readLayers(db: Asked, layers: readonly KnownLayer[]): Promise<Reading> {
  // What is heard while the answer is on its way is newer than the answer.
  const known = layers.map(({ id, version }) => ({ id, version }));
  // The limits also hold the planner to the index, which it would leave for all of the log.
  const [row] = await db.query<Row>(
    `select ${historySql},
       (select coalesce(json_agg(json_build_array(known.id, l.version, (
            select json_agg(json_build_array(c.version, c.previous, c.area) order by c.version) from (
              select version, previous, area from layer_change
              where layer_id = known.id and version > known.version order by version desc limit ${keptChanges}) c),
            (select json_build_array(version, previous) from layer_change
             where layer_id = known.id and version >= known.version order by version limit 1))), '[]')
          from unnest($1::bigint[], $2::bigint[]) known (id, version) left join layer l on l.id = known.id) as layers
     from epoch e`,
    [known.map(({ id }) => id), known.map(({ version }) => version)],
    { prepare: true },
  );
  return {
    history: row!,
    layers: row!.layers.map(([id, version, changes, next], index) => ({
      id,
      version: version ?? 0,
      changes: (changes ?? []).map(([changed, previous, area]) => ({ version: changed, previous, area })),
      refuted: isRefuted(known[index]!.version, version, next),
    })),
  };
}

/** Whether a version that was known is none of the layer's. What the log has no rows for any more cannot be told. */
function isRefuted(
  known: number,
  version: number | null,
  next: readonly [version: number, previous: number] | null,
): boolean {
  if (known === 0 || version === null || version === known) return false;
  if (!next) return version < known;
  const [changed, previous] = next;
  if (changed === known || previous === known) return false;
  return Math.floor(previous / versionStep) <= Math.floor(known / versionStep);
}

/**
 * The token of the database's history; a new one when the database is not the one that it was made for.
 * @param refuted a token whose history was found to be another one
 */
export async function claimEpoch(db: Asked, refuted = ""): Promise<string> {
  const [row] = await db.query<{ token: string }>("select claim_epoch($1) as token", [refuted]);
  return row!.token;
}
