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

  /** @param urls of all instances */
  constructor(private readonly urls: readonly string[]) {}

  purge(keys: readonly string[], signal: AbortSignal): Promise<void> {
    const lists = batches(keys, { most: Number.POSITIVE_INFINITY, characters: mostCharacters }).map((list) =>
      list.join(" "),
    );
    return this.twice(
      signal,
      lists.map((list) => ({ "mapwright-keys": list })),
    );
  }

  purgeAll(signal: AbortSignal): Promise<void> {
    return this.twice(signal, [{ "mapwright-all": "1" }]);
  }

  private async twice(
    signal: AbortSignal,
    requests: readonly Readonly<Record<string, string>>[],
  ): Promise<void> {
    await this.toEach(signal, requests);
    await pause(secondMs, undefined, { signal });
    await this.toEach(signal, requests);
  }

  private async toEach(
    signal: AbortSignal,
    requests: readonly Readonly<Record<string, string>>[],
  ): Promise<void> {
    await Promise.all(
      this.urls.map(async (url) => {
        for (const headers of requests) await send(url, { method: "PURGE", headers, signal });
      }),
    );
  }
}
