import { LRUCache } from "lru-cache";
import { type Clock, systemClock } from "../clock.js";
import { busy, type Failure } from "../errors.js";
import { siteOf } from "../queues/clients.js";
import { FairQueue, type Owners } from "../queues/fair-queue.js";

/**
 * Shares the connections of a node by purpose, and those of a purpose among projects and their clients, so that whatever one of
 * them does, from however many addresses, the others find some.
 */

/**
 * - `quick`: the server's own statements: sessions, the catalogue, changes, objects by their keys
 * - `reads`: what a request reads with one statement
 * - `lists`: results that are read through a cursor
 * - `writes`: what a request writes
 * - `background`: writes that take minutes, and what nobody waits for
 */
export const purposes = ["quick", "reads", "lists", "writes", "background"] as const;
export type Purpose = (typeof purposes)[number];

/** Works of the server for many clients, who have turns of their own there: what one of them does must not stop the others. */
export const manyClients = {
  vectorTiles: "vector tiles",
  statistics: "statistics",
  events: "events",
} as const;
const ofMany: ReadonlySet<string> = new Set(Object.values(manyClients));
export const isOfMany = (client: string): boolean => ofMany.has(client);
/** Neither the server itself, nor one of its works for many. */
const isOneClient = (site: string): boolean => site !== "" && !isOfMany(site);

/** For whom a slot is. */
export interface SlotOwner {
  /** "" = the server itself, which may have all slots of a purpose. */
  readonly client: string;
  readonly project: string;
}

export interface SlotWait {
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Longest wait; default: that of the purpose, 5 or 10 s. */
  readonly timeoutMs?: number | undefined;
}

export interface PurposeCounts {
  readonly held: number;
  readonly waiting: number;
  /** Requests that found no slot in time. */
  readonly refused: number;
}

interface Share {
  /** Slots that are kept free for this purpose. */
  readonly least: number;
  readonly most: number;
  /** Slots for tasks of one client that take longer than `slowMs`, or are likely to; undefined = any number. */
  readonly mostSlow: number | undefined;
  /** Clients that had such tasks lately. */
  readonly slowSites: LRUCache<string, true>;
  /** Longest wait for a slot. */
  readonly timeoutMs: number;
  readonly queue: FairQueue<Waiter>;
  readonly holders: Set<Holder>;
  refused: number;
}

interface Holder {
  readonly owners: Owners;
  readonly begun: number;
  /** The queue knows of it. That costs more than all the rest, and is only needed while others wait. */
  isQueued: boolean;
}

interface Waiter {
  readonly admit: (holder: Holder) => void;
  readonly refuse: (reason: unknown) => void;
}

/** Requests of one purpose that may wait. */
const mostWaiting = 1_000;
/** A read that takes longer keeps a core of the database busy. */
const slowMs = 100;
/** A client that had a slow read is likely to have more, which would else begin all at once before any has shown to be slow. */
const slowForMs = 60_000;
const mostSlowSites = 1_000;
/**
 * All clients that are known to be slow may together have so many times what one may: slots, and cores of PostgreSQL, are left to
 * the others however many addresses read slowly.
 */
const slowTogether = 2;
/** Slow clients wait so many times as long, for each other's reads: the quick reads of an office for a slow one there. */
const slowFactor = 6;
/** Each task counts at least this much. */
const leastMs = 1;

const refusals: Record<Purpose, string> = {
  quick: "Too much is being read and written now.",
  reads: "Too much is being read now.",
  lists: "Too many long lists are being read now.",
  writes: "Too much is being written now.",
  background: "Too many long changes are being made now.",
};

/** How many of `total` slots are kept for each purpose, and how many it may have. */
function sharesOf(
  total: number,
): Readonly<Record<Purpose, { readonly least: number; readonly most: number }>> {
  const half = Math.max(1, Math.floor(total / 2));
  const fifth = total < 2 ? 0 : Math.max(1, Math.floor(total / 5));
  const one = total < 8 ? 0 : 1;
  return {
    quick: { least: fifth, most: total },
    reads: { least: total < 4 ? 0 : fifth, most: total },
    lists: { least: one, most: half },
    writes: { least: one, most: half },
    background: { least: one, most: Math.max(1, Math.floor(total / 4)) },
  };
}

