import { createHash } from "node:crypto";
import { badRequest, Failure, failed } from "../../errors.js";
import type { BodyReader } from "../../features/body-threads.js";
import type { Reply, Request } from "../../http/types.js";
import {
  findAnswer,
  holdKey,
  type IdempotencyKey,
  type KeptAnswer,
  keepAnswer,
} from "../../storage/idempotency-keys.js";
import type { Database, Queryable } from "../../storage/postgres.js";
import type { Services } from "../services.js";
import { callerOf, clientOf, headToken } from "./caller.js";
import { isLarge } from "./large-body.js";
import { mediaType, multipart } from "./media-type.js";
import { inOneTransaction } from "./one-transaction.js";
import { type NamedIds, namedBy, requireStillAllowed } from "./rehearsal.js";
import type { BodyDefinition } from "./schema/bodies.js";
import { text } from "./schema/parameters.js";

/**
 * Writes that a client may safely retry (`Idempotency-Key`). Everything that such a request writes is one transaction.
 * The response is built from what that transaction reads and is stored by it, so that after any failure either both the
 * write and its response are stored, or neither.
 */

const idempotencyHeader = "idempotency-key";
const longestKey = 255;

export const idempotencyParameters = {
  [idempotencyHeader]: text(
    `Unique key of this request, 1 to ${longestKey} characters that cannot be guessed, such as a UUID. For one day, ` +
      "a repeated request with the same key is not executed again and gets the stored response.",
    longestKey,
  ).optional(),
};

/** The Idempotency-Key of the request; undefined = none. @throws Failure bad_request */
export function givenKey(request: Request): string | undefined {
  const given = request.header(idempotencyHeader)?.trim();
  if (given === undefined || given === "") return undefined;
  // RFC 8941 strings are quoted.
  const key = /^"(.*)"$/.exec(given)?.[1] ?? given;
  if (!/^[\x21-\x7e]+$/.test(key) || key.length > longestKey)
    throw badRequest(`Idempotency-Key has 1 to ${longestKey} ASCII characters without spaces.`);
  return key;
}

/** Thrown when another request with the same key has stored its response in the meantime. */
class AlreadyAnswered extends Error {
  constructor(readonly kept: KeptAnswer) {
    super("already answered");
  }
}

interface Keyed {
  readonly key: string;
  readonly body: BodyDefinition<unknown> | undefined;
  /** Whether the request is meant for what it finds; undefined = whatever that is. @throws Failure */
  readonly when: ((tx: Queryable) => Promise<void>) | undefined;
}

/**
 * Returns the stored response of the key to who may still do what it answered, or handles the request and stores its response.
 * @throws Failure bad_request when the token is in a form with a file, which is only read after authentication;
 *   invalid_value when the key was used for another request; busy while a request with the same key is being handled;
 *   outcome_unknown; as `callerOf`; what the handler throws
 */
export async function answerOnce(
  request: Request,
  services: Services,
  { key, body, when }: Keyed,
  handle: (services: Services) => Promise<Reply> | Reply,
): Promise<Reply> {
  const hasFile = body?.hasFile === true;
  if (hasFile && headToken(request) === undefined)
    throw badRequest("With an Idempotency-Key the token of an upload comes in the query or a header.");
  const project = await services.catalog.project(request.params.project!);
  const caller = await callerOf(request, services, project);
  const { accountId } = caller;
  // The public may not write: the handler refuses it before it reads the body.
  if (accountId === null) return handle(services);
  const owned: IdempotencyKey = { accountId, key };
  const reader = { client: clientOf(request, caller), signal: request.signal };
  let hash: Promise<string> | undefined;
  const requestHash = () => (hash ??= fingerprint(request, services, { hasFile, reader }));
  const repeat = async (kept: KeptAnswer): Promise<Reply> => {
    const { reply, named = noIds } = parsed(kept);
    // Rights may have been withdrawn since.
    await requireStillAllowed(request, services, named, handle);
    requireSame(kept, await requestHash());
    // The first request may still be waiting for the write to reach all nodes.
    await services.changes.propagate();
    return reply;
  };
  const before = await findAnswer(services.db, owned);
  if (before) return repeat(before);
  const named = await namedBy(request, services);
  const begin = async (tx: Queryable) => {
    await holdKey(tx, owned);
    const kept = await findAnswer(tx, owned);
    if (kept) throw new AlreadyAnswered(kept);
    await when?.(tx);
  };
  return inOneTransaction(
    services,
    {
      begin,
      always: when !== undefined,
      // A large body waits for a thread: not while a slot and locks are held. A file's hash is known when it has been received.
      before: async () => {
        if (!hasFile) await requestHash();
      },
      finish: async (tx, reply) =>
        keepAnswer(tx, owned, { request: await requestHash(), answer: serialized(reply, named) }),
      // The transaction may not have begun because another request with the key was faster.
      recover: async (failure, hasBegun) => {
        if (failure instanceof AlreadyAnswered) return repeat(failure.kept);
        const kept = hasBegun ? undefined : await answeredMeanwhile(services.db, owned);
        return kept && repeat(kept);
      },
    },
    handle,
  );
}

