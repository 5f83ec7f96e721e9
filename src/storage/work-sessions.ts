import type pg from "pg";
import { type Cancelling, CancelRequests } from "./cancel-requests.js";
import { connectionLost } from "./connection-errors.js";
import type { LockHolder, LockKeeper } from "./lock-keeper.js";
import { runSetting } from "./setting-query.js";
import { settingStatement, type TransactionSettings } from "./transaction-settings.js";

/** Sessions of work beside the pool, which holds locks: imports, and what the server does in the background. */

type Values = readonly unknown[];

export interface WorkSession {
  /** Settings of all statements from now on. */
  set(settings: TransactionSettings): Promise<void>;
  query<Row extends object>(text: string, values?: Values): Promise<{ readonly rows: Row[] }>;
  /** A statement that no transaction may have around it. */
  alone(text: string): Promise<void>;
  /** @param key SQL with placeholders for the values (`advisory-locks.ts`) */
  tryLock(key: string, values?: Values): Promise<boolean>;
  /** @throws the reason of the signal */
  lock(key: string, values?: Values, signal?: AbortSignal): Promise<void>;
  unlock(key: string, values?: Values): Promise<void>;
  /** Called when its locks are lost, possibly twice. */
  onLost(listener: (error: Error) => void): void;
  /** Asks the server to end the statement that runs. */
  cancel(): Promise<void>;
  /** Its locks are free then. Never rejects. */
  end(): Promise<void>;
}

const cancels = new CancelRequests();

async function cancelOnce(client: pg.ClientBase): Promise<void> {
  await cancels.start(client).end();
}

/** By `set_config`, which reads lists: `set search_path = 'a,b'` names one schema. */
const applySettings = (client: pg.Client, settings: TransactionSettings): Promise<unknown> =>
  client.query("select set_config(name, value, false) from json_each_text($1) as given (name, value)", [
    JSON.stringify(settings),
  ]);

/** One connection, which has the settings and the locks. */
export class DirectWork implements WorkSession {
  private hasEnded = false;

  constructor(private readonly client: pg.Client) {}

  async set(settings: TransactionSettings): Promise<void> {
    await applySettings(this.client, settings);
  }

  query<Row extends object>(text: string, values: Values = []): Promise<{ readonly rows: Row[] }> {
    return this.client.query<Row>(text, [...values]);
  }

  async alone(text: string): Promise<void> {
    await this.client.query(text);
  }

  async tryLock(key: string, values: Values = []): Promise<boolean> {
    const { rows } = await this.query<{ ours: boolean }>(
      `select pg_try_advisory_lock(${key}) as ours`,
      values,
    );
    return rows[0]!.ours;
  }

  async lock(key: string, values: Values = [], signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    let cancelling: ReturnType<CancelRequests["start"]> | undefined;
    const cancel = () => {
      cancelling ??= cancels.start(this.client);
    };
    signal?.addEventListener("abort", cancel);
    try {
      await this.query(`select pg_advisory_lock(${key})`, values);
    } finally {
      signal?.removeEventListener("abort", cancel);
      // Else what runs next on the connection could be cancelled.
      await cancelling?.end();
      signal?.throwIfAborted();
    }
  }

  async unlock(key: string, values: Values = []): Promise<void> {
    await this.query(`select pg_advisory_unlock(${key})`, values);
  }

  onLost(listener: (error: Error) => void): void {
    this.client.on("error", listener);
    this.client.on("end", () => {
      if (!this.hasEnded) listener(new Error("The connection has ended."));
    });
  }

  cancel(): Promise<void> {
    return cancelOnce(this.client);
  }

  async end(): Promise<void> {
    this.hasEnded = true;
    await this.client.end().catch(() => undefined);
  }
}

export interface PooledWorkOptions {
  readonly keeper: LockKeeper;
  /** Of each transaction, unless they are set otherwise. */
  readonly settings: TransactionSettings;
  /** Opens a connection to the pooler. */
  readonly connect: () => Promise<pg.Client>;
  /** Opens one past it. */
  readonly connectPast: () => Promise<pg.Client>;
  readonly currentServer: () => Promise<string> | string;
}