/**
 * How many slow statements of one client PostgreSQL works on at once. More would take its cores from others, whatever slots
 * they find.
 * @param cores those that it shares with this process; undefined = it has its own
 */
export const mostSlowOf = (connections: number, cores: number | undefined): number =>
  Math.max(1, Math.min(Math.floor(connections / 4), Math.max(2, cores ?? connections)));

export class ConnectionSlots {
  private readonly shares: ReadonlyMap<Purpose, Share>;
  private free: number;
  private waitingTasks = 0;

  constructor(
    total: number,
    timeoutMs = 5_000,
    private readonly clock: Clock = systemClock,
    mostSlow = mostSlowOf(total, undefined),
  ) {
    this.free = total;
    const shares = sharesOf(total);
    this.shares = new Map(
      purposes.map((purpose) => [
        purpose,
        {
          ...shares[purpose],
          mostSlow: purpose === "reads" ? mostSlow : undefined,
          slowSites: new LRUCache<string, true>({
            ...{ max: mostSlowSites, ttl: slowForMs, ttlResolution: 0, perf: clock },
          }),
          timeoutMs: purpose === "background" ? 2 * timeoutMs : timeoutMs,
          queue: new FairQueue<Waiter>({ mostWaiting }),
          holders: new Set<Holder>(),
          refused: 0,
        },
      ]),
    );
  }

  /** Requests that wait, whatever for. */
  get waiting(): number {
    return this.waitingTasks;
  }

  counts(): Readonly<Record<Purpose, PurposeCounts>> {
    const counts = [...this.shares].map(([purpose, { holders, queue, refused }]) => [
      purpose,
      { held: holders.size, waiting: queue.length, refused },
    ]);
    return Object.fromEntries(counts) as Record<Purpose, PurposeCounts>;
  }

  /** A slot if there is a free one, given back by calling what is returned (once). */
  tryEnter(purpose: Purpose, owner: SlotOwner): (() => void) | undefined {
    const share = this.shares.get(purpose)!;
    const owners = queueOwnersOf(owner);
    return this.mayEnter(share, siteIn(owners), owners[0]!) ? this.enter(share, owners) : undefined;
  }

  /** A slot beyond those that there are, for a task that holds one already and would wait for itself. */
  force(purpose: Purpose, owner: SlotOwner): () => void {
    return this.enter(this.shares.get(purpose)!, queueOwnersOf(owner));
  }

  /**
   * As `tryEnter`, after a wait.
   * @throws Failure busy when too many wait, or none became free in time; the signal's reason when it aborts
   */
  async wait(purpose: Purpose, owner: SlotOwner, { signal, timeoutMs }: SlotWait = {}): Promise<() => void> {
    signal?.throwIfAborted();
    const share = this.shares.get(purpose)!;
    const owners = queueOwnersOf(owner);
    const isSlow = share.slowSites.has(siteIn(owners));
    const longestMs = timeoutMs ?? (isSlow ? slowFactor : 1) * share.timeoutMs;
    const refused = (): Failure => {
      share.refused++;
      return busy(refusals[purpose], Math.ceil(longestMs / 1000));
    };
    let admitted: Holder | undefined;
    this.waitingTasks++;
    try {
      await new Promise<void>((resolve, reject) => {
        const stopWaiting = () => {
          cancel();
          signal?.removeEventListener("abort", abort);
        };
        const waiter: Waiter = {
          admit: (holder) => {
            stopWaiting();
            admitted = holder;
            resolve();
          },
          refuse: (reason) => {
            stopWaiting();
            share.queue.remove(owners, waiter);
            reject(reason);
          },
        };
        const abort = () => waiter.refuse(signal?.reason);
        const cancel = this.clock.after(longestMs, () => waiter.refuse(refused()));
        signal?.addEventListener("abort", abort, { once: true });
        showHolders(share);
        share.queue.add(owners, waiter)?.refuse(refused());
      });
    } finally {
      this.waitingTasks--;
    }
    return () => this.leave(share, admitted!);
  }

