import { setTimeout as sleep } from "node:timers/promises";
import { requireRead } from "../access/rights.js";
import type { CatalogCache } from "../catalog/catalog.js";
import { publicCaller } from "../catalog/state.js";
import { Failure } from "../errors.js";
import type { Log } from "../log.js";
import type { AddressCache, AddressedTile } from "./address-cache.js";
import type { TileAnswers } from "./answers.js";

/**
 * Draws tiles that many ask for as soon as they are outdated, before anybody waits for them: one at a time, and only while
 * the render host has nothing else to do.
 */

export interface RedrawingOptions {
  readonly addresses: Pick<AddressCache<unknown>, "takeOutdated">;
  readonly answers: Pick<TileAnswers<unknown>, "tile">;
  readonly catalog: Pick<CatalogCache, "map">;
  readonly changes: { readonly trusted: boolean };
  /** Tasks of the render host. */
  readonly load: () => { readonly waiting: number; readonly running: number };
  readonly log: Log;
}

/** Between two looks at what is outdated. */
const pauseMs = 500;
/** Drawn after one look. */
const most = 16;

export class Redrawing {
  private readonly stopping = new AbortController();
  private readonly ended: Promise<void>;
  /** Tiles drawn since the start. */
  drawn = 0;

  constructor(private readonly options: RedrawingOptions) {
    this.ended = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.ended;
  }

  private async run(): Promise<void> {
    const { log } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await this.round();
      } catch (error) {
        // Such as a database that is away; whoever asks for the tile is told.
        if (!(error instanceof Failure)) log.warn({ err: error }, "tiles could not be drawn ahead");
      }
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private async round(): Promise<void> {
    const { addresses, changes } = this.options;
    if (!changes.trusted || this.isBusy()) return;
    for (const tile of addresses.takeOutdated(most)) {
      if (this.stopping.signal.aborted || this.isBusy()) return;
      await this.draw(tile);
    }
  }

  private isBusy(): boolean {
    const { waiting, running } = this.options.load();
    return waiting > 0 || running > 0;
  }

  /** As everybody sees it. A tile that nobody may see any more is left. */
  private async draw({ project, map: code, address }: AddressedTile): Promise<void> {
    const { answers, catalog } = this.options;
    const access = async () => {
      const map = await catalog.map(project, code);
      requireRead(map, publicCaller);
      return { map, caller: publicCaller };
    };
    try {
      await answers.tile({ access, address, signal: this.stopping.signal });
      this.drawn++;
    } catch (error) {
      if (!this.stopping.signal.aborted && !(error instanceof Failure)) throw error;
    }
  }
}
