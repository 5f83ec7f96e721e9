import { ServerError } from "../map-server.js";
import type { Edits, ImportJob, ImportResult } from "./edits.js";
import { goesOn } from "./problem.js";

/** How imports end at the server, whatever is between it and the page. */

/** How often is asked. */
const pollMs = 400;
/** Questions without an answer after which the user is told, at five times that. */
const mostUnanswered = 150;

/** Why something ends that the user does not want any more. */
export const unwanted = new DOMException("cancelled", "AbortError");

/**
 * What an import has done, when it has.
 * @param signal with the reason `unwanted` it is cancelled, with others it goes on unseen
 * @param told how it is, and at last that it has ended, or is not known (undefined)
 * @throws ServerError, the signal's reason
 */
export async function endOf(
  edits: Edits,
  { project, segments }: { readonly project: string; readonly segments: readonly string[] },
  signal: AbortSignal,
  told: (job: ImportJob | undefined) => void,
): Promise<Pick<ImportResult, "features" | "bad" | "rows" | "columns" | "written">> {
  for (let unanswered = 0; ; ) {
    if (signal.aborted && signal.reason !== unwanted) throw signal.reason;
    // What was done before it was cancelled stays.
    const method = signal.aborted ? "DELETE" : "GET";
    const job = await edits.send<ImportJob>(project, method, segments).catch((error: unknown) => {
      // When the server can be reached again, the answer is there.
      if (goesOn(error) && ++unanswered < mostUnanswered) return undefined;
      if (error instanceof ServerError && error.status === 404) told(undefined);
      throw error;
    });
    if (job) {
      unanswered = 0;
      told(job);
    }
    if (job?.state === "done") return job.result?.import ?? { features: job.features, bad: 0, rows: [] };
    if (job?.error) throw new ServerError(500, job.error.code, undefined, job.error.message, job.error.data);
    if (job?.state === "cancelled") throw signal.aborted ? unwanted : new ServerError(500, "import_failed");
    await new Promise((resolve) => window.setTimeout(resolve, job ? pollMs : 5 * pollMs));
  }
}
