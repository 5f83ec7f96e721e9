import type { Caller } from "../../catalog/state.js";
import { type BulkPlan, type BulkRules, readBulk } from "../../features/bulk-body.js";
import {
  type GeometryRules,
  type ObjectRules,
  readGeometry,
  readObject,
  type SavedObject,
  type SentObject,
} from "../../features/object-body.js";
import type { Request } from "../../http/types.js";
import { clientOf } from "../request/caller.js";
import { isLarge } from "../request/large-body.js";
import type { Services } from "../services.js";

/** Bodies of objects to save, read on this thread when they are small, else in another one. */

interface Sent<Rules, Body> {
  readonly caller: Caller;
  /** Reads a small one. */
  readonly body: () => Promise<Body>;
  readonly rules: Rules;
}

/** @throws Failure bad_request, too_large, busy; as `readObject` */
export async function sentObject(
  request: Request,
  { bodies }: Services,
  { caller, body, rules }: Sent<ObjectRules, SentObject>,
): Promise<SavedObject> {
  if (!(await isLarge(request))) return readObject(await body(), rules);
  return bodies.object(request.body, rules, readerOf(request, caller));
}

/** EWKB; null = none. @throws Failure bad_request, too_large, busy; invalid_geometry */
export async function sentGeometry(
  request: Request,
  { bodies }: Services,
  { caller, body, rules }: Sent<GeometryRules, unknown>,
): Promise<Buffer | null> {
  if (!(await isLarge(request))) return readGeometry(await body(), rules);
  return bodies.geometry(request.body, rules, readerOf(request, caller));
}

/** Of many small objects reading takes longer. */
const mostOfBulk = 16 * 1024;

/** @throws Failure bad_request, too_large, busy; as `readBulk` */
export async function sentBulk(
  request: Request,
  { bodies }: Services,
  { caller, body, rules }: Sent<BulkRules, readonly unknown[]>,
): Promise<BulkPlan> {
  if (!(await isLarge(request, mostOfBulk))) return readBulk(await body(), rules);
  return bodies.bulk(request.body, rules, readerOf(request, caller));
}

const readerOf = (request: Request, caller: Caller) => ({
  client: clientOf(request, caller),
  signal: request.signal,
});
