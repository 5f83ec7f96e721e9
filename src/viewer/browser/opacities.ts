import { type BaseChoice, maxTranslucent } from "./address.js";
import type { LayerTree, TreeItem } from "./layer-tree.js";
import type { TilesShown } from "./tile-source.js";

/** How translucent the layers of the open map are, and the pictures that show them so. */
export class Opacities {
  private readonly byLayer = new Map<number, number>();

  /** @param given as of an address */
  set(given: ReadonlyMap<number, number> | undefined): void {
    this.byLayer.clear();
    for (const [id, opacity] of given ?? []) this.change(id, opacity);
  }

  of(layerId: number): number {
    return this.byLayer.get(layerId) ?? 1;
  }

  /** Whether it may become translucent: only a few layers may at once. */
  mayChange(layerId: number): boolean {
    return this.byLayer.has(layerId) || this.byLayer.size < maxTranslucent;
  }

  change(layerId: number, opacity: number): void {
    if (opacity >= 1) this.byLayer.delete(layerId);
    else if (this.mayChange(layerId)) this.byLayer.set(layerId, Math.max(0, opacity));
  }

  /** The layers that are not opaque, for an address. */
  get changed(): ReadonlyMap<number, number> | undefined {
    return this.byLayer.size > 0 ? this.byLayer : undefined;
  }

  /**
   * What the pictures show, from the lowest: all layers in one, or each translucent layer in one of its own, and those below,
   * between and above in others.
   */
  pictures(tree: LayerTree, base: BaseChoice): readonly (TilesShown & { readonly opacity: number })[] {
    const fromBelow = tree.visible.toReversed();
    const isTranslucent = (layer: TreeItem) => this.of(layer.layerId) < 1;
    if (!fromBelow.some(isTranslucent)) return [{ layers: tree.selection, base, opacity: 1 }];
    const groups: { readonly ids: number[]; readonly opacity: number }[] = [{ ids: [], opacity: 1 }];
    for (const layer of fromBelow) {
      const last = groups.at(-1)!;
      // The lowest one has the base map and the background, whether or not there are layers on it.
      if (isTranslucent(layer)) groups.push({ ids: [layer.layerId], opacity: this.of(layer.layerId) });
      else if (last.opacity === 1) last.ids.push(layer.layerId);
      else groups.push({ ids: [layer.layerId], opacity: 1 });
    }
    return groups.map(({ ids, opacity }, place) => ({
      layers: ids.sort((a, b) => a - b),
      base: place === 0 ? base : "none",
      background: place === 0,
      opacity,
    }));
  }
}
