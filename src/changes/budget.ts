import type { LayerChange, LayerVersion } from "./layer-version.js";

/** Coordinates of changed areas that one node keeps for all its layers: 8 bytes each, and as much again of overhead. */
const maxNumbers = 4_000_000;
/** Size of a change without any box, in numbers. */
const overhead = 24;

interface Entry {
  readonly layer: WeakRef<LayerVersion>;
  readonly version: number;
  readonly numbers: number;
}

/**
 * Bounds the memory for changed areas of all layers. The oldest change of any layer is dropped first; tiles older than the
 * changes that are left are rendered again.
 */
export class ChangeBudget {
  private entries: Entry[] = [];
  /** Index of the oldest entry; those before it are dropped. */
  private first = 0;
  private numbers = 0;

  constructor(private readonly max = maxNumbers) {}

  note(layer: LayerVersion, { version, area }: LayerChange): void {
    const numbers = overhead + (area?.length ?? 0);
    this.entries.push({ layer: new WeakRef(layer), version, numbers });
    this.numbers += numbers;
    while (this.numbers > this.max) this.dropOldest();
  }

  private dropOldest(): void {
    const { layer, version, numbers } = this.entries[this.first++]!;
    this.numbers -= numbers;
    layer.deref()?.forget(version);
    if (this.first > 1_000 && this.first > this.entries.length / 2) {
      this.entries = this.entries.slice(this.first);
      this.first = 0;
    }
  }
}
