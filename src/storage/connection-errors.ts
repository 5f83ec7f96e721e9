import pg from "pg";
import { busy, causedBy, type Failure } from "../errors.js";

/** What an error of PostgreSQL or of the network means for the connection that it came from, and for the caller. */

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code);

/** The server refuses connections, or is not there: errors of the network, cannot_connect_now, too_many_connections. */
const unreachable = new Set(["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "57P03", "53300"]);

const brokenSocket = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

/**
 * @throws Failure busy when none of the pool's connections became free in time, or the database cannot be reached; the
 *   error itself when it is another
 */
export function connectFailed(error: unknown): never {
  if ((error as Error).message === "timeout exceeded when trying to connect")
    throw busy("Too much is being read and written now.");
  if (isConnectionLost(error) || unreachable.has(codeOf(error)))
    throw causedBy(busy("The database cannot be reached just now."), error);
  throw error;
}

/** Whether a connection is of no use after this error: anything but the refusal of one statement. */
export const endsConnection = (error: unknown): boolean =>
  !(error instanceof pg.DatabaseError) || error.severity === "FATAL" || error.severity === "PANIC";

/** Whether the connection broke while a statement ran on it, so that its result is not known here. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return endsConnection(error);
  if (!(error instanceof Error)) return false;
  return /^Connection terminated/.test(error.message) || brokenSocket.has(codeOf(error));
}

/** The answer to a read, or to a transaction that was not being committed yet: nothing was changed. */
export const connectionLost = (cause: unknown): Failure =>
  causedBy(busy("The connection to the database was lost; nothing was done."), cause);
