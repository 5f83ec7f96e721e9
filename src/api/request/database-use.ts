import type { Request } from "../../http/types.js";
import { networkOf } from "../../queues/clients.js";
import type { DatabaseUse } from "../../storage/postgres.js";
import type { Services } from "../services.js";

/** For whom a request uses the database. */

/** Requests whose caller is known. Weak, so that they are not kept. */
const known = new WeakSet<Request>();

/** Notes that the request is that of a user, who may read for longer than the public. */
export function noteKnownCaller(request: Request): void {
  known.add(request);
}

export interface OperationWork {
  /** It changes something, so that what it reads for that is not given up when the client leaves. */
  readonly writes: boolean;
  /** What it writes takes up to minutes. */
  readonly long: boolean;
  /** It reads rows by their keys only, as logins do, so that it need not wait for those who read much. */
  readonly quick: boolean;
}

/** The use of the database by a request: shared by the client's network, and by project within it. */
export function requestUse(
  request: Request,
  { config }: Pick<Services, "config">,
  { writes, long, quick }: OperationWork,
): DatabaseUse {
  return {
    client: networkOf(request.remoteAddress),
    project: request.params.project ?? "",
    ...(quick && { purpose: "quick" }),
    writing: long ? "background" : "writes",
    isTask: true,
    endsReads: !writes,
    signal: () => request.signal,
    readTimeoutMs: () => (known.has(request) ? undefined : config.publicTimeoutMs),
  };
}
