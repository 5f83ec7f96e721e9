import { busy } from "../errors.js";
import { idempotencyLock } from "./advisory-locks.js";
import type { Database, Queryable } from "./postgres.js";

/** Answers of writes by the keys that clients gave them, kept for a day in the transactions of the writes. */

export interface IdempotencyKey {
  /** Whose key it is. */
  readonly accountId: number;
  readonly key: string;
}

export interface KeptAnswer {
  /** What was asked, as a hash. */
  readonly request: string;
  /** The answer, as text. */
  readonly answer: string;
}

const keptFor = "1 day";

/** The answer that was given under the key; undefined = none in the last day. */
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
 * Holds the key until the transaction ends. Nobody waits for another one who has it: a client that sends a request many
 * times at once would hold a connection with each.
 * @throws Failure busy when somebody holds it
 */
export async function holdKey(tx: Queryable, { accountId, key }: IdempotencyKey): Promise<void> {
  const [lock] = await tx.query<{ free: boolean }>(
    `select pg_try_advisory_xact_lock(${idempotencyLock("$1", "$2")}) as free`,
    [accountId, key],
    { prepare: true },
  );
  if (!lock?.free) throw busy("A request with this Idempotency-Key is being worked on.");
}

/** Keeps the answer under a key that is held. */
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

/** Forgets answers that are older than they are kept for. */
export async function pruneAnswers(db: Database): Promise<void> {
  await db.execute(`delete from idempotency_key where answered_at <= now() - interval '${keptFor}'`);
}
