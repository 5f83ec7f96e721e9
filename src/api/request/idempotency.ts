import { createHash } from "node:crypto";
import { CatalogReader } from "../../catalog/catalog.js";
import { badRequest, Failure, failed } from "../../errors.js";
import { VisualReader } from "../../features/visual-cache.js";
import type { Reply, Request } from "../../http/types.js";
import type { BlobStore } from "../../storage/blob-store.js";
import {
  findAnswer,
  holdKey,
  type IdempotencyKey,
  type KeptAnswer,
  keepAnswer,
} from "../../storage/idempotency-keys.js";
import type { Database } from "../../storage/postgres.js";
import { SingleTransaction } from "../../storage/single-transaction.js";
import type { Services } from "../services.js";
import { callerOf, headToken } from "./caller.js";
import { mediaType, multipart } from "./media-type.js";
import type { BodyDefinition } from "./schema/bodies.js";
import { text } from "./schema/parameters.js";

/**
 * Writes that a client may send again without doing them twice (`Idempotency-Key`). All that such a request writes is
 * one transaction, and so is the answer: it is made of what that transaction reads, and kept by it. Whatever breaks, the
 * write and its answer are both there or neither is.
 */

const idempotencyHeader = "idempotency-key";
const longestKey = 255;

export const idempotencyParameters = {
  [idempotencyHeader]: text(
    `Name of this request, 1 to ${longestKey} characters that nobody guesses, such as a UUID. The same request under ` +
      "the same name is done once and answered alike for a day.",
    longestKey,
  ).optional(),
};

/** The name that the client gave the request; undefined = none. @throws Failure bad_request */
export function givenKey(request: Request): string | undefined {
  const given = request.header(idempotencyHeader)?.trim();
  if (given === undefined || given === "") return undefined;
  // A string of RFC 8941 stands in quotes.
  const key = /^"(.*)"$/.exec(given)?.[1] ?? given;
  if (!/^[\x21-\x7e]+$/.test(key) || key.length > longestKey)
    throw badRequest(`Idempotency-Key has 1 to ${longestKey} ASCII characters without spaces.`);
  return key;
}

/** The answer was given a moment ago to another request with the same key. */
class Answered extends Error {
  constructor(readonly kept: KeptAnswer) {
    super("answered meanwhile");
  }
}

/**
 * Answers with what was answered before under the key, or lets the request be handled and keeps the answer.
 * @throws Failure bad_request when the token comes with a file, which is read only once it is known who sends it;
 *   invalid_value when the key was another request's; busy when one with the same key is being handled;
 *   outcome_unknown; as `callerOf`; what the handler throws
 */
export async function answerOnce(
  request: Request,
  services: Services,
  { key, body }: { readonly key: string; readonly body: BodyDefinition<unknown> | undefined },
  handle: (services: Services) => Promise<Reply> | Reply,
): Promise<Reply> {
  const hasFile = body?.hasFile === true;
  if (hasFile && headToken(request) === undefined)
    throw badRequest("With an Idempotency-Key the token of an upload comes in the query or a header.");
  const project = await services.catalog.project(request.params.project!);
  const { accountId } = await callerOf(request, services, project);
  // The public changes nothing, and is told so before its body is read.
  if (accountId === null) return handle(services);
  const name: IdempotencyKey = { accountId, key };
  const asked = () => fingerprint(request, { hasFile });
  const repeat = async (kept: KeptAnswer): Promise<Reply> => {
    const reply = repeated(kept, await asked());
    // Whoever asked first may still wait until all nodes have heard of the write.
    await services.changes.propagate();
    return reply;
  };
  const before = await findAnswer(services.db, name);
  if (before) return repeat(before);
  const writing = new SingleTransaction(services.db, async (tx) => {
    await holdKey(tx, name);
    const kept = await findAnswer(tx, name);
    if (kept) throw new Answered(kept);
  });
  const after: (() => Promise<void>)[] = [];
  let reply: Reply;
  try {
    reply = await handle(within(services, writing, after));
    await writing.commit(async (tx) =>
      keepAnswer(tx, name, { request: await asked(), answer: written(reply) }),
    );
  } catch (error) {
    const failure = await writing.undo(error);
    // What another request under the key has done may be why this one could not begin.
    const kept =
      failure instanceof Answered
        ? failure.kept
        : writing.hasBegun
          ? undefined
          : await answeredBy(services.db, name);
    if (kept) return repeat(kept);
    throw failure;
  }
  if (writing.hasBegun) {
    await services.changes.propagate();
    for (const act of after) await act();
  }
  return reply;
}