  private enter(share: Share, owners: Owners): () => void {
    const holder = this.hold(share, owners, false);
    if (share.queue.length > 0) showHolders(share);
    return () => this.leave(share, holder);
  }

  private hold(share: Share, owners: Owners, isQueued: boolean): Holder {
    const holder: Holder = { owners, begun: this.clock.now(), isQueued };
    share.holders.add(holder);
    this.free--;
    return holder;
  }

  private leave(share: Share, holder: Holder): void {
    const { owners, begun, isQueued } = holder;
    const ms = this.clock.now() - begun;
    share.holders.delete(holder);
    if (share.mostSlow !== undefined && ms > slowMs) share.slowSites.set(siteIn(owners), true);
    if (isQueued) share.queue.leave(owners, Math.max(leastMs, ms));
    this.free++;
    if (this.waitingTasks > 0) this.admitNext();
  }

  private admitNext(): void {
    for (const share of this.shares.values()) {
      while (share.queue.length > 0 && this.available(share) > 0) {
        const next = share.queue.take(always, (site, project) => this.mayEnter(share, site, project));
        if (!next) break;
        // The slot is taken here, so that nobody overtakes the one who waited.
        next.task.admit(this.hold(share, next.owners, true));
      }
    }
  }

  /** The last slot goes to a client that has none, so that others find one while a client has all that it may have. */
  private mayEnter(share: Share, site: string, project: string): boolean {
    const available = this.available(share);
    const { mostSlow } = share;
    if (mostSlow !== undefined && available > 0 && isOneClient(site)) {
      if (this.slow(share, (owners) => siteIn(owners) === site) >= mostSlow) return false;
      if (share.slowSites.has(site) && !this.isRoomForSlow(share, slowTogether * mostSlow, project))
        return false;
    }
    if (available > 1 || site === "") return available > 0;
    return available === 1 && !holds(share, site);
  }

  /** @param most of all clients together */
  private isRoomForSlow(share: Share, most: number, project: string): boolean {
    return (
      this.slow(share, (owners) => isOneClient(siteIn(owners))) < most ||
      // None waits for another project's, which may have begun all at once, before any of them was known to be slow.
      this.slow(share, (owners) => owners[0] === project) === 0
    );
  }

  /** Number of these holders that are slow already, or known to be so. */
  private slow({ holders, slowSites }: Share, counts: (owners: Owners) => boolean): number {
    const before = this.clock.now() - slowMs;
    let count = 0;
    for (const { owners, begun } of holders)
      if (counts(owners) && (begun < before || slowSites.has(siteIn(owners)))) count++;
    return count;
  }

  /** Slots that this purpose may take now: none that are kept for others. */
  private available(share: Share): number {
    let free = this.free;
    for (const other of this.shares.values())
      if (other !== share) free -= Math.max(0, other.least - other.holders.size);
    return Math.min(free, share.most - share.holders.size);
  }
}

export const ownersOf = ({ client, project }: SlotOwner): Owners => [siteOf(client), client, project];

/** A project first: what many clients read of one keeps nobody waiting who reads of another. What is of none is its client's. */
const queueOwnersOf = ({ client, project }: SlotOwner): Owners => {
  const site = siteOf(client);
  return [project === "" ? site : `project ${project}`, site, client];
};
const siteIn = (owners: Owners): string => owners[1]!;
const always = () => true;

function holds({ holders }: Share, site: string): boolean {
  for (const { owners } of holders) if (siteIn(owners) === site) return true;
  return false;
}

/** Tells the queue of those who hold a slot. */
function showHolders({ holders, queue }: Share): void {
  for (const holder of holders) {
    if (holder.isQueued) continue;
    holder.isQueued = true;
    queue.enter(holder.owners);
  }
}
