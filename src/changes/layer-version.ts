import { boxesMeet } from "../geo/envelope.js";
import type { MercatorBox } from "../geo/tile.js";
import type { Source } from "./count.js";

/** What a node knows of the layers that it serves: their versions and where they changed last. */

/** Boxes in EPSG:3857 metres, four numbers each; empty = nothing that can be drawn; null = the whole layer. */
export type Area = readonly number[] | null;

/** One committed change of a layer. */
export interface LayerChange {
  /** Greater than all before it, and told apart by chance from what another history of the database has in its place. */
  readonly version: number;
  /** The version before it. */
  readonly previous: number;
  readonly area: Area;
}

/** By how much versions of one layer differ at least, on the average; what is below it is chance. */
export const versionStep = 2 ** 20;

/** Changes kept in memory for each layer; a tile older than these is drawn again. */
export const keptChanges = 256;

/** The version of one layer as this node knows it. It never runs ahead of the database. */
export class LayerVersion implements Source {
  changedAt = 0;
  /** In their order, each the one after the other, the last one being `version`. */
  private readonly changes: LayerChange[] = [];

  constructor(
    readonly id: number,
    public version: number,
  ) {}

  /**
   * Takes note of a change. One that leaves a gap counts as a change of the whole layer.
   * @returns the change as it was kept; undefined when it was known
   */
  apply(change: LayerChange): LayerChange | undefined {
    if (change.version <= this.version) return undefined;
    const kept = change.previous === this.version ? change : { ...change, area: null };
    // After a gap the older changes say nothing any more about the versions in between.
    if (kept.area === null) this.changes.length = 0;
    this.changes.push(kept);
    if (this.changes.length > keptChanges) this.changes.shift();
    this.version = kept.version;
    return kept;
  }

  /** Forgets where this change and those before it were. */
  forget(version: number): void {
    while (this.changes.length > 0 && this.changes[0]!.version <= version) this.changes.shift();
  }

  /** Whether any change after `version` touches `box`; true also when that is not known, or `version` is none of the layer's. */
  touchedSince(version: number, box: MercatorBox): boolean {
    if (version === this.version) return false;
    const first = this.changes[0];
    if (first === undefined || version < first.previous) return true;
    for (let index = this.changes.length - 1; index >= 0; index--) {
      const { area, previous } = this.changes[index]!;
      if (area === null || meets(area, box)) return true;
      if (previous === version) return false;
    }
    return true;
  }
}

function meets(area: readonly number[], box: MercatorBox): boolean {
  for (let at = 0; at + 3 < area.length; at += 4) {
    if (boxesMeet([area[at]!, area[at + 1]!, area[at + 2]!, area[at + 3]!], box)) return true;
  }
  return false;
}

/**
 * Whether something drawn when the layers had `versions` still shows them as they are, in `box` (the tile grown
 * by how far symbols reach). When it does, `versions` is brought up to date in place.
 */
export function isCurrent(versions: number[], layers: readonly LayerVersion[], box: MercatorBox): boolean {
  for (let index = 0; index < layers.length; index++) {
    if (layers[index]!.touchedSince(versions[index] ?? 0, box)) return false;
  }
  for (let index = 0; index < layers.length; index++) versions[index] = layers[index]!.version;
  return true;
}
