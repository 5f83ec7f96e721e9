import { doneUnanswered, Failure, notFound } from "../../errors.js";
import { isReading, type Reply, type Request } from "../../http/types.js";
import type { Services } from "../services.js";

/**
 * Retries requests whose catalogue snapshot became stale. A handler works with the map as it was when the request
 * arrived. Before its statements run, another request may delete the map, a layer or a column, or change a column's
 * type, and PostgreSQL then reports an error. For all operations, this module then returns 404 if the map or layer is
 * gone, and otherwise runs the handler again with the current catalogue.
 */

/** A retry may meet the next change of the catalogue, too. */
const maxAttempts = 3;

/** SQLSTATEs of statements that refer to tables, columns or types that have been dropped or changed. */
const staleStates = new Set([
  "0A000", // feature_not_supported: a statement that was prepared for a result of other types
  "23503", // foreign_key_violation
  "40P01", // deadlock_detected
  "42703", // undefined_column
  "42704", // undefined_object
  "42804", // datatype_mismatch
  "42809", // wrong_object_type
  "42846", // cannot_coerce
  "42883", // undefined_function: an operator that the new type lacks
  "42P01", // undefined_table
  "55000", // object_not_in_prerequisite_state
]);

/** Messages (never translated) of internal errors when an object is dropped while a statement uses it. */
const droppedMeanwhile =
  /^(cache lookup failed for|could not open relation with OID|tuple concurrently (updated|deleted))/;

/** Whether an error, or its cause, may come from a concurrent change of the catalogue. */
function isStale(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message } = (error.cause ?? error) as { code?: unknown; message?: unknown };
  return staleStates.has(String(code)) || (code === "XX000" && droppedMeanwhile.test(String(message)));
}

/** Whether the server failed: not a client error, and no conflict with other requests. */
const isServerError = (error: unknown): boolean =>
  !(error instanceof Failure) || error.kind === "busy" || error.code === "internal";

type Handle = (services: Services) => Promise<Reply> | Reply;

/**
 * Runs a handler, and runs it again if its catalogue was stale and it has not written anything.
 * @throws Failure project_not_found, not_found when the project, map or layer of the path is gone; outcome_unknown when
 *   the server failed after it had written; else what the last attempt threw
 */
export function retryIfStale(request: Request, services: Services, handle: Handle): Promise<Reply> | Reply {
  const watched = isReading(request.method) ? { services, hasWritten: () => false } : watchWrites(services);
  const reply = handle(watched.services);
  if (!(reply instanceof Promise)) return reply;
  return reply.catch(async (first: unknown) => {
    let error = first;
    for (let attempt = 2; isStale(error); attempt++) {
      await requireNamed(request, services);
      if (watched.hasWritten() || attempt > maxAttempts) break;
      try {
        return await handle(watched.services);
      } catch (next) {
        error = next;
      }
    }
    if (watched.hasWritten() && isServerError(error)) throw doneUnanswered(error);
    throw error;
  });
}

/** Services that record whether something was written: handlers call `propagate` right after each write. */
function watchWrites(services: Services) {
  let written = false;
  const changes: Services["changes"] = {
    get trusted() {
      return services.changes.trusted;
    },
    propagate: (receipt) => {
      written = true;
      return services.changes.propagate(receipt);
    },
  };
  return { services: { ...services, changes }, hasWritten: () => written };
}

/**
 * Checks in the database that the project, map and layer of the path exist. @throws Failure project_not_found,
 * not_found
 */
async function requireNamed({ params }: Request, { catalog }: Services): Promise<void> {
  const { project, map: mapCode, layer } = params;
  if (project === undefined) return;
  await catalog.projectNow(project);
  if (mapCode === undefined) return;
  const map = await catalog.mapNow(project, mapCode);
  if (layer !== undefined && !map.layers.has(layer)) throw notFound(`layer "${layer}"`);
}
