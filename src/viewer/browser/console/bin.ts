import type { Edits } from "./edits.js";

/** What was deleted and is kept for a while. */

/** As the bin lists it. */
export interface Deleted {
  readonly kind: "map" | "folder" | "layer";
  readonly code: string;
  /** Code of the map that it was in, or was. */
  readonly map: string;
}

/**
 * Where what was deleted just now lies in the bin; undefined = it is not kept.
 * @param isQuiet whether it is not worth asking to sign in
 * @throws ServerError
 */
export async function inBin(
  edits: Edits,
  project: string,
  { kind, code, map }: Deleted,
  isQuiet = false,
): Promise<number | undefined> {
  // Others delete things, too.
  const options = { query: { limit: 20 }, isQuiet };
  const { entries } = await edits.send<{ readonly entries: readonly (Deleted & { readonly id: number })[] }>(
    project,
    "GET",
    ["bin"],
    options,
  );
  return entries.find((entry) => entry.kind === kind && entry.code === code && entry.map === map)?.id;
}

/** Deletes for good what lies in the bin. @throws ServerError */
export const purge = (edits: Edits, project: string, entry: number): Promise<unknown> =>
  edits.send(project, "DELETE", ["bin", String(entry)], { isQuiet: true });