/** The answer of somebody who holds the key or has held it. @throws Failure busy while somebody does */
const answeredBy = (db: Database, name: IdempotencyKey): Promise<KeptAnswer | undefined> =>
  db.transaction(async (tx) => {
    await holdKey(tx, name);
    return findAnswer(tx, name);
  });

/** The services as a handler has them whose writes are one transaction. What cannot be undone is left for `after`. */
function within(services: Services, db: SingleTransaction, after: (() => Promise<void>)[]): Services {
  const stored = services.blobs;
  const blobs: BlobStore = {
    put: (source) => stored.put(source),
    size: (key) => stored.size(key),
    read: (key, options) => stored.read(key, options),
    delete: async (key) => void after.push(() => stored.delete(key)),
    olderThan: (ageMs) => stored.olderThan(ageMs),
    removeParts: (ageMs) => stored.removeParts(ageMs),
    withLocalCopy: (key, use) => stored.withLocalCopy(key, use),
  };
  const search: Services["search"] = Object.create(services.search, {
    reconsider: { value: () => void after.push(async () => services.search.reconsider()) },
  });
  const fresh = new CatalogReader(db, services.config.idAlias);
  const visuals = new VisualReader(db);
  return {
    ...services,
    db,
    blobs,
    search,
    // Until something is written what everybody sees is right.
    get catalog() {
      return db.hasBegun ? fresh : services.catalog;
    },
    get visuals() {
      return db.hasBegun ? visuals : services.visuals;
    },
    changes: {
      get trusted() {
        return services.changes.trusted;
      },
      // There is nothing to tell before the transaction is committed.
      propagate: async () => undefined,
    },
  };
}

/** What makes a request the same as another one. The token does not: a new session may ask again. */
async function fingerprint(request: Request, { hasFile }: { readonly hasFile: boolean }): Promise<string> {
  const query = new URLSearchParams(request.rawQuery);
  query.delete("token");
  query.sort();
  const hash = createHash("sha256").update(`${request.method} ${request.path}?${query}\n`);
  for (const name of ["if-match", "x-filename"]) hash.update(`${request.header(name) ?? ""}\n`);
  for (const part of await (hasFile ? fileParts(request) : bodyParts(request))) hash.update(part);
  return hash.digest("base64url");
}

/** A file is read into its place by the handler, once it is known who sends it; for a repeated answer, here. */
async function fileParts(request: Request): Promise<readonly string[]> {
  const { body } = request;
  const { fields, file } =
    mediaType(request) === multipart
      ? await body.upload("file", () => true)
      : { fields: {}, file: await body.toFile() };
  return [withoutToken(fields), file?.sha256 ?? ""];
}

async function bodyParts(request: Request): Promise<readonly (string | Uint8Array)[]> {
  try {
    const fields = await request.body.fields();
    const isForm = mediaType(request) === multipart;
    return [Object.hasOwn(fields, "token") || isForm ? withoutToken(fields) : await request.body.bytes()];
  } catch (error) {
    // The handler tells what is wrong with it.
    if (error instanceof Failure) return [];
    throw error;
  }
}

function withoutToken(fields: Readonly<Record<string, unknown>>): string {
  const { token: _token, ...others } = fields;
  return JSON.stringify(others);
}

type Kept = Omit<Extract<Reply, { kind: "bytes" }>, "body"> & { readonly body: string };

function written(reply: Reply): string {
  if (reply.kind === "stream") throw new Error("The answer of a write is not a stream.");
  if (reply.kind !== "bytes") return JSON.stringify(reply);
  const kept: Kept = { ...reply, body: Buffer.from(reply.body).toString("base64") };
  return JSON.stringify(kept);
}

/** @throws Failure invalid_value */
function repeated({ request, answer }: KeptAnswer, asked: string): Reply {
  if (request !== asked)
    throw failed("invalid_value", "This Idempotency-Key was given to another request.", {
      parameter: "Idempotency-Key",
    });
  const reply = JSON.parse(answer) as Exclude<Reply, { kind: "bytes" }> | Kept;
  return reply.kind === "bytes" ? { ...reply, body: Buffer.from(reply.body, "base64") } : reply;
}
