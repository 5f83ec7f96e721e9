import type pg from "pg";
import type { DatabaseHost } from "../database-hosts.js";
import { destroy } from "./heartbeat.js";

/** All connections of a node that are open, of the pool and beside it, and the server of each. */
export class OpenConnections {
  private readonly hosts = new Map<pg.ClientBase, DatabaseHost>();
  private hasBeenCut = false;

  /** Whether all were closed for good: one that is opened yet is to be closed, too. */
  get isCut(): boolean {
    return this.hasBeenCut;
  }

  add(client: pg.ClientBase, host: DatabaseHost): void {
    this.hosts.set(client, host);
    client.once("end", () => this.hosts.delete(client));
  }

  hostOf(client: pg.ClientBase): DatabaseHost | undefined {
    return this.hosts.get(client);
  }

  /** Without a word to the servers, which may not answer. */
  closeThoseOf(isMeant: (host: DatabaseHost, client: pg.ClientBase) => boolean): void {
    for (const [client, host] of this.hosts) if (isMeant(host, client)) destroy(client);
  }

  cut(): void {
    this.hasBeenCut = true;
    this.closeThoseOf(() => true);
  }
}
