/**
 * A node counts the changes that it hears of. What was found to be right at one count is right at a later one as long as
 * nothing that it was made from changed in between: no entry of any cache has to be found and dropped, and none that is
 * forgotten can go on hearing of nothing.
 */

/** Something that answers are made from: a layer's objects, a map, a project. */
export interface Source {
  /** The count at its last change. */
  changedAt: number;
}

export class ChangeCount {
  /** Goes up with each change of anything. */
  now = 0;

  /** Stands for all that there is: it changes when this node may have missed something. */
  readonly everything: Source = { changedAt: 0 };

  changed(source: Source): void {
    source.changedAt = ++this.now;
  }

  changedAll(): void {
    this.changed(this.everything);
  }
}

/** Whether all of them are as they were at that count. */
export function unchangedSince(sources: readonly Source[], count: number): boolean {
  for (let index = 0; index < sources.length; index++) {
    if (sources[index]!.changedAt > count) return false;
  }
  return true;
}
