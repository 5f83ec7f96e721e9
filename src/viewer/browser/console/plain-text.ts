import type { Edits } from "./edits.js";
import { headOf } from "./file-head.js";
import { newKey } from "./new-key.js";

/** Texts that are no tables: they can be imported, but hardly anybody means to. */

/** Extensions of files that may be any text. */
const texts: ReadonlySet<string> = new Set(["txt", "csv", "tsv"]);

/** What an import would make of it, as far as it is looked at. */
interface Preview {
  readonly bbox: unknown;
  readonly columns: readonly { readonly name: string }[];
  readonly layers: readonly { readonly geometry_type?: string | null }[];
}

export interface LookedAt {
  readonly project: string;
  /** Of the operation that imports. */
  readonly segments: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Looks at the head of a file that may be any text.
 * @returns what its only column is called, when it has neither more of them nor places
 * @throws ServerError, the signal's reason
 */
export async function plainText(
  edits: Edits,
  files: readonly File[],
  { project, segments, signal }: LookedAt,
): Promise<string | undefined> {
  const [file, ...more] = files;
  const extension = /\.([^.]*)$/.exec(file?.name ?? "")?.[1]?.toLowerCase();
  if (!file || more.length > 0 || !texts.has(extension ?? "")) return undefined;
  const options = {
    query: { action: 1, partial: 1, dry_run: 1 },
    key: newKey(),
    progress: () => undefined,
    signal,
  };
  const answer = await edits.upload<{ readonly import?: { readonly preview?: Preview } }>(
    project,
    segments,
    [await headOf(file)],
    options,
  );
  const preview = answer.import?.preview;
  if (!preview || preview.bbox !== null || preview.columns.length > 1) return undefined;
  if (
    preview.layers.some(({ geometry_type: type }) => type !== undefined && type !== null && type !== "none")
  )
    return undefined;
  return preview.columns[0]?.name ?? file.name;
}
