import type { Clock } from "../clock.js";
import { leaseMs } from "./listener.js";

/**
 * Waits, after a transaction was committed, until no node answers with what was before it: until each has heard of it, or
 * cannot believe any longer that it is up to date.
 *
 * Which nodes there are is known from the same stream of notifications: a node announces itself before it begins to trust
 * what it remembers, and the database delivers in the order of commits. So whoever hears his own transaction has heard
 * before it of every node that could have remembered anything older.
 */

export interface PropagationOptions {
  readonly clock: Clock;
  /** Puts a mark of this node's into the stream of notifications. @throws Error while the database cannot be reached */
  readonly mark: (receipt: string) => Promise<void>;
  /** Tells all nodes that this one is given up: it has to announce itself again before it trusts what it remembers. */
  readonly drop: (node: string) => Promise<void>;
  /** The node was given up and cannot believe any longer that it is up to date. */
  readonly lapsed: (node: string) => Promise<void>;
  /** Somebody may not have heard: those who cannot ask the database see by this that something was changed. */
  readonly unheard: () => Promise<void>;
  /** This node has not heard its own transaction: it cannot rely on what it hears. */
  readonly deaf: () => void;
}

/** A node that has not answered by then may be gone. */
const patienceMs = 250;
/** Longer than any node trusts what it remembers without proof, with some room for clocks that run at other speeds. */
const lapsedMs = leaseMs * 1.1;
/** Waits that are remembered though nobody has asked about them yet; far more than are under way at any time. */
const mostWaits = 10_000;

interface Wait {
  readonly acknowledgedBy: Set<string>;
  /** Nodes that have not acknowledged it; undefined = this node has not heard it itself. */
  missing: Set<string> | undefined;
  /** End the waits of those who asked. */
  readonly ends: Set<() => void>;
}

export class Propagation {
  /** Other nodes that may trust what they remember. */
  private readonly members = new Set<string>();
  /** Whether those are all: since this node announced itself, for as long as it has heard everything. */
  private complete = false;
  /** Members that were given up and have not announced themselves since, with the number of that giving up. */
  private readonly dropping = new Map<string, number>();
  private drops = 0;
  /** By receipt, in the order in which they were first heard of. */
  private readonly waits = new Map<string, Wait>();
  /** What waits without having been heard here, so that it needs a mark when the connection is made anew. */
  private readonly unheard = new Set<() => void>();
  private marks = 0;
  /** The mark that is set at the end of this turn. */
  private nextMark: string | undefined;

  constructor(private readonly options: PropagationOptions) {}

  /** Other nodes that edits wait for. */
  get size(): number {
    return this.members.size;
  }

  /**
   * Resolves when every node has heard of what was committed before this call, or no longer trusts what it remembers.
   * @param receipt of the transaction; undefined = of any, all of which are then behind a mark of their own
   */
  propagate(receipt?: string): Promise<void> {
    const known = receipt === undefined ? undefined : this.waits.get(receipt);
    if (receipt !== undefined && known && isOver(known)) {
      this.waits.delete(receipt);
      return Promise.resolve();
    }
    return new Promise((resolve) => this.wait(receipt, resolve));
  }

  private wait(receipt: string | undefined, resolve: () => void): void {
    const { clock } = this.options;
    /** What ends this wait when all have heard it: the transaction itself, or a mark behind it. */
    const receipts: string[] = [];
    const expect = (key: string) => {
      receipts.push(key);
      this.waitFor(key).ends.add(end);
    };
    const mark = () => expect(this.sharedMark());
    const nudge = () => {
      const heard = receipts.map((key) => this.waits.get(key)?.missing).find(Boolean);
      if (heard) this.dropAll(heard);
      else mark();
      cancelNudge = clock.after(patienceMs, nudge);
    };
    const giveUp = async () => {
      if (!receipts.some((key) => this.waits.get(key)?.missing)) this.options.deaf();
      await this.options.unheard().catch(() => undefined);
      end();
    };
    const end = () => {
      cancelNudge();
      cancelEnd();
      this.unheard.delete(mark);
      for (const key of receipts) this.forget(key, end);
      resolve();
    };
    let cancelNudge = clock.after(patienceMs, nudge);
    const cancelEnd = clock.after(lapsedMs, () => void giveUp());
    this.unheard.add(mark);
    if (receipt === undefined) mark();
    else expect(receipt);
  }

