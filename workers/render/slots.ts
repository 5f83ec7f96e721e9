/** For so long after a short task one slot is kept for further short ones. */
const keptMs = 2_000;

interface Waiting {
  readonly isLong: boolean;
  start(): void;
}

/**
 * Lets a number of tasks run at once; the others wait in the order in which they came. While there are short ones, long ones
 * never take all slots.
 */
export class Slots {
  private readonly waiting: Waiting[] = [];
  private running = 0;
  private runningLong = 0;
  private lastShort = Number.NEGATIVE_INFINITY;

  constructor(private readonly slots: number) {}

  async run<T>(work: () => Promise<T>, isLong = false): Promise<T> {
    if (!isLong) this.lastShort = performance.now();
    if (this.waiting.length === 0 && this.mayStart(isLong)) this.begin(isLong);
    else {
      await new Promise<void>((start) => {
        this.waiting.push({ isLong, start });
        // A short task passes long ones for which a slot is not kept.
        this.startWaiting();
      });
    }
    try {
      return await work();
    } finally {
      this.running--;
      if (isLong) this.runningLong--;
      this.startWaiting();
    }
  }

  private startWaiting(): void {
    for (let index = 0; index < this.waiting.length; ) {
      const { isLong, start } = this.waiting[index]!;
      if (this.mayStart(isLong)) {
        this.waiting.splice(index, 1);
        this.begin(isLong);
        start();
      } else index++;
    }
  }

  private mayStart(isLong: boolean): boolean {
    if (this.running >= this.slots) return false;
    const isKept = this.slots > 1 && performance.now() - this.lastShort < keptMs;
    return !isLong || !isKept || this.runningLong < this.slots - 1;
  }

  private begin(isLong: boolean): void {
    this.running++;
    if (isLong) this.runningLong++;
  }
}
