/**
 * What waits, shared among its owners, so that who brings much, or what takes long, keeps nobody else waiting.
 *
 * Tasks name their owners from the outermost to the innermost: `["p7", "203.0.113.9"]` shares among projects, and what a
 * project gets among its clients. All tasks of a queue name as many. The next task is that of the owner who holds the
 * fewest slots, among those of whom has used the least, and so on inwards; of one owner the task that came first.
 *
 * `fair-semaphore.ts` and `fair-mutex.ts` hand out slots by it. Used by itself:
 *
 * ```
 * const refused = queue.add(owners, task);  // if defined, this task (not always the new one) must be refused
 * const next = queue.take();                // its owners hold one slot more
 * queue.leave(next.owners, milliseconds);   // its slot is free; what it used counts for its owners
 * ```
 *
 * (Start-time fair queueing: P. Goyal, H. M. Vin, H. Cheng, 1996; for owners in owners: J. C. R. Bennett, H. Zhang, 1996.)
 */

export type Owners = readonly string[];

export interface FairQueueOptions {
  /** Tasks that may wait in all; absent = any number. */
  readonly mostWaiting?: number;
  /** Tasks of an outermost owner that may wait; absent = any number. */
  readonly mostOfOwner?: number;
  /** Share of an owner, beside 1 of others; absent = all have the same. Above 0, and always the same for an owner. */
  readonly weightOf?: (owner: string) => number;
}

/** Whether an owner may hold another slot. */
export type MayEnter = (owner: string) => boolean;
/** The same of an owner within the outermost one. */
export type MayEnterWithin = (owner: string, outermost: string) => boolean;
const always = (): boolean => true;

export interface Waiting<Task> {
  readonly owners: Owners;
  readonly task: Task;
}

/** Owners without tasks whose use is remembered at each level: more of them come only from a flood of made-up owners. */
const mostIdle = 1_000;

interface Share<Task> {
  readonly weight: number;
  /** Cost of what its tasks did, by weight, from the same start for all owners of the same level. */
  used: number;
  /** Slots that its tasks hold. */
  held: number;
  /** Number of its tasks that wait. */
  waiting: number;
  /** Innermost owners: their tasks in the order in which they came. */
  readonly tasks: Waiting<Task>[];
  /** The owners within. */
  readonly shares: Map<string, Share<Task>>;
  /** What an owner within who always had tasks has used by now: who comes starts from here, without credit. */
  reached: number;
  /** Weight of those within who have tasks. */
  active: number;
}

export class FairQueue<Task> {
  private readonly root: Share<Task> = newShare(1, 0);

  constructor(private readonly options: FairQueueOptions = {}) {}

  /** Number of tasks that wait. */
  get length(): number {
    return this.root.waiting;
  }

  /** Slots that tasks of this outermost owner hold. */
  heldBy(owner: string): number {
    return this.root.shares.get(owner)?.held ?? 0;
  }

  /**
   * Lets the task wait.
   * @returns the task that does not wait (any more), if there are too many: the last of the owner who has most waiting. That
   *   may be another's than the new one's, so that an owner who fills the queue is the only one who is refused.
   */
  add(owners: Owners, task: Task): Task | undefined {
    const { mostWaiting = Number.POSITIVE_INFINITY, mostOfOwner = Number.POSITIVE_INFINITY } = this.options;
    const ofOwner = this.root.shares.get(owners[0]!)?.waiting ?? 0;
    if (ofOwner >= mostOfOwner) return task;
    let displaced: Waiting<Task> | undefined;
    if (this.length >= mostWaiting) {
      displaced = this.lastOfLongest(owners);
      if (!displaced) return task;
      this.remove(displaced.owners, displaced.task);
    }
    const path = this.pathOf(owners);
    update(path, (share) => share.waiting++);
    path.at(-1)!.tasks.push({ owners, task });
    return displaced?.task;
  }

  /** Takes a task out that need not wait any longer. @returns whether it was there */
  remove(owners: Owners, task: Task): boolean {
    const path = this.knownPath(owners);
    const tasks = path?.at(-1)?.tasks;
    const index = tasks?.findIndex((waiting) => waiting.task === task) ?? -1;
    if (!path || index < 0) return false;
    tasks!.splice(index, 1);
    update(path, (share) => share.waiting--);
    return true;
  }

  /** Counts a slot for a task that did not have to wait. */
  enter(owners: Owners): void {
    update(this.pathOf(owners), (share) => share.held++);
  }

  /**
   * Removes the next task; from now on its owners hold one slot more.
   * @param mayEnter whether the outermost owner may hold another slot
   * @param mayWithin the same of the owners within
   * @returns undefined = no task that may enter
   */
  take(mayEnter: MayEnter = always, mayWithin: MayEnterWithin = always): Waiting<Task> | undefined {
    const path = [this.root];
    let outermost: string | undefined;
    const may = (owner: string, within: Share<Task>) =>
      (outermost === undefined ? mayEnter(owner) : mayWithin(owner, outermost)) &&
      hasNext(within, outermost ?? owner, mayWithin);
    for (let share = this.root; share.shares.size > 0; ) {
      const next = nextOf(share, may);
      if (!next) return undefined;
      const [owner, within] = next;
      outermost ??= owner;
      share.reached = Math.max(share.reached, within.used);
      path.push(within);
      share = within;
    }
    const waiting = path.at(-1)!.tasks.shift();
    if (!waiting) return undefined;
    update(path, (share) => {
      share.waiting--;
      share.held++;
    });
    return waiting;
  }

