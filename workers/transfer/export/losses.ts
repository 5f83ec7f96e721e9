/** What a format cannot hold, as a sentence. */
export type Loss = (count: number) => string;

/** Counts what a format cannot hold while objects are written, for the notes. */
export class Losses {
  private readonly counts = new Map<Loss, number>();

  /** @param loss the same function each time that it happens */
  add(loss: Loss): void {
    this.counts.set(loss, (this.counts.get(loss) ?? 0) + 1);
  }

  /** In the order of their first occurrence. */
  notes(): string[] {
    return [...this.counts].map(([loss, count]) => loss(count));
  }
}

/** A loss whose sentence differs for one and for several; `#` is their number. */
export const lossOf =
  (one: string, several: string, before = ""): Loss =>
  (count) =>
    before + (count === 1 ? one : several).replace("#", String(count));

export const lossOfColumn = (column: string, one: string, several: string): Loss =>
  lossOf(one, several, `Column "${column}": `);
