/** Shares a queue among the owners of what waits in it, so that one who sends much does not keep others waiting. */

interface Owned {
  readonly owner: string | undefined;
}

export class Turns {
  /** When each owner had its last turn. Empty when nothing waits. */
  private readonly last = new Map<string | undefined, number>();
  private turn = 0;

  /**
   * Removes what is next: of the owner whose last turn is longest ago, the one that came first.
   * @param mayHaveTurn whether this owner may have a turn now
   * @returns undefined = nobody's turn
   */
  take<Task extends Owned>(
    queue: Task[],
    mayHaveTurn: (owner: string | undefined) => boolean = () => true,
  ): Task | undefined {
    let index = -1;
    let earliest = Number.POSITIVE_INFINITY;
    for (const [at, { owner }] of queue.entries()) {
      const last = this.last.get(owner) ?? 0;
      if (last < earliest && mayHaveTurn(owner)) {
        index = at;
        earliest = last;
      }
    }
    const [task] = index < 0 ? [] : queue.splice(index, 1);
    if (queue.length === 0) this.last.clear();
    else if (task) this.last.set(task.owner, ++this.turn);
    return task;
  }
}
