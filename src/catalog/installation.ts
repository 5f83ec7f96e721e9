import { type Clock, systemClock } from "../clock.js";
import { busy, causedBy, type Failure } from "../errors.js";
import type { Log } from "../log.js";
import { BlobNotFound, type BlobStore } from "../storage/blob-store.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { S3Failure } from "../storage/s3-failure.js";

/**
 * Whether the store of blobs is the one that the database tells of: both carry the id of the installation. A folder that was
 * not mounted, or another one, or another bucket, looks like a store in which everything was deleted.
 */

/** - `unmarked`: both may be marked as belonging together: nothing says that they do not */
export type StoreState = "ours" | "unmarked" | "missing" | "another's";

export type StorePlace = "folder" | "bucket";

/** What is found of a store that is not ours, and what to do. */
export const storeProblems = {
  folder: {
    missing: {
      found: "the folder of files is not this installation's: it lacks what the database names",
      advice:
        "mount or copy the folder `files` of this installation's data folder to where it was, or set dataDir to where it is; " +
        "if it is lost for ever, put the id of the table mapwright.installation into `files/installation`",
    },
    "another's": {
      found: "the folder of files belongs to another installation",
      advice:
        "set dataDir to this installation's own folder, or for a new one to a new folder; if the files are this installation's " +
        "all the same, put the id of the table mapwright.installation into `files/installation`, or delete that file if there is none",
    },
  },
  bucket: {
    missing: {
      found: "the bucket of files is not this installation's: it lacks what the database names",
      advice:
        "set blobs to the bucket and prefix that this installation had, or copy its files there; if they are lost for ever, " +
        "put the id of the table mapwright.installation into the object `installation` there",
    },
    "another's": {
      found: "the bucket of files belongs to another installation",
      advice:
        "set blobs to this installation's own bucket and prefix, or for a new one to a new prefix; if the files are this " +
        "installation's all the same, put the id of the table mapwright.installation into the object `installation` there, or " +
        "delete that object if there is none",
    },
  },
} as const;

/** The id and some blobs that rows name. Few: of a store that is ours, most are there. */
const namedSql = `select (select id from installation) as id, array(
    (select uuid from file order by id limit 10)
    union all (select original from raster limit 10)
    union all (select blob from picture limit 10)
    union all (select blob from font limit 10)) as named`;

/**
 * Looks, and changes nothing.
 * @param query of a session in the schema of Mapwright
 * @param given a mark that this process has made, whose commit may have failed
 */
export async function compareStore(
  query: Pick<Queryable, "query">,
  blobs: Pick<BlobStore, "mark" | "size">,
  given?: string,
): Promise<StoreState> {
  // Before the row: who marks both begins with the row.
  const mark = await blobs.mark();
  const [row] = await query.query<{ id: string | null; named: string[] }>(namedSql);
  const { id, named } = row!;
  if (id !== null && mark === id) return "ours";
  const foreign = mark === undefined ? "missing" : "another's";
  // A database with its id has a store: on a second machine an empty one is none, also before there are blobs.
  if (id !== null) return foreign;
  if (mark !== undefined && mark === given) return "unmarked";
  if (named.length === 0) return mark === undefined ? "unmarked" : foreign;
  // Installations from before there were marks, and backups of them.
  return (await someAreThere(named, blobs)) ? "unmarked" : foreign;
}

async function someAreThere(keys: readonly string[], blobs: Pick<BlobStore, "size">): Promise<boolean> {
  for (const key of keys)
    try {
      await blobs.size(key);
      return true;
    } catch (error) {
      if (!(error instanceof BlobNotFound)) throw error;
    }
  return false;
}

interface Claim {
  /** The mark that it has given the store. */
  given?: string;
}

/** As `compareStore`, and marks what is not marked yet; several nodes may do so at once. */
async function claimStore(db: Database, blobs: BlobStore, claim: Claim): Promise<StoreState> {
  if ((await compareStore(db, blobs)) === "ours") return "ours";
  return db.transaction(async (tx) => {
    // Another node may have marked one of the two just now.
    await tx.execute("lock table installation in share row exclusive mode");
    const state = await compareStore(tx, blobs, claim.given);
    if (state !== "unmarked") return state;
    const [row] = await tx.query<{ id: string }>(
      "insert into installation (id) values (coalesce($1::uuid, gen_random_uuid())) returning id",
      [(await blobs.mark()) ?? null],
    );
    claim.given = row!.id;
    await blobs.setMark(row!.id);
    return "ours";
  });
}

