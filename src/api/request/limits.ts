import type { LimitedWork } from "../../access/client-limits.js";
import { quotaHeaders } from "../../http/errors.js";
import type { Reply, Request } from "../../http/types.js";
import type { Services } from "../services.js";
import { headToken } from "./caller.js";
import { networkOf } from "./database-use.js";

/** Limits of the requests of a client, where the configuration sets them. */

/**
 * Answers a request if its client may send another one of its kind.
 * @throws Failure too_many; what `handle` throws
 */
export async function withinLimits(
  work: LimitedWork,
  request: Request,
  services: Services,
  handle: () => Promise<Reply> | Reply,
): Promise<Reply> {
  const client = (await accountOf(request, services)) ?? networkOf(request.remoteAddress);
  const quota = await services.limits.admit(work, client);
  const reply = await handle();
  // Shared caches keep tiles and pictures, and would send these to others.
  if (work === "tiles" || work === "pictures") return reply;
  return { ...reply, headers: { ...reply.headers, ...quotaHeaders(quota) } };
}

/** The account of a session; undefined without a valid token in the query or a header. */
async function accountOf(request: Request, { sessions }: Services): Promise<string | undefined> {
  const token = headToken(request);
  if (token === undefined) return undefined;
  const session = await sessions.find(token).catch(() => undefined);
  return session && `a${session.accountId}`;
}
