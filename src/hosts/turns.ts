/** Shares a queue among the owners of what waits in it, so that one who sends much does not keep others waiting. */

interface Owned {
  readonly owner: string | undefined;
}

export class Turns {
  /** When each owner had its last turn. Empty when nothing waits. */
  private readonly last = new Map<string | undefined, number>();
  private turn = 0;

  /** Removes what is next: of the owner whose last turn is longest ago, the one that came first. */
  take<Task extends Owned>(queue: Task[]): Task | undefined {
    const lastOf = ({ owner }: Task) => this.last.get(owner) ?? 0;
    const earliest = Math.min(...queue.map(lastOf));
    const index = queue.findIndex((task) => lastOf(task) === earliest);
    const [task] = index < 0 ? [] : queue.splice(index, 1);
    if (queue.length === 0) this.last.clear();
    else if (task) this.last.set(task.owner, ++this.turn);
    return task;
  }
}
