import type { Selection } from "../features/list.js";
import type { Statement } from "../features/sql.js";
import { readFailed } from "../features/statement-failure.js";
import type { Database } from "../storage/postgres.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";

/** Statements that look through the objects before an export begins, for its notes and columns. */

/** Which objects an export has. */
export const selectionOf = ({ map }: ExportTarget, request: ExportRequest): Selection => {
  const main = map.project.languages[0];
  return {
    condition: request.filter,
    ids: request.ids,
    envelope: request.envelope,
    languages: { own: request.language ?? main, main },
  };
};

const queryCanceled = "57014";
const maxRows = 10_000;

/**
 * Rows of a statement, 10 000 at most; undefined when it takes longer than statements may, as on very large layers. The export
 * itself has no such limit.
 */
export async function survey<Row extends object>(
  db: Database,
  { text, values }: Statement,
  signal: AbortSignal,
): Promise<readonly Row[] | undefined> {
  try {
    for await (const rows of db.stream<Row>(text, values, { batch: maxRows, signal })) return rows;
    signal.throwIfAborted();
    return [];
  } catch (error) {
    if ((error as { code?: unknown }).code === queryCanceled && !signal.aborted) return undefined;
    return readFailed(error);
  }
}
