import type { EventEmitter } from "node:events";
import pg from "pg";
import { holding, keptAlive, sessionOptions } from "./session-settings.js";

/** Signs of life on connections that hold something, so that PostgreSQL need not wait for a process that has none. */

const everyMs = 5_000;
/** A server that does not answer within this time is gone. */
const answerMs = 10_000;
/** Longest wait for the end of a connection. */
const endMs = 2_000;

/** What `pg.Client` knows beyond its types. */
interface ClientInternals {
  readonly readyForQuery: boolean;
  /** False after its end. */
  readonly _queryable: boolean;
  readonly connection: EventEmitter & { readonly stream: { destroy(): void } };
}

export const connectionOf = (client: pg.ClientBase) => (client as unknown as ClientInternals).connection;

/** Whether no answer is awaited. */
export function isReady(client: pg.ClientBase): boolean {
  const { readyForQuery, _queryable } = client as unknown as ClientInternals;
  return readyForQuery || !_queryable;
}

/** Closes a connection without a word to the server, which may not answer. */
export const destroy = (client: pg.ClientBase): void => connectionOf(client).stream.destroy();

/**
 * While no statement runs on the connection, lets the server know that this process lives, and closes the connection when the
 * server does not answer.
 * @returns ends it
 */
export function startHeartbeat(client: pg.ClientBase): () => void {
  const beat = () => {
    if (!isReady(client)) return;
    const late = setTimeout(() => destroy(client), answerMs).unref();
    // In a transaction that has failed it fails, too.
    const heard = () => clearTimeout(late);
    client.query("select").then(heard, heard);
  };
  const timer = setInterval(beat, everyMs).unref();
  return () => clearInterval(timer);
}

/** A connection of its own, which may hold locks for long. Its loss is told by what is asked next, and the event `error`. */
export class HoldingClient extends pg.Client {
  private stopHeartbeat = (): void => undefined;

  /** @param settings of the session, besides those that each has; undefined = a pooler's, which has none */
  constructor(url: string, settings: Readonly<Record<string, string | number>> | undefined) {
    super({
      connectionString: url,
      ...(settings && { options: sessionOptions({ ...holding, ...settings }) }),
      application_name: "mapwright",
      connectionTimeoutMillis: 5_000,
      ...keptAlive,
    });
    // Without a listener, the event would end the process.
    this.on("error", () => undefined);
    this.once("end", () => this.stopHeartbeat());
  }

  /** Connects. @throws Error when the server does not answer in time */
  async open(): Promise<this> {
    await this.connect();
    this.stopHeartbeat = startHeartbeat(this);
    return this;
  }

  override async end(): Promise<void> {
    this.stopHeartbeat();
    const late = setTimeout(() => destroy(this), endMs);
    await super.end().finally(() => clearTimeout(late));
  }
}
