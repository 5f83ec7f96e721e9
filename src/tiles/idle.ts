import { setTimeout as sleep } from "node:timers/promises";
import { requireRead } from "../access/rights.js";
import type { CatalogCache } from "../catalog/catalog.js";
import { type Caller, type MapState, publicCaller } from "../catalog/state.js";
import { Failure } from "../errors.js";
import type { Log } from "../log.js";
import type { AddressedTile } from "./address-cache.js";

/** Work on tiles that many ask for, while the render host has nothing else to do. */

export interface IdleOptions {
  /** Tasks of the render host. */
  readonly load: () => { readonly waiting: number; readonly running: number };
  readonly changes: { readonly trusted: boolean };
  readonly log: Log;
}

/** Work of a round: to be ended when `goesOn` is false. */
type Round = (goesOn: () => boolean, signal: AbortSignal) => Promise<void>;

/** Between two rounds. */
const pauseMs = 500;

export class IdleRounds {
  private readonly stopping = new AbortController();
  private readonly ended: Promise<void>;

  /** @param failure told to the log when a round fails */
  constructor(
    private readonly options: IdleOptions,
    private readonly round: Round,
    private readonly failure: string,
  ) {
    this.ended = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.ended;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        if (this.options.changes.trusted && this.goesOn()) await this.round(() => this.goesOn(), signal);
      } catch (error) {
        // A failure, such as of a database that is away, is told to those who ask for the tile.
        if (!signal.aborted && !(error instanceof Failure))
          this.options.log.warn({ err: error }, this.failure);
      }
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private goesOn(): boolean {
    const { waiting, running } = this.options.load();
    return !this.stopping.signal.aborted && waiting === 0 && running === 0;
  }
}

/** The map of a tile as everybody sees it. @throws Failure when nobody may see it any more */
export async function publicAccess(
  catalog: Pick<CatalogCache, "map">,
  { project, map: code }: AddressedTile,
): Promise<{ readonly map: MapState; readonly caller: Caller }> {
  const map = await catalog.map(project, code);
  requireRead(map, publicCaller);
  return { map, caller: publicCaller };
}