/** Statements by way of the pooler, each in a transaction of its own, and locks of the keeper's. */
export class PooledWork implements WorkSession, LockHolder {
  private settings: TransactionSettings;
  private client: Promise<pg.Client> | undefined;
  /** Runs a statement past the pooler. */
  private apart: pg.Client | undefined;
  private readonly held: (readonly [key: string, values: Values])[] = [];
  private readonly listeners: ((error: Error) => void)[] = [];
  private hasEnded = false;
  /** Why its locks are gone: nothing more is done without them. */
  private lostBy: Error | undefined;
  /** Each cancels a statement that runs, until it has ended. */
  private readonly cancellings = new Set<() => void>();

  constructor(private readonly options: PooledWorkOptions) {
    this.settings = options.settings;
  }

  set(settings: TransactionSettings): Promise<void> {
    this.settings = { ...this.settings, ...settings };
    return Promise.resolve();
  }

  async query<Row extends object>(text: string, values: Values = []): Promise<{ readonly rows: Row[] }> {
    const client = await this.opened();
    const setting = settingStatement(this.settings, await this.options.currentServer());
    this.requireLocks();
    return this.whileLocked(client, () => runSetting<Row>(client, setting, text, values));
  }

  /** Past the pooler: it has no transaction whose settings could bound it. */
  async alone(text: string): Promise<void> {
    const client = await this.options.connectPast();
    this.apart = client;
    try {
      await applySettings(client, this.settings);
      this.requireLocks();
      await this.whileLocked(client, () => client.query(text));
    } finally {
      this.apart = undefined;
      await client.end().catch(() => undefined);
    }
  }

  /** Once its locks are lost it is cancelled until it has ended: it may wait for a session of the pooler, which cancels nothing then. */
  private async whileLocked<T>(client: pg.Client, statement: () => Promise<T>): Promise<T> {
    let cancelling: Cancelling | undefined;
    const cancel = () => {
      cancelling ??= cancels.start(client);
    };
    this.cancellings.add(cancel);
    try {
      return await statement();
    } finally {
      this.cancellings.delete(cancel);
      await cancelling?.end();
    }
  }

  /** One session has its locks and its statements else, and loses both at once. @throws Failure busy */
  private requireLocks(): void {
    if (this.lostBy) throw this.lostBy;
    if (this.hasEnded) throw connectionLost(new Error("The session has ended."));
  }

  async tryLock(key: string, values: Values = []): Promise<boolean> {
    this.requireLocks();
    if (!(await this.options.keeper.tryLock(this, key, values))) return false;
    await this.note(key, values);
    return true;
  }

  async lock(key: string, values: Values = [], signal?: AbortSignal): Promise<void> {
    this.requireLocks();
    await this.options.keeper.lock(this, key, values, signal);
    await this.note(key, values);
  }

  private async note(key: string, values: Values): Promise<void> {
    this.held.push([key, values]);
    if (this.hasEnded) await this.end();
  }

  async unlock(key: string, values: Values = []): Promise<void> {
    const index = this.held.findIndex(
      ([other, given]) => other === key && JSON.stringify(given) === JSON.stringify(values),
    );
    if (index >= 0) this.held.splice(index, 1);
    await this.options.keeper.unlock(this, key, values);
  }

  onLost(listener: (error: Error) => void): void {
    this.listeners.push(listener);
  }

  lost(error: Error): void {
    // It may have had none.
    if (this.held.length > 0) {
      this.lostBy = error;
      for (const cancel of this.cancellings) cancel();
    }
    this.held.length = 0;
    for (const listener of this.listeners) listener(error);
  }

  async cancel(): Promise<void> {
    const clients = [await this.client?.catch(() => undefined), this.apart];
    await Promise.all(clients.map((client) => client && cancelOnce(client)));
  }

  async end(): Promise<void> {
    this.hasEnded = true;
    const { keeper } = this.options;
    for (const [key, values] of this.held.splice(0)) await keeper.unlock(this, key, values);
    keeper.leave(this);
    await (await this.client?.catch(() => undefined))?.end().catch(() => undefined);
  }

  /** A connection that is lost is replaced: it holds nothing. */
  private opened(): Promise<pg.Client> {
    if (this.client) return this.client;
    const opening = this.options.connect();
    this.client = opening;
    const forget = () => {
      if (this.client === opening) this.client = undefined;
    };
    opening.then((client) => {
      client.once("end", forget);
      client.on("error", forget);
    }, forget);
    return opening;
  }
}
