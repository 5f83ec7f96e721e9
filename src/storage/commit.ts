import type pg from "pg";
import { outcomeUnknown } from "../errors.js";

/** Where PostgreSQL waits for its synchronous standbys at the end of a commit. */
const waitRoutine = "SyncRepWaitForLSN";

/**
 * Runs a statement that commits. If somebody ends its wait for the synchronous standbys, PostgreSQL says that it has committed:
 * it has, but only here, and the commit is lost with this server.
 * @throws Failure outcome_unknown then
 */
export async function committed<T>(client: pg.ClientBase, statement: () => Promise<T>): Promise<T> {
  let ended: Error | undefined;
  const hear = ({
    message,
    routine,
  }: {
    readonly message?: string | undefined;
    readonly routine?: string | undefined;
  }) => {
    if (routine === waitRoutine) ended = new Error(message);
  };
  client.on("notice", hear);
  try {
    const result = await statement();
    if (ended) throw outcomeUnknown(ended);
    return result;
  } finally {
    client.off("notice", hear);
  }
}
