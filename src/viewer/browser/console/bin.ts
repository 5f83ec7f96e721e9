import { isServerError } from "../map-server.js";
import type { Edits } from "./edits.js";
import { newKey } from "./new-key.js";

/** What was deleted and is kept for a while. */

/** What was deleted, and where. */
export interface Deleted {
  readonly kind: "map" | "folder" | "layer" | "column";
  readonly code: string;
  /** Code of the map that it was in, or was. */
  readonly map: string;
}
/** As the bin lists it. */
export interface BinEntry extends Deleted {
  readonly id: number;
  readonly name: string;
  /** Code of the layer that a column was in. */
  readonly layer: string | null;
  readonly bytes: number;
  /** Times, in ISO 8601. */
  readonly deleted: string;
  readonly until: string;
  /** Login; "" = the operator. */
  readonly deleted_by: string;
}
export interface Bin {
  readonly bytes: number;
  readonly entries: readonly BinEntry[];
}
export interface Restored {
  readonly code: string;
  /** Code of the map that it is in, or is. */
  readonly map: string;
  readonly notes: readonly string[];
}

/** So many codes are tried for what comes back. */
const mostCodes = 20;

/** The last ones that were deleted. @param before only those with lower ids @throws ServerError */
export const readBin = (
  edits: Edits,
  project: string,
  query: { readonly limit: number; readonly before?: number | undefined },
  isQuiet = false,
): Promise<Bin> => edits.send(project, "GET", ["bin"], { query, isQuiet });

/**
 * Where what was deleted just now lies in the bin; undefined = it is not kept.
 * @param isQuiet whether it is not worth asking to sign in
 * @throws ServerError
 */
export async function inBin(
  edits: Edits,
  project: string,
  deleted: Deleted,
  isQuiet = false,
): Promise<BinEntry | undefined> {
  return (await allInBin(edits, project, [deleted], isQuiet))[0];
}

/** The entries of a page. */
const mostEntries = 1000;

/** As `inBin`, of several things, in their order; those that are not kept are left out. */
export async function allInBin(
  edits: Edits,
  project: string,
  deleted: readonly Deleted[],
  isQuiet = false,
): Promise<readonly BinEntry[]> {
  const found: BinEntry[] = [];
  // Others delete things, too.
  for (let left = deleted.length + 20; left > 0; left -= mostEntries) {
    const query = { limit: Math.min(left, mostEntries), before: found.at(-1)?.id };
    const { entries } = await readBin(edits, project, query, isQuiet);
    found.push(...entries);
    if (entries.length < query.limit) break;
  }
  const nameOf = ({ kind, code, map }: Deleted) => JSON.stringify([kind, code, map]);
  const byName = new Map(found.toReversed().map((entry) => [nameOf(entry), entry]));
  return deleted.flatMap((one) => byName.get(nameOf(one)) ?? []);
}

/** Brings back what lies in the bin. Where its code is taken by now, it gets another one. @throws ServerError */
export async function restore(
  edits: Edits,
  project: string,
  { id, code }: Pick<BinEntry, "id" | "code">,
): Promise<Restored> {
  for (let number = 1; ; number++) {
    const body = number === 1 ? {} : { code: `${code.slice(0, 60)}_${number}` };
    try {
      return await edits.send(project, "POST", ["bin", String(id), "restore"], { body, key: newKey() });
    } catch (error) {
      const isTaken = isServerError(error) && error.status === 409 && error.data.code !== undefined;
      if (!isTaken || number === mostCodes) throw error;
    }
  }
}

/** Deletes for good what lies in the bin. @throws ServerError */
export const purge = (edits: Edits, project: string, id: number, isQuiet = false): Promise<unknown> =>
  edits.send(project, "DELETE", ["bin", String(id)], { isQuiet });
