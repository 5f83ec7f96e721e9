import type pg from "pg";
import { connectionLost } from "./connection-errors.js";
import { destroy } from "./heartbeat.js";

/**
 * Locks of a session behind a pooler: all that a node holds are held by one direct connection, which is there as long as
 * there are any. PostgreSQL knows no two owners on one connection: who of this node has which lock is known here.
 */

/** Between two attempts to get a lock that somebody has. */
const againMs = 200;
/** Nothing that is asked of it waits for anybody: after so long the connection is lost. */
const answerMs = 10_000;
/** How long the connection is kept without locks: some are asked for again and again. */
const idleMs = 10_000;

/** Who has locks. */
export interface LockHolder {
  /** The connection is lost, and all locks with it. */
  lost(error: Error): void;
}

export class LockKeeper {
  private client: Promise<pg.Client> | undefined;
  private readonly holders = new Map<string, LockHolder>();
  private readonly users = new Set<LockHolder>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly connect: () => Promise<pg.Client>) {}

  /** @param key SQL of the lock's key with placeholders for the values @throws Failure busy */
  async tryLock(holder: LockHolder, key: string, values: readonly unknown[]): Promise<boolean> {
    const name = nameOf(key, values);
    if (this.holders.has(name)) return false;
    // From now on it is nobody else's of this node.
    this.holders.set(name, holder);
    this.users.add(holder);
    let isOurs = false;
    try {
      const client = await this.opened();
      const { rows } = await ask<{ ours: boolean }>(
        client,
        `select pg_try_advisory_lock(${key}) as ours`,
        values,
      );
      // The connection may have been lost since the answer.
      isOurs = rows[0]!.ours && this.holders.get(name) === holder;
      return isOurs;
    } finally {
      if (!isOurs && this.holders.get(name) === holder) this.holders.delete(name);
      this.restIfUnused();
    }
  }

  /** As `tryLock`, after a wait. @throws the reason of the signal */
  async lock(
    holder: LockHolder,
    key: string,
    values: readonly unknown[],
    signal?: AbortSignal,
  ): Promise<void> {
    for (;;) {
      signal?.throwIfAborted();
      if (await this.tryLock(holder, key, values)) return;
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, againMs);
        signal?.addEventListener("abort", done);
      });
    }
  }

  async unlock(holder: LockHolder, key: string, values: readonly unknown[]): Promise<void> {
    const name = nameOf(key, values);
    if (this.holders.get(name) !== holder) return;
    const { client } = this;
    try {
      const there = await client;
      if (there) await ask(there, `select pg_advisory_unlock(${key})`, values);
    } catch {
      // Without its connection it is free, and whether it is still there is not known.
      await (await client?.catch(() => undefined))?.end().catch(() => undefined);
    } finally {
      if (this.holders.get(name) === holder) this.holders.delete(name);
      this.restIfUnused();
    }
  }

  /** A holder that has ended hears of nothing any more. Its locks must be free. */
  leave(holder: LockHolder): void {
    this.users.delete(holder);
  }

  private opened(): Promise<pg.Client> {
    clearTimeout(this.timer);
    if (this.client) return this.client;
    const opening = this.connect();
    this.client = opening;
    const lose = () => {
      if (this.client !== opening) return;
      this.client = undefined;
      this.holders.clear();
      const error = connectionLost(new Error("The connection of the locks was lost."));
      for (const holder of [...this.users]) holder.lost(error);
    };
    opening.then((client) => {
      client.once("end", lose);
      client.on("error", lose);
    }, lose);
    return opening;
  }

  private restIfUnused(): void {
    clearTimeout(this.timer);
    if (this.holders.size > 0) return;
    this.timer = setTimeout(() => {
      if (this.holders.size === 0) this.rest();
    }, idleMs).unref();
  }

  /** Closes the connection. */
  rest(): void {
    const { client } = this;
    this.client = undefined;
    clearTimeout(this.timer);
    client?.then((one) => one.end()).catch(() => undefined);
  }
}

/** A network that is lost without a word would hold up all locks of the node, and nobody would hear that they are gone. */
async function ask<Row extends object>(
  client: pg.Client,
  text: string,
  values: readonly unknown[],
): Promise<{ readonly rows: Row[] }> {
  const timer = setTimeout(() => destroy(client), answerMs);
  try {
    return await client.query<Row>(text, [...values]);
  } finally {
    clearTimeout(timer);
  }
}

/** PostgreSQL's lock is the same for a number and its text. */
const nameOf = (key: string, values: readonly unknown[]): string => `${key} ${values.map(String).join(" ")}`;
