import { isServerError } from "../map-server.js";
import type { Steps } from "../toasts.js";
import { Conflict } from "./conflict.js";
import type { Dialogs } from "./dialogs.js";

/** Whether it is about one thing alone: others have changed it, or it is not as it should be. */
const isOfOne = (error: unknown): boolean =>
  error instanceof Conflict ||
  (isServerError(error) && (error.code === "invalid_value" || error.status === 404));

/**
 * Does something with each, one after the other. What is wrong with one keeps none of the rest.
 * @param failed gets those with which it could not be done
 * @throws Conflict, ServerError, when all is done, or at once when it is about all of them
 */
async function withEach<One>(
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

/** Shows how much is done of something that is done with so many layers and folders. */
export const stepsOf = ({ toasts, locale }: Dialogs, n: number): Steps =>
  toasts.steps(locale.t("changingSelected", { n }), n);

/** As `withEach`, and shows how much is done. */
export async function withEachTold<One>(
  dialogs: Dialogs,
  all: readonly One[],
  work: (one: One) => Promise<unknown>,
  failed: One[] = [],
): Promise<void> {
  const steps = stepsOf(dialogs, all.length);
  try {
    await withEach(all, (one) => work(one).finally(() => steps.step()), failed);
  } finally {
    steps.end();
  }
}
