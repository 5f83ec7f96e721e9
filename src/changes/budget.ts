import type { LayerChange, LayerVersion } from "./layer-version.js";

/** Numbers of areas that one node remembers, of all its layers together: 8 bytes each, and as much again around them. */
const mostNumbers = 4_000_000;
/** What a change without any box takes beside, in numbers. */
const overhead = 24;

interface Noted {
  readonly layer: WeakRef<LayerVersion>;
  readonly version: number;
  readonly numbers: number;
}

/**
 * Bounds what is remembered of where layers changed. The oldest is forgotten first, whichever layer's it is; tiles that
 * are older than what is left are drawn again.
 */
export class ChangeBudget {
  private noted: Noted[] = [];
  /** Index of the oldest in `noted`; what stands before it is done with. */
  private first = 0;
  private numbers = 0;

  constructor(private readonly most = mostNumbers) {}

  note(layer: LayerVersion, { version, area }: LayerChange): void {
    const numbers = overhead + (area?.length ?? 0);
    this.noted.push({ layer: new WeakRef(layer), version, numbers });
    this.numbers += numbers;
    while (this.numbers > this.most) this.forgetOldest();
  }

  private forgetOldest(): void {
    const { layer, version, numbers } = this.noted[this.first++]!;
    this.numbers -= numbers;
    layer.deref()?.forget(version);
    if (this.first > 1_000 && this.first > this.noted.length / 2) {
      this.noted = this.noted.slice(this.first);
      this.first = 0;
    }
  }
}
