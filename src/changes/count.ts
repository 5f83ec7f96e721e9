/**
 * Cache invalidation by a logical clock. A node counts the changes that it receives. A cached answer that was correct at
 * one count is still correct later if none of its sources changed in between, so no cache has to find and drop entries.
 */

/** A source of cached answers: a layer's objects, a map, a project. */
export interface Source {
  /** The count at its last change. */
  changedAt: number;
}

export class ChangeCount {
  /** Increases with every change of any source. */
  now = 0;

  /** A source of all answers: it changes when this node may have missed changes. */
  readonly everything: Source = { changedAt: 0 };

  changed(source: Source): void {
    source.changedAt = ++this.now;
  }

  changedAll(): void {
    this.changed(this.everything);
  }
}

/** Whether no source changed after that count. */
export function unchangedSince(sources: readonly Source[], count: number): boolean {
  for (let index = 0; index < sources.length; index++) {
    if (sources[index]!.changedAt > count) return false;
  }
  return true;
}
