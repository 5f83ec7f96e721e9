import type { CatalogCache } from "../catalog/catalog.js";
import { Failure } from "../errors.js";
import type { AddressCache, AddressedTile } from "./address-cache.js";
import type { TileAnswers } from "./answers.js";
import { type IdleOptions, IdleRounds, publicAccess } from "./idle.js";

/**
 * Draws tiles that many ask for as soon as they are outdated, before anybody waits for them: one at a time, and only while
 * the render host has nothing else to do.
 */

export interface RedrawingOptions extends IdleOptions {
  readonly addresses: Pick<AddressCache<unknown>, "takeOutdated">;
  readonly answers: Pick<TileAnswers<unknown>, "tile">;
  readonly catalog: Pick<CatalogCache, "map">;
}

/** Drawn in one round. */
const most = 16;

export class Redrawing {
  private readonly rounds: IdleRounds;

  constructor(private readonly options: RedrawingOptions) {
    this.rounds = new IdleRounds(
      options,
      async (goesOn, signal) => {
        for (const tile of options.addresses.takeOutdated(most)) {
          if (!goesOn()) return;
          await this.draw(tile, signal);
        }
      },
      "tiles could not be drawn ahead",
    );
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** As everybody sees it. A tile that nobody may see any more is left. */
  private async draw(tile: AddressedTile, signal: AbortSignal): Promise<void> {
    const { answers, catalog } = this.options;
    try {
      await answers.tile({ access: () => publicAccess(catalog, tile), address: tile.address, signal });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
  }
}
