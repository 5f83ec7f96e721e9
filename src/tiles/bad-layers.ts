import { LRUCache } from "lru-cache";
import type { Clock } from "../clock.js";
import { Overruns } from "../hosts/overruns.js";
import type { MissingCause, MissingLayer } from "./missing-layer.js";
import type { TilePlan } from "./plan.js";

/**
 * Layers that could not be drawn lately, at the zoom where they were tried. For a while they are left out without being
 * tried, so that a layer that stays broken takes no time from others; then one tile tries them. A layer that is to be drawn
 * differently, as after an edit of its style, is tried at once.
 */

interface BadLayer {
  readonly layer: MissingLayer;
  /** The layer and the zoom. */
  readonly name: string;
}

/** Beyond it, what was asked for longest ago is forgotten. A size and no number of entries, so that the cache grows as it is filled. */
const bounds = { maxSize: 1_000, sizeCalculation: () => 1 };
/** Trying what fails at once costs little, and a layer that is well again is to be seen soon. */
export const retryMs = 4_000;

type Drawn = Pick<TilePlan, "layers" | "drawingOf">;

/** A tile that is to be drawn. */
interface Trial {
  /** Layers without objects there: drawing them tells nothing of them. */
  readonly elsewhere: ReadonlySet<number>;
  /** What is tried for the tile, to which is added: it is, too, when the tile is begun again without another layer. */
  readonly admitted: Set<string>;
}

export class BadLayers {
  /** By what is drawn: tiles of other sizes and languages show other drawings of a layer. */
  private readonly known = new LRUCache<string, BadLayer>({
    ...bounds,
    dispose: ({ name }, _, reason) => {
      if (reason !== "set") this.count(name, -1);
    },
  });
  /** How many drawings of a layer at a zoom are known. Naming one takes time, which layers without are spared. */
  private readonly drawings = new Map<string, number>();
  private readonly failures: Overruns;
  private readonly overruns: Overruns;

  constructor(clock: Pick<Clock, "now">) {
    this.failures = new Overruns(clock, { firstMs: retryMs, longestMs: retryMs });
    this.overruns = new Overruns(clock);
  }

  /** All that are known, each once for each cause. */
  get layers(): readonly MissingLayer[] {
    const all = [...this.known.values()].map(({ layer }) => [`${layer.id} ${layer.cause}`, layer] as const);
    return [...new Map(all).values()];
  }

  /** The layers of the plan that are not to be tried now. */
  refused(plan: Drawn, zoom: number, { elsewhere, admitted }: Trial): readonly MissingLayer[] {
    if (this.known.size === 0) return none;
    return this.of(plan, zoom)
      .filter(({ key, layer }) => {
        const times = this.times(layer.cause);
        if (elsewhere.has(layer.id)) return times.refuses(key);
        if (!admitted.has(key) && !times.admits(key)) return true;
        admitted.add(key);
        return false;
      })
      .map(({ layer }) => layer);
  }

  /** The layers of the plan that are known, and are tried now. */
  tried(plan: Drawn, zoom: number): readonly MissingLayer[] {
    return this.of(plan, zoom).map(({ layer }) => layer);
  }

  /**
   * Layers of the plan could not be drawn.
   * @param waited since when, by the clock, if it may have been for others, such as one who holds a lock: the second time in
   *   a row counts
   */
  note(plan: Drawn, zoom: number, layers: readonly MissingLayer[], waited?: number): void {
    for (const layer of layers) {
      const name = nameOf(layer.id, zoom);
      const key = `${name} ${plan.drawingOf(layer.id)}`;
      const times = this.times(layer.cause);
      if (waited === undefined) times.note(key);
      else times.suspect(key, waited);
      if (!this.known.has(key)) this.count(name, 1);
      this.known.set(key, { layer, name });
    }
  }

  /** The plan was drawn with all of its layers, of which those `elsewhere` have no objects there. */
  drawn(plan: Drawn, zoom: number, elsewhere: ReadonlySet<number>): void {
    for (const { key, layer } of this.of(plan, zoom)) {
      if (elsewhere.has(layer.id)) continue;
      const times = this.times(layer.cause);
      times.done(key);
      if (!times.has(key)) this.known.delete(key);
    }
  }

  /** Forgets all, as of a database that was replaced: what could not be drawn there may be drawn here. */
  clear(): void {
    this.known.clear();
    this.failures.clear();
    this.overruns.clear();
  }

  private times(cause: MissingCause): Overruns {
    return cause === "overrun" ? this.overruns : this.failures;
  }

  private count(name: string, more: number): void {
    const count = (this.drawings.get(name) ?? 0) + more;
    if (count > 0) this.drawings.set(name, count);
    else this.drawings.delete(name);
  }

  private of(plan: Drawn, zoom: number): { readonly layer: MissingLayer; readonly key: string }[] {
    if (this.known.size === 0) return [];
    return plan.layers.flatMap(({ id }) => {
      const name = nameOf(id, zoom);
      if (!this.drawings.has(name)) return [];
      const key = `${name} ${plan.drawingOf(id)}`;
      const found = this.known.get(key);
      return found ? [{ layer: found.layer, key }] : [];
    });
  }
}

const none: readonly MissingLayer[] = [];

const nameOf = (id: number, zoom: number): string => `${id} ${zoom}`;