  /** This node has heard its own mark. */
  heard(receipt: string): void {
    // By what was heard before all others were known nothing can be told of them.
    if (!this.complete) return;
    const wait = this.waitFor(receipt);
    if (wait.missing) return;
    wait.missing = new Set(this.members);
    for (const node of wait.acknowledgedBy) wait.missing.delete(node);
    if (isOver(wait)) endAll(wait);
  }

  /** Another node has. */
  acknowledged(from: string, receipts: readonly string[]): void {
    for (const receipt of receipts) {
      const wait = this.waitFor(receipt);
      wait.acknowledgedBy.add(from);
      wait.missing?.delete(from);
      if (isOver(wait)) endAll(wait);
    }
  }

  /** Another node has announced itself. */
  joined(node: string): void {
    this.members.add(node);
    this.dropping.delete(node);
  }

  /** A node was given up by somebody. It counts until it cannot trust what it remembers any longer. */
  dropped(node: string): void {
    if (!this.members.has(node)) return;
    const drop = ++this.drops;
    this.dropping.set(node, drop);
    this.options.clock.after(lapsedMs, () => void this.lapse(node, drop));
  }

  /** Whoever changes something from now on does not wait for the node: so there is to be word of it before that. */
  private async lapse(node: string, drop: number): Promise<void> {
    const isOver = () => this.dropping.get(node) !== drop;
    if (isOver()) return;
    await this.options.unheard().catch(() => undefined);
    if (isOver()) return;
    this.left(node);
    this.options.lapsed(node).catch(() => undefined);
  }

  /** A node remembers nothing any more. */
  left(node: string): void {
    this.members.delete(node);
    this.dropping.delete(node);
    for (const wait of [...this.waits.values()]) {
      if (wait.missing?.delete(node) && isOver(wait)) endAll(wait);
    }
  }

  /**
   * The stream of notifications begins anew. What was announced while the connection was away is never heard, but
   * behind a mark it is known nevertheless. Nodes that left meanwhile are found out by their silence.
   * @param nodes the others at its beginning; one whose connection is gone may not have noticed it yet
   */
  began(nodes: readonly { readonly id: string; readonly connected: boolean }[]): void {
    this.complete = true;
    this.dropping.clear();
    for (const { id } of nodes) this.joined(id);
    this.dropAll(nodes.filter(({ connected }) => !connected).map(({ id }) => id));
    for (const mark of [...this.unheard]) mark();
  }

  /** One for all that ask in this turn, set at its end: it has to come after what all of them have committed. */
  private sharedMark(): string {
    if (this.nextMark === undefined) {
      const key = `m${++this.marks}`;
      this.nextMark = key;
      void this.options.clock.turn().then(() => {
        this.nextMark = undefined;
        // Without a connection it is tried again when there is one; else the waits end by themselves.
        this.options.mark(key).catch(() => undefined);
      });
    }
    return this.nextMark;
  }

  private forget(receipt: string, end: () => void): void {
    const wait = this.waits.get(receipt);
    if (wait?.ends.delete(end) && wait.ends.size === 0) this.waits.delete(receipt);
  }

  /** The stream of notifications broke off. */
  ended(): void {
    this.complete = false;
    // In another history of the database the same receipts are given out for other transactions.
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
      if (this.waits.size > mostWaits) this.forgetOldest();
    }
    return wait;
  }

  /** Of those that nobody waits for: requests whose connection broke after the commit never ask. */
  private forgetOldest(): void {
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

const isOver = ({ missing }: Wait): boolean => missing?.size === 0;
