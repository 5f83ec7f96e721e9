import { isServerError, ServerError } from "../map-server.js";
import type { TextKey } from "../texts.js";
import type { Read } from "./operations.js";

/** What others have changed meanwhile. */

/** Somebody else has changed the same: what it was meant for is no more. */
export class Conflict extends ServerError {
  constructor(
    /** Says what it is now. */
    readonly text: TextKey,
    readonly values: Readonly<Record<string, string>> = {},
  ) {
    super(412, undefined);
    this.name = "Conflict";
  }
}

/** Who changes something all the time is let win. */
const mostTries = 5;

/**
 * Changes something as it is now. When somebody else was faster it is looked at again, and repeated if that was about something
 * else.
 * @param read what it is now
 * @param write with the ETag that was read, for If-Match
 * @throws ServerError; Conflict, as `read` does when the same was changed
 */
export async function changeRead<Now, Result>(
  read: () => Promise<Read<Now>>,
  write: (now: Now, match: string | undefined) => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    const { value, etag } = await read();
    try {
      return await write(value, etag);
    } catch (error) {
      const isOvertaken = isServerError(error) && error.status === 412;
      if (!isOvertaken || tries >= mostTries) throw error;
    }
  }
}
