import { setTimeout as sleep } from "node:timers/promises";
import type { WorkSession } from "./work-sessions.js";

/** Between two requests to cancel what runs. */
const repeatMs = 500;

/** Work in the background on a session of its own. */
export interface BackgroundWork {
  /** Undefined = it does nothing now. */
  readonly running: Promise<void> | undefined;
  readonly session: Pick<WorkSession, "cancel"> | undefined;
}

/**
 * Cancels the statements of work that begins no more of them, until it has ended. Again and again, as a request that comes
 * between two statements cancels neither.
 */
export async function giveUp(work: () => BackgroundWork): Promise<void> {
  for (let { running, session } = work(); running; { running, session } = work()) {
    await session?.cancel();
    await Promise.race([running, sleep(repeatMs, undefined, { ref: false })]);
  }
}
