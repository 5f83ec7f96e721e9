/** For so long after a short task one slot is kept for further short ones. */
const keptMs = 2_000;

/** A task waited for too long, and was not begun. */
export class GivenUp extends Error {}

/** A task that has run for so long gives its slot to others, if there are any, and goes on beside them. */
const longestMs = 1_000;

export interface SlotRequest {
  readonly isLong?: boolean;
  /** Whose task it is. One of them never has more than all slots, with those that were given to others. */
  readonly owner?: string | undefined;
  /** Called when the task has to wait, and when its wait is over. */
  readonly onWait?: (waits: boolean) => void;
}

interface Running {
  readonly isLong: boolean;
  readonly owner: string | undefined;
  readonly begun: number;
  /** It gave its slot to others. */
  hasGiven: boolean;
}

interface Waiting {
  readonly isLong: boolean;
  readonly owner: string | undefined;
  start(running: Running): void;
}

/**
 * Lets a number of tasks run at once; the others wait in the order in which they came. While there are short ones, long ones
 * never take all slots; and tasks of one owner that run for long keep no slot from those of others.
 */
export class Slots {
  private readonly waiting: Waiting[] = [];
  private running = 0;
  private runningLong = 0;
  private lastShort = Number.NEGATIVE_INFINITY;
  private readonly tasks = new Set<Running>();
  private given = 0;
  private looking: NodeJS.Timeout | undefined;

  constructor(
    private readonly slots: number,
    /** Tasks that may go on beside those that have slots. */
    private readonly mostGiven = 0,
    /** A task that has waited for so long is given up, milliseconds; absent = never. */
    private readonly maxWaitMs?: number,
  ) {}

  /** @throws GivenUp; else what `work` throws */
  async run<T>(work: () => Promise<T>, { isLong = false, owner, onWait }: SlotRequest = {}): Promise<T> {
    if (!isLong) this.lastShort = performance.now();
    const task =
      this.waiting.length === 0 && this.mayStart(isLong, owner)
        ? this.begin(isLong, owner)
        : await this.wait(isLong, owner, onWait);
    try {
      return await work();
    } finally {
      this.tasks.delete(task);
      if (task.hasGiven) this.given--;
      else this.giveBack(task);
      this.startWaiting();
    }
  }

  private async wait(
    isLong: boolean,
    owner: string | undefined,
    onWait: SlotRequest["onWait"],
  ): Promise<Running> {
    onWait?.(true);
    const task = await new Promise<Running>((resolve, reject) => {
      const waiting: Waiting = {
        ...{ isLong, owner },
        start: (running) => {
          clearTimeout(timer);
          resolve(running);
        },
      };
      const giveUp = () => {
        this.waiting.splice(this.waiting.indexOf(waiting), 1);
        reject(new GivenUp("It waited for others for too long."));
      };
      const timer = this.maxWaitMs === undefined ? undefined : setTimeout(giveUp, this.maxWaitMs);
      this.waiting.push(waiting);
      // A short task passes long ones for which a slot is not kept.
      this.startWaiting();
    });
    onWait?.(false);
    return task;
  }

  /** Lets those who have run for long give their slots to others who wait. */
  private giveSlots(): void {
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const task of this.tasks) {
      if (this.given >= this.mostGiven) return;
      if (task.hasGiven || !this.waiting.some(({ owner }) => owner !== task.owner)) continue;
      if (now - task.begun < longestMs) next = Math.min(next, task.begun + longestMs);
      else {
        task.hasGiven = true;
        this.given++;
        this.giveBack(task);
        this.startWaiting();
      }
    }
    if (this.looking || next === Number.POSITIVE_INFINITY) return;
    this.looking = setTimeout(
      () => {
        this.looking = undefined;
        this.giveSlots();
      },
      Math.max(1, next - now),
    );
    this.looking.unref();
  }

  private giveBack({ isLong }: Running): void {
    this.running--;
    if (isLong) this.runningLong--;
  }

  private startWaiting(): void {
    for (let index = 0; index < this.waiting.length; ) {
      const { isLong, owner, start } = this.waiting[index]!;
      if (this.mayStart(isLong, owner)) {
        this.waiting.splice(index, 1);
        start(this.begin(isLong, owner));
      } else index++;
    }
    if (this.mostGiven > 0 && this.waiting.length > 0) this.giveSlots();
  }

  private mayStart(isLong: boolean, owner: string | undefined): boolean {
    if (this.running >= this.slots) return false;
    if (this.given > 0 && this.runningOf(owner) >= this.slots) return false;
    const isKept = this.slots > 1 && performance.now() - this.lastShort < keptMs;
    return !isLong || !isKept || this.runningLong < this.slots - 1;
  }

  private runningOf(owner: string | undefined): number {
    let count = 0;
    for (const task of this.tasks) if (task.owner === owner) count++;
    return count;
  }

  private begin(isLong: boolean, owner: string | undefined): Running {
    this.running++;
    if (isLong) this.runningLong++;
    const task: Running = { isLong, owner, begun: performance.now(), hasGiven: false };
    this.tasks.add(task);
    return task;
  }
}
