import { loginOf } from "../../catalog/bin.js";
import type { Caller } from "../../catalog/state.js";
import type { Request } from "../../http/types.js";
import { networkOf } from "../../queues/clients.js";
import type { DatabaseUse } from "../../storage/postgres.js";
import type { Services } from "../services.js";

/** For whom a request uses the database. */

/** Callers of requests, by their bodies, which what adapts a request to an older version keeps. Weak, so that none is kept. */
const known = new WeakMap<Request["body"], Caller>();

/** Notes that the request is that of a user, who may read for longer than the public, and is the author of what it writes. */
export function noteKnownCaller({ body }: Request, caller: Caller): void {
  known.set(body, caller);
}

/** For the history; undefined = nobody that is known. */
function authorOf({ body }: Request): string | undefined {
  const caller = known.get(body);
  return (caller && loginOf(caller)) || undefined;
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
    readTimeoutMs: () => (known.has(request.body) ? undefined : config.publicTimeoutMs),
    author: () => authorOf(request),
  };
}
