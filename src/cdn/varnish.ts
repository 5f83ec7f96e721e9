import { setTimeout as pause } from "node:timers/promises";
import { batches, type PurgeService, send } from "./purge-service.js";

/**
 * Varnish with the module xkey, by config/varnish/mapwright.vcl. What it is fetching while it is told to drop something it keeps
 * for no time. What it has just fetched may not be in its index yet, so it is told twice.
 */

/** Varnish takes headers of up to 8 kB. */
const mostCharacters = 7_000;
/** Far more than it takes to enter an answer into the index. */
const secondMs = 20;

export class Varnish implements PurgeService {
  readonly mostKeys = 20_000;
  readonly repeatMs = 0;

  /** @param url of one instance */
  constructor(private readonly url: string) {}

  purge(keys: readonly string[], signal: AbortSignal): Promise<void> {
    return this.twice("mapwright-keys", keys, signal);
  }

  forget(keys: readonly string[], signal: AbortSignal): Promise<void> {
    return this.twice("mapwright-forgotten", keys, signal);
  }

  async confirm(signal: AbortSignal): Promise<void> {
    await send(this.url, { method: "PURGE", headers: { "mapwright-told": "all" }, signal });
  }

  private async twice(header: string, keys: readonly string[], signal: AbortSignal): Promise<void> {
    await this.send(header, keys, signal);
    await pause(secondMs, undefined, { signal });
    await this.send(header, keys, signal);
  }

  private async send(header: string, keys: readonly string[], signal: AbortSignal): Promise<void> {
    for (const list of batches(keys, { most: Number.POSITIVE_INFINITY, characters: mostCharacters }))
      await send(this.url, { method: "PURGE", headers: { [header]: list.join(" ") }, signal });
  }
}
