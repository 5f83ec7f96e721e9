import { busy } from "../errors.js";
import { idempotencyLock } from "./advisory-locks.js";
import type { Database, Queryable } from "./postgres.js";

/** Answers of writes by idempotency key. They are stored in the transaction of the write and kept for a day. */

export interface IdempotencyKey {
  /** Whose key it is. */
  readonly accountId: number;
  readonly key: string;
}

export interface KeptAnswer {
  /** Hash of the request. */
  readonly request: string;
  /** The answer, as text. */
  readonly answer: string;
}

const keptFor = "1 day";

/** The stored answer of a key; undefined = none in the last day. */
export async function findAnswer(
  db: Queryable,
  { accountId, key }: IdempotencyKey,
): Promise<KeptAnswer | undefined> {
  const [row] = await db.query<KeptAnswer>(
    `select request, answer from idempotency_key
     where account_id = $1 and key = $2 and answered_at > now() - interval '${keptFor}'`,
    [accountId, key],
    { prepare: true },
  );
  return row;
}

/**
 * Locks the key until the transaction ends. It does not wait for a lock that is held: a client that sends a request many
 * times at once would occupy a connection with each.
 * @throws Failure busy when another request holds the lock
 */
export async function holdKey(tx: Queryable, { accountId, key }: IdempotencyKey): Promise<void> {
  const [lock] = await tx.query<{ free: boolean }>(
    `select pg_try_advisory_xact_lock(${idempotencyLock("$1", "$2")}) as free`,
    [accountId, key],
    { prepare: true },
  );
  if (!lock?.free) throw busy("A request with this Idempotency-Key is being worked on.");
}

/** Stores the answer of a key that is locked. */
export async function keepAnswer(
  tx: Queryable,
  { accountId, key }: IdempotencyKey,
  { request, answer }: KeptAnswer,
): Promise<void> {
  await tx.query(
    `insert into idempotency_key (account_id, key, request, answer) values ($1, $2, $3, $4)
     on conflict (account_id, key) do update
       set request = excluded.request, answer = excluded.answer, answered_at = excluded.answered_at`,
    [accountId, key, request, answer],
    { prepare: true },
  );
}

/** Deletes answers that are too old. */
export async function pruneAnswers(db: Database): Promise<void> {
  await db.execute(`delete from idempotency_key where answered_at <= now() - interval '${keptFor}'`);
}