  /** A task has left its slot; `cost` of it, such as its milliseconds, counts for its owners. */
  leave(owners: Owners, cost: number): void {
    const path = this.pathOf(owners);
    if (this.length === 0) {
      // Nobody waits: what was used need not be shared.
      update(path, (share) => share.held--);
      forgetUse(this.root);
      return;
    }
    for (const [depth, share] of path.entries()) {
      const outer = path[depth - 1];
      if (!outer) continue;
      share.used += cost / share.weight;
      // Else owners who come anew, without end, would keep those waiting for ever who have used something.
      outer.reached += cost / Math.max(outer.active, 1);
    }
    update(path, (share) => share.held--);
  }

  /** All tasks that wait, owner by owner. */
  *[Symbol.iterator](): Generator<Waiting<Task>> {
    yield* tasksOf(this.root);
  }

  /** The last task of the owner with most; undefined = that owner is, or would be, the one who brings another. */
  private lastOfLongest(owners: Owners): Waiting<Task> | undefined {
    let share = this.root;
    let joins = true;
    for (const owner of owners) {
      const own = joins ? share.shares.get(owner) : undefined;
      let most = joins ? ((own?.waiting ?? 0) + 1) / (own?.weight ?? this.weight(owner)) : 0;
      let longest = own;
      for (const other of share.shares.values()) {
        const length = other.waiting / other.weight;
        if (length <= most || other === own) continue;
        most = length;
        longest = other;
        joins = false;
      }
      if (!longest) return undefined;
      share = longest;
    }
    return joins ? undefined : share.tasks.at(-1);
  }

  private knownPath(owners: Owners): Share<Task>[] | undefined {
    const path = [this.root];
    for (const owner of owners) {
      const share = path.at(-1)!.shares.get(owner);
      if (!share) return undefined;
      path.push(share);
    }
    return path;
  }

  /** The shares of the owners, from that of all. */
  private pathOf(owners: Owners): Share<Task>[] {
    const path = [this.root];
    for (const owner of owners) {
      const outer = path.at(-1)!;
      let share = outer.shares.get(owner);
      if (!share) {
        if (outer.shares.size >= mostIdle) dropIdle(outer);
        share = newShare(this.weight(owner), outer.reached);
        outer.shares.set(owner, share);
      }
      path.push(share);
    }
    return path;
  }

  private weight(owner: string): number {
    return this.options.weightOf?.(owner) ?? 1;
  }
}

function newShare<Task>(weight: number, used: number): Share<Task> {
  return { weight, used, held: 0, waiting: 0, tasks: [], shares: new Map(), reached: 0, active: 0 };
}

const isActive = ({ held, waiting }: Share<unknown>): boolean => held > 0 || waiting > 0;

/** Changes the counts of shares, each within the one before it. */
function update<Task>(path: readonly Share<Task>[], change: (share: Share<Task>) => void): void {
  for (const [depth, share] of path.entries()) {
    const wasActive = isActive(share);
    const outer = path[depth - 1];
    // An owner gets no credit for time without tasks.
    if (outer && share.waiting === 0) share.used = Math.max(share.used, outer.reached);
    change(share);
    if (outer && isActive(share) !== wasActive) outer.active += wasActive ? -share.weight : share.weight;
  }
}

/** The owner within whose turn it is. Forgets those who have used no more than one who comes now. */
function nextOf<Task>(
  outer: Share<Task>,
  may: (owner: string, share: Share<Task>) => boolean,
): readonly [owner: string, share: Share<Task>] | undefined {
  let next: readonly [owner: string, share: Share<Task>] | undefined;
  for (const entry of outer.shares) {
    const [owner, share] = entry;
    if (share.waiting === 0) {
      if (share.held === 0 && share.used <= outer.reached) outer.shares.delete(owner);
    } else if ((!next || isBefore(share, next[1])) && may(owner, share)) next = entry;
  }
  return next;
}

/** Whether the owner has a task, of an owner within, that may enter. */
function hasNext({ shares }: Share<unknown>, outermost: string, mayWithin: MayEnterWithin): boolean {
  if (mayWithin === always || shares.size === 0) return true;
  for (const [owner, share] of shares)
    if (share.waiting > 0 && mayWithin(owner, outermost) && hasNext(share, outermost, mayWithin)) return true;
  return false;
}

function isBefore<Task>(one: Share<Task>, other: Share<Task>): boolean {
  const difference = one.held / one.weight - other.held / other.weight;
  return difference === 0 ? one.used < other.used : difference < 0;
}

function dropIdle({ shares }: Share<unknown>): void {
  for (const [owner, share] of shares) if (!isActive(share)) shares.delete(owner);
}

function forgetUse(outer: Share<unknown>): void {
  dropIdle(outer);
  for (const share of outer.shares.values()) {
    share.used = outer.reached;
    forgetUse(share);
  }
}

function* tasksOf<Task>({ tasks, shares }: Share<Task>): Generator<Waiting<Task>> {
  yield* tasks;
  for (const share of shares.values()) yield* tasksOf(share);
}
