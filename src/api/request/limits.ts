import { callerOfAccessKey, isAccessKey } from "../../access/access-keys.js";
import type { LimitedWork } from "../../access/client-limits.js";
import { quotaHeaders } from "../../http/errors.js";
import { withHeaders } from "../../http/headers.js";
import type { Reply, Request } from "../../http/types.js";
import { networkOf } from "../../queues/clients.js";
import type { Services } from "../services.js";
import { headToken, tileKeyOf } from "./caller.js";

/** Limits of the requests of a client, where the configuration sets them. */

/**
 * Answers a request if its client may send another one of its kind.
 * @param takesTileKey whether a key for tiles says who the client is
 * @throws Failure too_many; what `handle` throws
 */
export async function withinLimits(
  work: LimitedWork,
  request: Request,
  services: Services,
  handle: () => Promise<Reply> | Reply,
  takesTileKey = false,
): Promise<Reply> {
  const client = (await accountOf(request, services, takesTileKey)) ?? networkOf(request.remoteAddress);
  const quota = await services.limits.admit(work, client);
  const reply = await handle();
  // Shared caches keep tiles and pictures, and would send these to others.
  if (work === "tiles" || work === "pictures") return reply;
  return withHeaders(reply, quotaHeaders(quota));
}

/** The account of a session; undefined without a valid token in the query or a header, or a key where one counts. */
async function accountOf(
  request: Request,
  services: Services,
  takesTileKey: boolean,
): Promise<string | undefined> {
  const { sessions, tileKeys } = services;
  const token = headToken(request);
  const key = takesTileKey ? tileKeyOf(request) : undefined;
  if (token === undefined && key === undefined) return undefined;
  if (isAccessKey(token ?? key!)) {
    const project = await services.catalog.project(request.params.project!).catch(() => undefined);
    const caller = project && callerOfAccessKey(token ?? key!, project);
    return caller && `a${caller.accountId}`;
  }
  // Whether it is a use of the session is decided where it is answered.
  const session = await (token === undefined
    ? tileKeys.looking.find(key!, undefined)
    : sessions.looking.find(token)
  ).catch(() => undefined);
  return session && session !== "other" ? `a${session.accountId}` : undefined;
}