/** Looks at the store again and again, as folders come and go, and logs what is wrong. */
export class StoreWatch {
  private last: StoreState | "away" = "unmarked";
  private readonly claim: Claim = {};
  private looking: Promise<boolean> | undefined;
  private until = Number.NEGATIVE_INFINITY;

  /** @param sharedMs how long an answer holds */
  constructor(
    private readonly on: {
      readonly db: Database;
      readonly blobs: BlobStore;
      readonly log: Log;
      readonly place?: StorePlace;
    },
    private readonly sharedMs = 1_000,
    private readonly clock: Pick<Clock, "now"> = systemClock,
  ) {}

  /**
   * Whether the store is this installation's, and there. Never rejects: while nobody can know, it is what it was. A disk that
   * does not answer is asked once: each question holds one of the few threads that read files.
   */
  isOurs(): Promise<boolean> {
    if (this.looking === undefined || this.clock.now() >= this.until) {
      this.until = Number.POSITIVE_INFINITY;
      this.looking = this.look().finally(() => {
        this.until = this.clock.now() + this.sharedMs;
      });
    }
    return this.looking;
  }

  private async look(): Promise<boolean> {
    const { db, blobs, log, place = "folder" } = this.on;
    try {
      const state = await claimStore(db, blobs, this.claim);
      if (state !== this.last) {
        if (isForeign(state)) log.error(storeProblems[place][state], "files are not this installation's");
        else if (isForeign(this.last)) log.info("files are this installation's again");
        else if (this.last === "away") log.info("the store of files answers again");
      }
      this.last = state;
    } catch (error) {
      if (error instanceof S3Failure) {
        if (this.last !== "away")
          log.error({ err: error }, "the store of files does not do what it is asked");
        this.last = "away";
      } else log.warn({ err: error }, "it could not be found out whose the files are");
    }
    return this.last !== "away" && !isForeign(this.last);
  }
}

/** How old the last backup is, in seconds; Infinity = there is none. */
export async function backupAge(db: Pick<Queryable, "query">): Promise<number> {
  const [row] = await db.query<{ age: number | null }>(
    "select extract(epoch from now() - max(backed_up_at))::float8 as age from installation",
  );
  return row!.age ?? Number.POSITIVE_INFINITY;
}

/**
 * The store, which takes nothing while it is not this installation's, as other nodes would not find it; and what it lacks then is
 * away, and not gone. Both throw Failure busy.
 */
export function whileOurs(blobs: BlobStore, store: Pick<StoreWatch, "isOurs">): BlobStore {
  const away = async (error: unknown): Promise<never> => {
    if (!(error instanceof BlobNotFound) || (await store.isOurs())) throw error;
    throw causedBy(busy("The store of files is not this installation's, or does not answer."), error);
  };
  const own: Pick<BlobStore, "put" | "read" | "withLocalCopy"> = {
    async put(source) {
      if (!(await store.isOurs())) throw notOurs();
      return blobs.put(source);
    },
    async *read(key, options) {
      try {
        yield* blobs.read(key, options);
      } catch (error) {
        await away(error);
      }
    },
    withLocalCopy: (key, use) => blobs.withLocalCopy(key, use).catch(away),
  };
  return Object.assign(Object.create(blobs), own);
}

/** As `whileOurs`, for callers that do not watch the store. @throws Failure busy */
export async function requireOurs(
  db: Pick<Queryable, "query">,
  blobs: Pick<BlobStore, "mark" | "size">,
): Promise<void> {
  if (isForeign(await compareStore(db, blobs))) throw notOurs();
}

const notOurs = (): Failure =>
  busy("The store of files is not this installation's, or does not answer: nothing is written there.");

export const isForeign = (state: StoreState | "away"): state is keyof typeof storeProblems.folder =>
  state in storeProblems.folder;
