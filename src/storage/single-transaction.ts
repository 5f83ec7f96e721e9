import type { Lookup } from "./lookups.js";
import type { Database, Queryable, QueryOptions } from "./postgres.js";

/** Releases the savepoint, and resets what was set inside it. Without bound values, so that it is one round trip. */
const released = `release savepoint part;${[
  "statement_timeout",
  "lock_timeout",
  "enable_seqscan",
  "synchronize_seqscans",
]
  .map((setting) => `set local ${setting} to default`)
  .join(";")}`;

/**
 * A database as one request sees it: all that the request writes is one transaction, which begins with the first write.
 * From then on it reads there, too. Its own transactions are savepoints.
 */
export class SingleTransaction implements Database {
  private tx: Queryable | undefined;
  private beginning: Promise<Queryable> | undefined;
  /** The transaction as a whole. */
  private outcome: Promise<void> | undefined;
  private end: (error?: unknown) => void = () => undefined;
  private readonly endings: (() => Promise<void>)[] = [];
  /** The latest write. On one connection writes run one after the other. */
  private last: Promise<unknown> = Promise.resolve();
  private hasEnded = false;

  /**
   * @param first runs at the beginning of the transaction, which fails with it
   * @param before runs before it is begun, and with it takes a slot and locks; when it fails, so does the first write
   */
  constructor(
    readonly apart: Database,
    private readonly first: (tx: Queryable) => Promise<void>,
    private readonly before: () => Promise<void> = () => Promise.resolve(),
  ) {}

  get address(): Database["address"] {
    return this.apart.address;
  }

  get isPooled(): boolean {
    return this.apart.isPooled;
  }

  get directUrl(): string {
    return this.apart.directUrl;
  }

  /** The same database: all that the request does is for the same client and project. */
  for(): Database {
    return this;
  }

  /** Whether something was written. */
  get hasBegun(): boolean {
    return this.tx !== undefined;
  }

  /**
   * Commits what was written, after `finish` has run in the same transaction. When it fails, `undo` is to be called.
   * @throws Failure outcome_unknown; what `finish` throws
   */
  async commit(finish: (tx: Queryable) => Promise<void>): Promise<void> {
    await this.last.catch(() => undefined);
    if (this.tx) {
      await finish(this.tx);
      this.end();
      await this.outcome;
    }
    await this.finish();
  }

  /**
   * Undoes what was written because of an error.
   * @returns what the transaction failed with: the error, or what a lost connection means for it
   */
  async undo(error: unknown): Promise<unknown> {
    // Otherwise a running write would go on outside of the transaction.
    await this.last.catch(() => undefined);
    this.end(error);
    const failure = await this.outcome?.then(
      () => error,
      (reason: unknown) => reason,
    );
    await this.finish();
    return failure ?? error;
  }

  afterwards(work: () => Promise<void>): Promise<void> {
    this.endings.push(work);
    return Promise.resolve();
  }

  private async finish(): Promise<void> {
    this.hasEnded = true;
    for (const ending of this.endings.splice(0)) await ending();
  }

  private begin(): Promise<Queryable> {
    // A transaction that work begins after the end of its request would be ended by nobody.
    if (this.hasEnded) return Promise.reject(new Error("The transaction has ended."));
    this.beginning ??= this.before().then(() => this.opened());
    return this.beginning;
  }

  private opened(): Promise<Queryable> {
    return new Promise((resolve, reject) => {
      this.outcome = this.apart.transaction(async (tx) => {
        await this.first(tx);
        const ended = new Promise<void>((succeed, fail) => {
          this.end = (error) => (error === undefined ? succeed() : fail(error));
        });
        this.tx = tx;
        resolve(tx);
        await ended;
      });
      this.outcome.catch(reject);
    });
  }

  /** Runs a write in the transaction, after those before it; one that fails leaves the transaction as it was. */
  private inTurn<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    const before = this.last.catch(() => undefined);
    const done = before.then(async () => {
      const tx = await this.begin();
      await tx.execute("savepoint part");
      try {
        const result = await work(tx);
        await tx.execute(released);
        return result;
      } catch (error) {
        await tx.execute("rollback to savepoint part").catch(() => undefined);
        throw error;
      }
    });
    this.last = done;
    done.catch(() => undefined);
    return done;
  }

  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.inTurn(work);
  }

  write<Row extends object>(
    text: string,
    values?: readonly unknown[],
    options?: Pick<QueryOptions, "prepare">,
  ): Promise<Row[]> {
    return this.inTurn((tx) => tx.write<Row>(text, values, options));
  }

  execute(text: string, values?: readonly unknown[]): Promise<number> {
    return this.inTurn((tx) => tx.execute(text, values));
  }

  query<Row extends object>(
    text: string,
    values?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<Row[]> {
    return (this.tx ?? this.apart).query<Row>(text, values, options);
  }

  lookup<Row extends object>(lookup: Lookup, key: number): Promise<Row | undefined> {
    return (this.tx ?? this.apart).lookup<Row>(lookup, key);
  }

  stream: Database["stream"] = (text, values, options) => this.apart.stream(text, values, options);
  streamBytes: Database["streamBytes"] = (text, values, options) =>
    this.apart.streamBytes(text, values, options);
  dedicated: Database["dedicated"] = () => this.apart.dedicated();
  requirePooler: Database["requirePooler"] = () => this.apart.requirePooler();
  probing: Database["probing"] = () => this.apart.probing();
  working: Database["working"] = () => this.apart.working();
  listening: Database["listening"] = () => this.apart.listening();
  renew: Database["renew"] = () => this.apart.renew();
  counts: Database["counts"] = () => this.apart.counts();
  cut: Database["cut"] = () => this.apart.cut();

  /** The owner of `apart` closes it. */
  close(): Promise<void> {
    throw new Error("A transaction does not close its database.");
  }
}
