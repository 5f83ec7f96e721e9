import type { Queryable } from "../storage/postgres.js";
import { keptChanges, type LayerChange, versionStep } from "./layer-version.js";

/**
 * Reads layers' versions, and the database's history that they belong to. As with PostgreSQL's timelines, a database that
 * is restored from a backup or replaced by a standby that lagged has another history from then on.
 */

/** The pool, or the listening connection. */
type Connection = Pick<Queryable, "query">;

/** A layer to be read: changes after `version` are wanted. */
export interface KnownLayer {
  readonly id: number;
  /** 0 = unknown. */
  readonly version: number;
}

/** Identifies the history of the database. */
export interface DatabaseHistory {
  readonly token: string;
  /** The token was made by another database than this one: it needs a new token. */
  readonly replaced: boolean;
}

/** SQL of a `DatabaseHistory` over the table `epoch e`. */
export const historySql = "e.token, e.identity <> database_identity() as replaced";

/** A layer's current version and recent changes. */
export interface ReadLayer {
  readonly id: number;
  /** 0 when there is no such layer. */
  readonly version: number;
  /** Changes after the known version in ascending order, the last `keptChanges` of them. */
  readonly changes: readonly LayerChange[];
  /** The known version belongs to another history: in this one, the layer never had it. */
  readonly diverged: boolean;
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
    /** The first change from the known version on. */
    next: readonly [version: number, previous: number] | null,
  ][];
}

/** Reads all layers in one statement, so in one snapshot, and in the order that they are named in. */
export async function readLayers(db: Connection, layers: readonly KnownLayer[]): Promise<Reading> {
  // A copy: notifications may raise the versions before the answer arrives.
  const known = layers.map(({ id, version }) => ({ id, version }));
  // Without an order the rows come as the planner joins them, which changes when it knows more of the tables.
  // With the limits PostgreSQL's planner uses the index; without, it scans the whole log.
  const [row] = await db.query<Row>(
    `select ${historySql},
       (select coalesce(json_agg(json_build_array(known.id, l.version, (
            select json_agg(json_build_array(c.version, c.previous, c.area) order by c.version) from (
              select version, previous, area from layer_change
              where layer_id = known.id and version > known.version order by version desc limit ${keptChanges}) c),
            (select json_build_array(version, previous) from layer_change
             where layer_id = known.id and version >= known.version order by version limit 1)) order by known.place), '[]')
          from unnest($1::bigint[], $2::bigint[]) with ordinality known (id, version, place)
            left join layer l on l.id = known.id) as layers
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
      diverged: hasDiverged(known[index]!.version, version, next),
    })),
  };
}

/** Whether the layer never had the known version. False for versions that the log no longer covers. */
function hasDiverged(
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
 * The token of the database's history. It is replaced first if another database made it.
 * @param diverged a token that has to be replaced too: known versions have turned out to belong to another history
 */
export async function claimEpoch(db: Connection, diverged = ""): Promise<string> {
  const [row] = await db.query<{ token: string }>("select claim_epoch($1) as token", [diverged]);
  return row!.token;
}
