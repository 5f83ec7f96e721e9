import { boxesMeet } from "../geo/envelope.js";
import type { MercatorBox } from "../geo/tile.js";

/** What a node knows of the layers that it serves: their versions and where they changed last. */

/** One committed change of a layer. */
export interface LayerChange {
  readonly version: number;
  /** Boxes in EPSG:3857 metres; empty = nothing that can be drawn; null = the whole layer. */
  readonly boxes: readonly MercatorBox[] | null;
}

/** Changes kept in memory for each layer; a tile older than these is drawn again. */
export const keptChanges = 256;

/** Counts up whenever something changes that a plan depends on. A stamp below zero is never current again. */
export interface Stamp {
  value: number;
}

/** The version of one layer as this node knows it. It never runs ahead of the database. */
export class LayerVersion {
  /** Ascending by version, without gaps, the last one being `version`. */
  private readonly changes: LayerChange[] = [];
  /** Stamps of the plans that draw this layer. */
  readonly stamps = new Set<Stamp>();

  constructor(
    readonly id: number,
    public version: number,
  ) {}

  /** Takes note of a change. One that leaves a gap counts as a change of the whole layer. */
  apply(change: LayerChange): void {
    if (change.version <= this.version) return;
    const boxes = change.version === this.version + 1 ? change.boxes : null;
    // After a gap the older changes say nothing any more about the versions in between.
    if (boxes === null) this.changes.length = 0;
    this.changes.push({ version: change.version, boxes });
    if (this.changes.length > keptChanges) this.changes.shift();
    this.version = change.version;
    for (const stamp of this.stamps) if (stamp.value >= 0) stamp.value++;
  }

  /** Whether any change after `version` touches `box`; true also when that is no longer known. */
  touchedSince(version: number, box: MercatorBox): boolean {
    if (version >= this.version) return false;
    const first = this.changes[0];
    if (first === undefined) return true;
    // A whole-layer change stands first in the list, for it emptied the list.
    if (first.boxes === null ? version < first.version : version + 1 < first.version) return true;
    for (let index = this.changes.length - 1; index >= 0; index--) {
      const change = this.changes[index]!;
      if (change.version <= version) return false;
      if (change.boxes?.some((changed) => boxesMeet(changed, box))) return true;
    }
    return false;
  }
}

/**
 * Whether something drawn when the layers had `versions` still shows them as they are, in `box` (the tile grown
 * by the style's reach). When it does, `versions` is brought up to date in place.
 */
export function isCurrent(versions: number[], layers: readonly LayerVersion[], box: MercatorBox): boolean {
  for (let index = 0; index < layers.length; index++) {
    const layer = layers[index]!;
    const version = versions[index] ?? 0;
    if (version !== layer.version && layer.touchedSince(version, box)) return false;
  }
  for (let index = 0; index < layers.length; index++) {
    versions[index] = Math.max(versions[index] ?? 0, layers[index]!.version);
  }
  return true;
}

/** The numbers of a notification or log row, four by four. */
export function boxesOf(numbers: readonly number[] | null): MercatorBox[] | null {
  if (numbers === null) return null;
  const boxes: MercatorBox[] = [];
  for (let index = 0; index + 3 < numbers.length; index += 4) {
    boxes.push([numbers[index]!, numbers[index + 1]!, numbers[index + 2]!, numbers[index + 3]!]);
  }
  return boxes;
}
