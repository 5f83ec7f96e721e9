import type { Clock } from "../clock.js";
import { doneUnheard } from "../errors.js";
import { leaseMs } from "./listener.js";

/**
 * Waits, after a transaction was committed, until no node serves the state before it: until each node has acknowledged
 * the notification, or its lease (`leaseMs`) has expired.
 *
 * Membership comes from the same stream of notifications: a node announces itself before it answers from its caches, and
 * the database delivers in commit order. So when a node receives the notification of its own transaction, it already knows
 * every node that could have cached an older state.
 */

export interface PropagationOptions {
  readonly clock: Clock;
  /**
   * Sends a notification with a mark of this node.
   * @param isAgain not all have acknowledged one before: this one is acknowledged through the database
   * @throws Error while the database cannot be reached
   */
  readonly sendMark: (receipt: string, isAgain: boolean) => Promise<void>;
  /** Announces that a node is dropped: it has to register again before it answers from its caches. */
  readonly drop: (node: string) => Promise<void>;
  /** The lease of a dropped node has expired. */
  readonly expired: (node: string) => Promise<void>;
  /**
   * Some node may not have received a change. Records that for nodes that cannot query the database.
   * @throws Error when it cannot be recorded now
   */
  readonly changesMissed: () => Promise<void>;
  /** This node has not received its own mark: its listening connection does not work. */
  readonly ownMarkMissed: () => void;
}

/** A node that has not acknowledged within this time is asked again, and dropped after as long again. */
const acknowledgementTimeoutMs = 250;
/** By then any node's lease has expired, with a margin for clocks that run at different speeds. */
const expiryMs = leaseMs * 1.1;
/** Between two attempts to record that changes were missed. */
const againMs = 500;
/** After this nobody waits any more to be able to record that, and the write is not answered as done. */
const longestMs = 10_000;
/** Bound on marks that were received but not waited for yet; far more than are in flight at any time. */
const maxWaits = 10_000;

/** The state of one mark. */
interface Wait {
  readonly acknowledgedBy: Set<string>;
  /** Nodes that have not acknowledged it; undefined = this node has not received it itself. */
  missing: Set<string> | undefined;
  /** Callbacks of those that wait for the mark. */
  readonly ends: Set<() => void>;
}

export class Propagation {
  /** Other nodes that may answer from their caches. */
  private readonly members = new Set<string>();
  /** Whether `members` is complete: while this node is registered and connected. */
  private complete = false;
  /** Members that were dropped and have not registered again, with the number of the drop; 0 = not announced yet. */
  private readonly dropping = new Map<string, number>();
  private drops = 0;
  /** By receipt, in the order of the first message about them. */
  private readonly waits = new Map<string, Wait>();
  /** Called after a reconnection: each adds a new mark to an unfinished wait, whose own may have been missed. */
  private readonly remark = new Set<() => void>();
  private marks = 0;
  /** The marks to be sent at the end of this turn of the event loop: that of those who ask for the first time, and again. */
  private readonly nextMarks: (string | undefined)[] = [];

  constructor(private readonly options: PropagationOptions) {}

  /**
   * Resolves when every node has received what was committed before this call, or its lease has expired and it can know that it
   * has missed something.
   * @throws Failure outcome_unknown when some node can neither be told nor warned
   * @param receipt of the transaction; undefined = all transactions, by a mark that is sent after them
   * @returns the receipt of a mark that all have received; undefined when this node has not heard of any
   */
  propagate(receipt?: string): Promise<string | undefined> {
    const known = receipt === undefined ? undefined : this.waits.get(receipt);
    if (receipt !== undefined && known && isComplete(known)) {
      this.waits.delete(receipt);
      return Promise.resolve(receipt);
    }
    return new Promise((resolve, reject) => this.wait(receipt, resolve, reject));
  }

  private wait(
    receipt: string | undefined,
    resolve: (received: string | undefined) => void,
    reject: (error: Error) => void,
  ): void {
    const { clock } = this.options;
    const until = clock.now() + longestMs;
    let hasEnded = false;
    /** Any of these ends the wait: the transaction itself, or a mark after it. */
    const receipts: string[] = [];
    const expect = (key: string) => {
      receipts.push(key);
      this.waitFor(key).ends.add(ended);
    };
    const mark = () => expect(this.sharedMark(false));
    let isAgain = false;
    const retry = () => {
      const missing = receipts.map((key) => this.waits.get(key)?.missing).find(Boolean);
      if (!missing) mark();
      else if (isAgain) this.dropAll(missing);
      else {
        isAgain = true;
        expect(this.sharedMark(true));
      }
      cancelRetry = clock.after(acknowledgementTimeoutMs, retry);
    };
    const giveUp = async () => {
      if (!receipts.some((key) => this.waits.get(key)?.missing)) this.options.ownMarkMissed();
      try {
        await this.options.changesMissed();
        end();
      } catch (error) {
        if (hasEnded) return;
        if (clock.now() < until) cancelGiveUp = clock.after(againMs, () => void giveUp());
        else end(error);
      }
    };
    const end = (error?: unknown) => {
      hasEnded = true;
      cancelRetry();
      cancelGiveUp();
      this.remark.delete(mark);
      const received = receipts.find((key) => this.waits.get(key)?.missing);
      for (const key of receipts) this.removeWait(key, ended);
      if (error === undefined) resolve(received);
      else reject(doneUnheard(error));
    };
    const ended = () => end();
    let cancelRetry = clock.after(acknowledgementTimeoutMs, retry);
    let cancelGiveUp = clock.after(expiryMs, () => void giveUp());
    this.remark.add(mark);
    if (receipt === undefined) mark();
    else expect(receipt);
  }

