import type { CatalogCache } from "../catalog/catalog.js";
import { Failure } from "../errors.js";
import type { PackResponse } from "../hosts/messages.js";
import type { AddressCache, HotAnswer } from "./address-cache.js";
import type { TileAnswers } from "./answers.js";
import { type IdleOptions, IdleRounds, publicAccess } from "./idle.js";

/**
 * Packs tiles that many ask for more closely: one at a time, and only while the render host has nothing else to do, which
 * gives it up when something comes. Pixels and ETag stay the same, so nobody loads a tile again for it.
 */

export interface PackingOptions<Answer> extends IdleOptions {
  readonly addresses: Pick<AddressCache<Answer>, "takeHot" | "drop">;
  readonly answers: Pick<TileAnswers<Answer>, "pack">;
  readonly catalog: Pick<CatalogCache, "map">;
  /** Packs the bytes of a tile. */
  readonly pack: (bytes: Uint8Array, signal: AbortSignal) => Promise<PackResponse>;
}

/** Packed in one round. */
const most = 16;

export class Packing<Answer> {
  private readonly rounds: IdleRounds;
  /** Since the start. */
  readonly counts = { tiles: 0, savedBytes: 0 };

  constructor(private readonly options: PackingOptions<Answer>) {
    this.rounds = new IdleRounds(
      options,
      async (goesOn, signal) => {
        for (let done = 0; done < most && goesOn(); done++) {
          const hot = options.addresses.takeHot();
          if (!hot) return;
          await this.pack(hot, signal);
        }
      },
      "tiles could not be packed",
    );
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  private async pack(hot: HotAnswer<Answer>, signal: AbortSignal): Promise<void> {
    const { addresses, answers, catalog, pack } = this.options;
    try {
      const saved = await answers.pack(
        { access: () => publicAccess(catalog, hot.tile), address: hot.tile.address },
        (bytes) => pack(bytes, signal),
      );
      if (saved === undefined) return;
      // The next request finds the packed tile in memory.
      addresses.drop(hot);
      if (saved === 0) return;
      this.counts.tiles++;
      this.counts.savedBytes += saved;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
  }
}
