import { doneUnanswered, Failure, notFound } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import type { Services } from "../services.js";

/**
 * Requests that a change of the catalogue overtakes. A handler works with the map as it was when the request came. Before
 * its statements run somebody may delete the map, a layer or a column, or give a column another type, and PostgreSQL
 * refuses them in words of its own. What the client is told is decided here for all operations, so that no handler has to
 * think of it: that the map or layer is not there, else what a second attempt with the catalogue of now comes to.
 */

/** A second attempt may be overtaken too, by the next change. */
const attempts = 3;

/** States of statements that were made for what is there no longer, or is no longer so. */
const states = new Set([
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

/** What PostgreSQL says, in no other language, of an object that goes while a statement is looking at it. */
const goesMeanwhile =
  /^(cache lookup failed for|could not open relation with OID|tuple concurrently (updated|deleted))/;

/** Whether an error, or what a failure was made of, may come from a change of the catalogue. */
function isOvertaken(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message } = (error.cause ?? error) as { code?: unknown; message?: unknown };
  return states.has(String(code)) || (code === "XX000" && goesMeanwhile.test(String(message)));
}

/** Whether it is not the request's fault that it has no answer, nor what others did to what it is about. */
const isOwnFault = (error: unknown): boolean =>
  !(error instanceof Failure) || error.kind === "busy" || error.code === "internal";

type Handle = (services: Services) => Promise<Reply> | Reply;

/**
 * Runs a handler, and again when it was overtaken before it had written anything.
 * @throws Failure project_not_found, not_found when what the path names is gone; outcome_unknown when the server failed
 *   after it had written; else what the last attempt threw
 */
export function answerOvertaken(
  request: Request,
  services: Services,
  handle: Handle,
): Promise<Reply> | Reply {
  const watched = request.method === "GET" ? { services, hasWritten: () => false } : watchWrites(services);
  const reply = handle(watched.services);
  if (!(reply instanceof Promise)) return reply;
  return reply.catch(async (first: unknown) => {
    let error = first;
    for (let attempt = 2; isOvertaken(error); attempt++) {
      await requireNamed(request, services);
      if (watched.hasWritten() || attempt > attempts) break;
      try {
        return await handle(watched.services);
      } catch (next) {
        error = next;
      }
    }
    if (watched.hasWritten() && isOwnFault(error)) throw doneUnanswered(error);
    throw error;
  });
}

/** The services with an eye on whether something was written: what was is told before anything else is done. */
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

/** Looks in the database for what the path names. @throws Failure project_not_found, not_found */
async function requireNamed({ params }: Request, { catalog }: Services): Promise<void> {
  const { project, map: mapCode, layer } = params;
  if (project === undefined) return;
  await catalog.projectNow(project);
  if (mapCode === undefined) return;
  const map = await catalog.mapNow(project, mapCode);
  if (layer !== undefined && !map.layers.has(layer)) throw notFound(`layer "${layer}"`);
}
