import { boxesMeet } from "../geo/envelope.js";
import type { MercatorBox } from "../geo/tile.js";
import type { Source } from "./count.js";

/** Versions of layers, and the areas of their recent changes. */

/** Boxes [xmin, ymin, xmax, ymax, …] in EPSG:3857 metres; empty = nothing visible changed; null = the whole layer. */
export type Area = readonly number[] | null;

/** One committed change of a layer. */
export interface LayerChange {
  /** Greater than all before it; its low bits are random, so that it differs from versions in another history. */
  readonly version: number;
  /** The version before it. */
  readonly previous: number;
  readonly area: Area;
}

/** Average difference of two subsequent versions of a layer: version = number of the change × step + random number. */
export const versionStep = 2 ** 20;

/** Changes kept in memory for each layer; a tile older than these is rendered again. */
export const keptChanges = 256;

/** The version of one layer as this node knows it, never ahead of the database. */
export class LayerVersion implements Source {
  changedAt = 0;
  /** Subsequent changes in ascending order; the last one is that of `version`. */
  private readonly changes: LayerChange[] = [];
  /** Contains all objects that the layer has at `version`; null = it has none; undefined = not known. */
  extent: MercatorBox | null | undefined;

  constructor(
    readonly id: number,
    public version: number,
  ) {}

  /**
   * Applies a change. After a gap it counts as a change of the whole layer.
   * @returns the change as it was kept; undefined if it was known already
   */
  apply(change: LayerChange): LayerChange | undefined {
    if (change.version <= this.version) return undefined;
    const kept = change.previous === this.version ? change : { ...change, area: null };
    // The changes before a gap say nothing about the versions in it.
    if (kept.area === null) this.changes.length = 0;
    this.changes.push(kept);
    if (this.changes.length > keptChanges) this.changes.shift();
    this.version = kept.version;
    this.extent = extended(this.extent, kept.area);
    return kept;
  }

  /**
   * Sets what contained all objects in the database some time after it had `version`. It stays unknown if it is not known
   * where the layer has changed since.
   */
  setExtent(extent: MercatorBox | null, version: number): void {
    const since = this.changes.findIndex(({ previous }) => previous === version);
    this.extent = version === this.version || since >= 0 ? extent : undefined;
    if (since < 0) return;
    for (const { area } of this.changes.slice(since)) {
      this.extent = extended(this.extent, area);
    }
  }

  /** Whether the layer may have objects in the box. */
  mayBeIn(box: MercatorBox): boolean {
    return this.extent === undefined || (this.extent !== null && boxesMeet(this.extent, box));
  }

  /** Drops this change and all before it. */
  forget(version: number): void {
    while (this.changes.length > 0 && this.changes[0]!.version <= version) this.changes.shift();
  }

  /** Whether any change after `version` intersects `box`; true also if that is unknown or the layer never had `version`. */
  touchedSince(version: number, box: MercatorBox): boolean {
    if (version === this.version) return false;
    const first = this.changes[0];
    if (first === undefined || version < first.previous) return true;
    for (let index = this.changes.length - 1; index >= 0; index--) {
      const { area, previous } = this.changes[index]!;
      if (area === null || intersects(area, box)) return true;
      if (previous === version) return false;
    }
    return true;
  }
}

/** The extent with the changed area, in which there may be objects now. */
function extended(extent: MercatorBox | null | undefined, area: Area): MercatorBox | null | undefined {
  if (extent === undefined || area === null) return undefined;
  let box = extent;
  for (let at = 0; at + 3 < area.length; at += 4) {
    const [x0, y0, x1, y1] = [area[at]!, area[at + 1]!, area[at + 2]!, area[at + 3]!];
    box = box
      ? [Math.min(box[0], x0), Math.min(box[1], y0), Math.max(box[2], x1), Math.max(box[3], y1)]
      : [x0, y0, x1, y1];
  }
  return box;
}

function intersects(area: readonly number[], box: MercatorBox): boolean {
  for (let at = 0; at + 3 < area.length; at += 4) {
    if (boxesMeet([area[at]!, area[at + 1]!, area[at + 2]!, area[at + 3]!], box)) return true;
  }
  return false;
}

/**
 * Whether a picture of the layers at `versions` is still current in `box` (a tile's box, buffered by the reach of its
 * symbols). If so, it is as good as one of their current versions.
 */
export function isCurrent(
  versions: readonly number[],
  layers: readonly LayerVersion[],
  box: MercatorBox,
): boolean {
  for (let index = 0; index < layers.length; index++) {
    if (layers[index]!.touchedSince(versions[index] ?? 0, box)) return false;
  }
  return true;
}
