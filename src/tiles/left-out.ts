import { LRUCache } from "lru-cache";
import type { Log } from "../log.js";
import type { MissingCause, MissingLayer } from "./missing-layer.js";
import type { TilePlan } from "./plan.js";

/** Tells the operator of layers that tiles lack: each is counted, and logged once in a while. */

export interface LeftOutOptions {
  readonly log: Log;
  readonly count: (cause: MissingCause) => void;
}

/** For so long a layer is not logged again for the same cause. */
const quietMs = 60_000;
/** Beyond it, what was told longest ago is told again. A size and no number of entries, so that the cache grows as it is filled. */
const bounds = { maxSize: 1_000, sizeCalculation: () => 1 };

export class LeftOut {
  private readonly told = new LRUCache<string, true>({ ...bounds, ttl: quietMs });

  constructor(private readonly options: LeftOutOptions) {}

  /** A tile lacks the layers. */
  note(layers: readonly MissingLayer[], { maps }: Pick<TilePlan, "maps">): void {
    for (const { id, code, cause, reason } of layers) {
      this.options.count(cause);
      const map = maps[0]!.id;
      const key = `${map} ${id} ${cause}`;
      if (this.told.has(key)) continue;
      this.told.set(key, true);
      this.options.log.warn({ err: reason, map, layer: code, cause }, "a layer is left out of tiles");
    }
  }
}
