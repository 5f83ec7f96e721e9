import { isServerError } from "../map-server.js";
import { Conflict } from "./conflict.js";

/** Whether it is about one thing alone: others have changed it, or it is not as it should be. */
const isOfOne = (error: unknown): boolean =>
  error instanceof Conflict ||
  (isServerError(error) && (error.code === "invalid_value" || error.status === 404));

/**
 * Does something with each, one after the other. What is wrong with one keeps none of the rest.
 * @param failed gets those with which it could not be done
 * @throws Conflict, ServerError, when all is done, or at once when it is about all of them
 */
export async function withEach<One>(
  all: readonly One[],
  work: (one: One) => Promise<unknown>,
  failed: One[] = [],
): Promise<void> {
  let failure: unknown;
  for (const one of all) {
    try {
      await work(one);
    } catch (error) {
      if (!isOfOne(error)) throw error;
      if (!(failure instanceof Conflict)) failure = error;
      failed.push(one);
    }
  }
  if (failed.length > 0) throw failure;
}