  /** This node has received its own mark. */
  receivedOwn(receipt: string): void {
    // Before all members are known, it is unknown whose acknowledgements are needed.
    if (!this.complete) return;
    const wait = this.waitFor(receipt);
    if (wait.missing) return;
    wait.missing = new Set(this.members);
    for (const node of wait.acknowledgedBy) wait.missing.delete(node);
    if (isComplete(wait)) endAll(wait);
  }

  /** Another node has received marks of this node. */
  acknowledged(from: string, receipts: readonly string[]): void {
    for (const receipt of receipts) {
      const wait = this.waitFor(receipt);
      wait.acknowledgedBy.add(from);
      wait.missing?.delete(from);
      if (isComplete(wait)) endAll(wait);
    }
  }

  /** Another node has registered. */
  joined(node: string): void {
    this.members.add(node);
    this.dropping.delete(node);
  }

  /** A node was dropped by some node. It remains a member until its lease has expired. */
  dropped(node: string): void {
    if (!this.members.has(node)) return;
    const drop = ++this.drops;
    this.dropping.set(node, drop);
    this.options.clock.after(expiryMs, () => void this.expire(node, drop));
  }

  /**
   * Removes a dropped node. Later writes do not wait for it, so missed changes are recorded before; else it may answer from its
   * caches for as long as it can ask whether there are any.
   */
  private async expire(node: string, drop: number): Promise<void> {
    const hasReturned = () => this.dropping.get(node) !== drop;
    if (hasReturned()) return;
    const isRecorded = await this.options.changesMissed().then(
      () => true,
      () => false,
    );
    if (hasReturned()) return;
    if (!isRecorded) return void this.options.clock.after(againMs, () => void this.expire(node, drop));
    this.left(node);
    this.options.expired(node).catch(() => undefined);
  }

  /** A node no longer answers from its caches. */
  left(node: string): void {
    this.members.delete(node);
    this.dropping.delete(node);
    for (const wait of [...this.waits.values()]) {
      if (wait.missing?.delete(node) && isComplete(wait)) endAll(wait);
    }
  }

  /**
   * The listening connection was opened, and this node is registered. Marks that were sent while it was closed are never
   * received, so unfinished waits get a new mark. Members that left meanwhile are dropped for not acknowledging it.
   * @param nodes the other nodes; those that are not connected may not have noticed yet
   */
  connected(nodes: readonly { readonly id: string; readonly connected: boolean }[]): void {
    this.complete = true;
    this.dropping.clear();
    for (const { id } of nodes) this.joined(id);
    this.dropAll(nodes.filter(({ connected }) => !connected).map(({ id }) => id));
    for (const mark of [...this.remark]) mark();
  }

  /** One mark for all waits of this turn of the event loop, sent at its end: after the commits of all of them. */
  private sharedMark(isAgain: boolean): string {
    const { nextMarks } = this;
    const kind = isAgain ? 1 : 0;
    const known = nextMarks[kind];
    if (known !== undefined) return known;
    const key = `m${++this.marks}`;
    nextMarks[kind] = key;
    void this.options.clock.turn().then(() => {
      nextMarks[kind] = undefined;
      // If this fails, it is retried after a reconnection; otherwise the waits time out.
      this.options.sendMark(key, isAgain).catch(() => undefined);
    });
    return key;
  }

  private removeWait(receipt: string, end: () => void): void {
    const wait = this.waits.get(receipt);
    if (wait?.ends.delete(end) && wait.ends.size === 0) this.waits.delete(receipt);
  }

  /** The listening connection was lost. */
  disconnected(): void {
    this.complete = false;
    // In another history of the database other transactions get the same receipts.
    for (const [key, { ends }] of this.waits) if (ends.size === 0) this.waits.delete(key);
  }

  private dropAll(nodes: Iterable<string>): void {
    for (const node of nodes) {
      if (this.dropping.has(node)) continue;
      this.dropping.set(node, 0);
      this.options.drop(node).catch(() => {
        if (this.dropping.get(node) === 0) this.dropping.delete(node);
      });
    }
  }

  private waitFor(receipt: string): Wait {
    let wait = this.waits.get(receipt);
    if (!wait) {
      wait = { acknowledgedBy: new Set(), missing: undefined, ends: new Set() };
      this.waits.set(receipt, wait);
      if (this.waits.size > maxWaits) this.removeOldest();
    }
    return wait;
  }

  /** Removes the oldest entry without a waiter: requests whose connection broke after the commit never wait. */
  private removeOldest(): void {
    for (const [key, wait] of this.waits) {
      if (wait.ends.size > 0) continue;
      this.waits.delete(key);
      return;
    }
  }
}

function endAll(wait: Wait): void {
  for (const end of [...wait.ends]) end();
}

const isComplete = ({ missing }: Wait): boolean => missing?.size === 0;
