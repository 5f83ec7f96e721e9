/** Writes that were acknowledged, each by a text that is in no other, and what has to be there at the end. */

export interface Audit {
  readonly acknowledged: number;
  /** Texts that should be there and are not. */
  readonly lost: readonly string[];
  /** Texts that are there more than once. */
  readonly doubled: readonly string[];
  /** Texts whose deletion or replacement was acknowledged, and which are there. */
  readonly undone: readonly string[];
}

export class Ledger {
  /** Texts that are there. */
  private readonly present = new Set<string>();
  private readonly absent = new Set<string>();
  /** Texts of writes that were never acknowledged: they may be there, once. */
  private readonly open = new Set<string>();
  private acknowledged = 0;

  added(texts: Iterable<string>): void {
    this.acknowledged++;
    for (const text of texts) this.present.add(text);
  }

  replaced(before: string, after: string): void {
    this.removed(before);
    this.present.add(after);
  }

  removed(text: string): void {
    this.acknowledged++;
    this.present.delete(text);
    this.absent.add(text);
  }

  /** Nobody knows about these any more. */
  unknown(texts: Iterable<string>): void {
    for (const text of texts) {
      this.present.delete(text);
      this.open.add(text);
    }
  }

  /** @param found all texts that are there, as often as they are */
  audit(found: readonly string[]): Audit {
    const times = new Map<string, number>();
    for (const text of found) times.set(text, (times.get(text) ?? 0) + 1);
    const { acknowledged } = this;
    return {
      acknowledged,
      lost: [...this.present].filter((text) => !times.has(text)),
      doubled: [...times].filter(([, count]) => count > 1).map(([text]) => text),
      // What nobody has sent would be as wrong.
      undone: [...times.keys()].filter(
        (text) => this.absent.has(text) || !(this.present.has(text) || this.open.has(text)),
      ),
    };
  }
}
