import type { Request } from "../../http/types.js";
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

/**
 * The network that a client chooses its addresses from: an IPv4 address, or the first 64 bits of an IPv6 address.
 * @param address in the shortest form: "2001:db8::7"
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return [...first, ...zeros, ...last].slice(0, 4).join(":");
}
