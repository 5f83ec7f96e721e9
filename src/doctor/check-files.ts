import type pg from "pg";
import { compareStore, isForeign, storeProblems } from "../catalog/installation.js";
import type { Config } from "../config.js";
import { reasonOf } from "../errors.js";
import { inTime } from "../in-time.js";
import { programName } from "../program-name.js";
import type { BlobStore } from "../storage/blob-store.js";
import { pendingMigrations } from "../storage/migrate.js";
import { openBlobs, placeOf, s3Options } from "../storage/open-blobs.js";
import { S3Failure } from "../storage/s3-failure.js";
import { bad, type Check, good } from "./check.js";
import { connected } from "./checks.js";

/** The checks of `mapwright doctor` that look at the files of the installation. */

/** For what is asked of an S3 store in all. */
const deadlineMs = 15_000;
/** A store that is silent for so long does not answer. */
const silenceMs = 4_000;

/** Whether the files are those that the database tells of, and an S3 store can be written and read. */
export async function checkFiles(config: Config): Promise<Check[]> {
  if (placeOf(config) === "folder") return checkMark(config, await openBlobs(config));
  const { S3BlobStore } = await import("../storage/s3-blob-store.js");
  const store = new S3BlobStore({ ...s3Options(config), silenceMs, attempts: 1 });
  try {
    const used = await checkUse(config, store);
    return used.ok ? [used, ...(await checkMark(config, store))] : [used];
  } finally {
    store.close();
  }
}

async function checkUse({ blobs }: Config, store: BlobStore): Promise<Check> {
  const name = "S3 store";
  let step = "be reached";
  const use = async () => {
    await store.mark();
    step = "be written";
    const key = await store.put(chunk());
    try {
      step = "be read";
      for await (const bytes of store.read(key))
        if (!content.equals(bytes)) throw new Error("other bytes came back than were written");
    } finally {
      await store.delete(key);
    }
  };
  try {
    await inTime(use(), deadlineMs, () => {
      throw new Error(`it has not answered within ${deadlineMs / 1_000} seconds`);
    });
    return good(name, `${blobs} can be written and read`);
  } catch (error) {
    return bad(name, `${blobs} cannot ${step}: ${reasonOf(error)}`, adviceOn(error));
  }
}

const content = Buffer.from("mapwright doctor\n");

async function* chunk(): AsyncGenerator<Uint8Array> {
  yield content;
}

function adviceOn(error: unknown): string {
  const { reason, status } = error instanceof S3Failure ? error : { reason: "", status: undefined };
  if (reason === "NoSuchBucket") return "create the bucket, or set blobs to the one that there is";
  if (reason === "CredentialsProviderError")
    return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role";
  if (status === 403 || status === 401)
    return "look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, and at what the key may do in the bucket";
  return `look at AWS_ENDPOINT_URL and the network, and whether it is as \`${programName()} help several-nodes\` tells`;
}

/** Whether the store is the one that the database tells of. @returns nothing where there are no tables that say so */
async function checkMark(config: Config, store: BlobStore): Promise<Check[]> {
  const name = "files";
  let client: pg.Client | undefined;
  try {
    const own = await connected(config.databaseDirectUrl || config.databaseUrl);
    client = own;
    const { pending } = await pendingMigrations(own);
    if (pending.length > 0) return [];
    await own.query("set search_path = mapwright, public");
    const query = async (text: string) => (await own.query(text)).rows;
    const state = await compareStore({ query }, store);
    if (!isForeign(state)) return [good(name, "those of this installation")];
    const { found, advice } = storeProblems[placeOf(config)][state];
    return [bad(name, found, advice)];
  } catch {
    // Other checks tell of the database and of the store.
    return [];
  } finally {
    await client?.end().catch(() => undefined);
  }
}
