import pg from "pg";
import { busy, causedBy, type Failure } from "../errors.js";
import { programName } from "../program-name.js";
import { adviceOnPooler, UnfitSession } from "./own-session.js";

/**
 * Classifies errors of PostgreSQL and the network: whether the connection is broken, and the failure for the caller.
 */

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code);

/** The server is unreachable or refuses connections: network errors, cannot_connect_now, too_many_connections. */
const unreachable = new Set(["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "57P03", "53300"]);
/** read_only_sql_transaction: the server has become a standby, or is kept from writing while another takes its place. */
const readOnlyCode = "25006";
/** Message of the error of a connection beside the pool that nobody answers. */
const noAnswer = "timeout expired";

const brokenSocket = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
]);

/**
 * @throws Failure busy when no connection of the pool became free in time, or the database cannot be reached; otherwise
 *   the error itself
 */
export function connectFailed(error: unknown): never {
  const { message } = error as Error;
  if (error instanceof UnfitSession) throw causedBy(busy("The database cannot be used just now."), error);
  if (message === "timeout exceeded when trying to connect")
    throw busy("Too much is being read and written now.");
  if (isConnectionLost(error) || unreachable.has(codeOf(error)) || message === noAnswer)
    throw causedBy(busy("The database cannot be reached just now."), error);
  throw error;
}

/** What to do when a command cannot connect, by what the server or its certificate says; undefined = nothing answers there. */
export function adviceOnRefusal(error: unknown): string | undefined {
  const code = codeOf(error);
  const { message } = error as Error;
  if (error instanceof UnfitSession)
    return (error.cause === undefined ? undefined : adviceOnRefusal(error.cause)) ?? error.advice;
  if (code.startsWith("28") && message.endsWith("no encryption"))
    return `By pg_hba.conf of PostgreSQL this user may not use this database from here, or only by an encrypted connection (sslmode in DATABASE_URL): \`${programName()} help database-elsewhere\`.`;
  if (code.startsWith("28"))
    return "Correct the user and the password in DATABASE_URL, or pg_hba.conf of PostgreSQL.";
  if (code === "3D000") return "Make the database, or correct its name in DATABASE_URL.";
  if (code === "53300") return "Let PostgreSQL take more connections (max_connections), or end others.";
  if (message.includes("unsupported startup parameter"))
    return `A pooler refuses the settings of sessions. ${adviceOnPooler}`;
  if (/certificate|SSL|TLS/i.test(`${code} ${message}`))
    return `Correct sslmode and sslrootcert in DATABASE_URL: \`${programName()} help database-elsewhere\`.`;
  return undefined;
}

/** Whether a statement was refused because its server takes no writes: it was not executed. */
export const isReadOnly = (error: unknown): boolean =>
  error instanceof UnfitSession || (error instanceof pg.DatabaseError && error.code === readOnlyCode);

/** Whether the connection is unusable after this error: true unless only a statement failed. */
export const endsConnection = (error: unknown): boolean =>
  !(error instanceof pg.DatabaseError) ||
  error.severity === "FATAL" ||
  error.severity === "PANIC" ||
  error.code === readOnlyCode ||
  // A pooler has lost its connection to the server. PostgreSQL says of its own errors, and of those that it has of others such
  // as the servers of foreign tables, which of its routines raised them.
  (error.code?.startsWith("08") === true && error.routine === undefined);

/**
 * Gives the error of a cancelled statement the code query_canceled, as other cancelled statements have it: GEOS says with an
 * internal error of PostgreSQL (XX000) that it was interrupted.
 */
export function markCancelled(error: unknown): void {
  if (error instanceof pg.DatabaseError && error.code === "XX000") error.code = "57014";
}

/** Whether the connection had been lost, or was closed, before the statement: the client did not send it. */
const isUnsent = (error: unknown): boolean =>
  error instanceof Error && /^Client (has|was) .* is not queryable$/.test(error.message);

/** Whether a statement that failed because of its connection was certainly not executed, so that it may be sent to another. */
export const isUndone = (error: unknown): boolean => isUnsent(error) || isReadOnly(error);

/** Whether the connection was lost before a statement or while it ran, so that its outcome is unknown unless `isUndone`. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return endsConnection(error);
  if (!(error instanceof Error)) return false;
  return isUndone(error) || /^Connection terminated/.test(error.message) || brokenSocket.has(codeOf(error));
}

/** The failure when the connection is lost in a read, or in a transaction before its commit: nothing was changed. */
export const connectionLost = (cause: unknown): Failure =>
  causedBy(
    busy(
      isReadOnly(cause)
        ? "The database takes no writes just now; nothing was done."
        : "The connection to the database was lost; nothing was done.",
    ),
    cause,
  );
