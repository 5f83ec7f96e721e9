/** Counts what a format cannot hold while objects are written, for the notes. */
export class Losses {
  private readonly counts = new Map<string, number>();

  /** @param sentence with `#` for the number */
  add(sentence: string): void {
    this.counts.set(sentence, (this.counts.get(sentence) ?? 0) + 1);
  }

  /** In the order of their first occurrence. */
  notes(): string[] {
    return [...this.counts].map(([sentence, count]) => sentence.replace("#", String(count)));
  }
}