/** The response stored by another request with the key. @throws Failure busy while one still holds the key */
const answeredMeanwhile = (db: Database, name: IdempotencyKey): Promise<KeptAnswer | undefined> =>
  db.transaction(async (tx) => {
    await holdKey(tx, name);
    return findAnswer(tx, name);
  });

/** Hash that identifies a repeated request. The token is not part of it: a retry may come from a new session. */
async function fingerprint(
  request: Request,
  { bodies }: Services,
  { hasFile, reader }: { readonly hasFile: boolean; readonly reader: BodyReader },
): Promise<string> {
  const query = new URLSearchParams(request.rawQuery);
  query.delete("token");
  query.sort();
  let start = `${request.method} ${request.path}?${query}\n`;
  for (const name of ["if-match", "x-filename"]) start += `${request.header(name) ?? ""}\n`;
  const isElsewhere = !hasFile && mediaType(request) !== multipart && (await isLarge(request).catch(asSmall));
  if (isElsewhere) return bodies.digest(request.body, start, reader);
  const hash = createHash("sha256").update(start);
  for (const part of await (hasFile ? fileParts(request) : bodyParts(request))) hash.update(part);
  return hash.digest("base64url");
}

/** What cannot be received is refused where it is read. */
function asSmall(error: unknown): false {
  if (error instanceof Failure) return false;
  throw error;
}

/**
 * Parts of an upload. The handler has normally received the file, after authentication; for a retry it is read here.
 */
async function fileParts(request: Request): Promise<readonly string[]> {
  const { body } = request;
  const { fields, files } =
    mediaType(request) === multipart
      ? await body.upload("file", () => true)
      : { fields: {}, files: [await body.toFile()] };
  const hashes = files.map(({ clientName, sha256 }) => [files.length > 1 ? clientName : "", sha256]);
  return [withoutToken(fields), JSON.stringify(hashes)];
}

async function bodyParts(request: Request): Promise<readonly (string | Uint8Array)[]> {
  try {
    const fields = await request.body.fields();
    const isForm = mediaType(request) === multipart;
    return [Object.hasOwn(fields, "token") || isForm ? withoutToken(fields) : await request.body.bytes()];
  } catch (error) {
    // The handler reports the error.
    if (error instanceof Failure) return [];
    throw error;
  }
}

function withoutToken(fields: Readonly<Record<string, unknown>>): string {
  const { token: _token, ...others } = fields;
  return JSON.stringify(others);
}

type SerializedBytes = Omit<Extract<Reply, { kind: "bytes" }>, "body"> & { readonly body: string };
/** With what the path named. */
type Serialized = (Exclude<Reply, { kind: "bytes" }> | SerializedBytes) & { readonly named?: NamedIds };

/** As answers were stored that do not tell. */
const noIds: NamedIds = { map: undefined, layer: undefined };

function serialized(reply: Reply, named: NamedIds): string {
  if (reply.kind === "stream") throw new Error("The response of a write must not be a stream.");
  if (reply.kind !== "bytes") return JSON.stringify({ ...reply, named } satisfies Serialized);
  const body = Buffer.from(reply.body).toString("base64");
  return JSON.stringify({ ...reply, body, named } satisfies Serialized);
}

function parsed({ answer }: KeptAnswer): { readonly reply: Reply; readonly named: NamedIds | undefined } {
  const { named, ...reply } = JSON.parse(answer) as Serialized;
  return {
    named,
    reply: reply.kind === "bytes" ? { ...reply, body: Buffer.from(reply.body, "base64") } : reply,
  };
}

/** @throws Failure invalid_value */
function requireSame({ request }: KeptAnswer, requestHash: string): void {
  if (request !== requestHash)
    throw failed("invalid_value", "This Idempotency-Key was given to another request.", {
      parameter: "Idempotency-Key",
    });
}
