import type { Clock } from "../clock.js";
import { busy } from "../errors.js";
import type { Log } from "../log.js";
import type { Database } from "../storage/postgres.js";
import type { Redis } from "../storage/redis.js";
import { Acknowledgements } from "./acknowledgements.js";
import { ChangeBudget } from "./budget.js";
import type { ChangeCount } from "./count.js";
import {
  claimEpoch,
  type DatabaseHistory,
  historySql,
  type KnownLayer,
  type Reading,
  type ReadLayer,
  readLayers,
} from "./history.js";
import { type LayerChange, LayerVersion } from "./layer-version.js";
import { Listener } from "./listener.js";
import { type Mark, parseNotification } from "./notification.js";
import { Propagation } from "./propagation.js";
import { dropNode, forgetNode, joinNodes, leaveNodes, notify } from "./server-nodes.js";
import { leaveWord, readOrLeaveWord, readWord } from "./unheard.js";
import { WeakById } from "./weak-by-id.js";

/**
 * A node's knowledge of what changed. PostgreSQL's notifications bring it, in the order of commits, whoever made the
 * change; while they do not arrive, every answer is checked against the database. A version is only ever raised, but for
 * a database whose history is another one: then everything that was known is given up.
 */

/** What the rest of the server asks of it. */
export interface Changes {
  /** Whether what is known is all that was committed; while it is not, every answer has to be checked against the database. */
  readonly trusted: boolean;
  /**
   * Called after a write was committed and before its answer is sent: returns when no node answers with what was before.
   * @param receipt of the transaction, where its statement told it; without one, all that was committed before counts
   */
  propagate(receipt?: string): Promise<void>;
}

/** Called when a project, a map or everything (undefined) must be read again. */
export interface CatalogueListener {
  projectChanged(id: number | undefined): void;
  mapChanged(id: number | undefined): void;
  /** The database's history is another one: connections to what was the database before are to be given up. */
  historyChanged(): void;
  /** Drop cached tiles (an operator asked for it). */
  purged(): void;
  /** A file was brought into some layer. */
  imported(): void;
}

export interface ChangeLogOptions {
  readonly db: Pick<Database, "query" | "listening">;
  readonly redis: Redis;
  readonly redisPrefix: string;
  /** Told apart from all others; the sessions of `db` name it in their setting `mapwright.node`. */
  readonly nodeId: string;
  readonly count: ChangeCount;
  readonly clock: Clock;
  readonly log: Log;
  readonly listener: CatalogueListener;
}

/** A reading of the log that has not begun. */
interface NextReading {
  readonly layers: Set<LayerVersion>;
  readonly done: Promise<void>;
}

/** A layer that is being read for the first time. */
interface Loading {
  /** What was announced since. */
  readonly queued: LayerChange[];
  readonly reading: Promise<ReadonlyMap<number, LayerVersion>>;
}

export class ChangeLog implements Changes {
  private layers = new WeakById<LayerVersion>();
  private loading = new Map<number, Loading>();
  private readonly budget = new ChangeBudget();
  /** The reading of the log that runs, or the last one; it may have failed. */
  private reading: Promise<void> = Promise.resolve();
  private nextReading: NextReading | undefined;
  private readonly listener: Listener;
  private readonly propagation: Propagation;
  private readonly acknowledgements: Acknowledgements;
  /** The word that was left in Redis when this node last knew everything. */
  private word: string | null = null;
  /** The last one that was read. */
  private nextWord: string | null = null;
  private heardOwnJoin = (): void => undefined;
  private mustJoin = true;
  /** Token of the history that all versions belong to; "" until the database was asked. */
  epoch = "";

  constructor(private readonly options: ChangeLogOptions) {
    const { clock, log, redis, redisPrefix: prefix, nodeId } = options;
    this.listener = new Listener({
      connect: () => options.db.listening(),
      clock,
      log,
      opened: () => this.opened(),
      notified: (payload) => this.notified(payload),
      lost: () => this.propagation.ended(),
      prove: async () => {
        this.word = await this.prove();
      },
    });
    this.propagation = new Propagation({
      clock,
      mark: (receipt) => notify(this.listener, `B ${nodeId}/${receipt}`),
      drop: (node) => dropNode(this.listener, node),
      lapsed: (node) => forgetNode(this.listener, node),
      unheard: () => leaveWord(redis, prefix),
      deaf: () => this.listener.renew("a transaction of this node was not heard"),
    });
    this.acknowledgements = new Acknowledgements({
      redis,
      prefix,
      nodeId,
      clock,
      log,
      acknowledged: (from, receipts) => this.propagation.acknowledged(from, receipts),
      notify: (node, receipts) => notify(this.listener, `K ${node} ${nodeId} ${receipts.join(" ")}`),
    });
  }

  get trusted(): boolean {
    return this.listener.trusted;
  }

  /** Other nodes that edits wait for. */
  get members(): number {
    return this.propagation.size;
  }

  async start(): Promise<void> {
    await this.acknowledgements.start();
    await this.listener.start();
  }

  /** To be called when the node no longer answers anything. */
  async stop(): Promise<void> {
    await leaveNodes(this.listener, this.options.nodeId).catch(() => undefined);
    await Promise.all([this.listener.stop(), this.acknowledgements.stop()]);
  }

  propagate(receipt?: string): Promise<void> {
    return this.propagation.propagate(receipt);
  }

  /** The versions of these layers, kept up to date for as long as they are held. Layers that do not exist have version 0. */
  async track(ids: readonly number[]): Promise<LayerVersion[]> {
    const found = new Map<number, LayerVersion>();
    const unknown: number[] = [];
    const readings = new Set<Loading["reading"]>();
    for (const id of ids) {
      const known = this.layers.get(id);
      const loading = this.loading.get(id);
      if (known) found.set(id, known);
      else if (loading) readings.add(loading.reading);
      else unknown.push(id);
    }
    if (unknown.length > 0) readings.add(this.load(unknown));
    for (const read of await Promise.all(readings)) {
      for (const [id, layer] of read) found.set(id, layer);
    }
    return ids.map((id) => found.get(id)!);
  }

  /** Reads the layers' versions and recent changes. What is announced meanwhile is applied on top of what was read. */
  private load(ids: readonly number[]): Promise<ReadonlyMap<number, LayerVersion>> {
    const reading = this.readNew(ids).finally(() => {
      for (const id of ids) this.loading.delete(id);
    });
    for (const id of ids) this.loading.set(id, { queued: [], reading });
    return reading;
  }

  private async readNew(ids: readonly number[]): Promise<ReadonlyMap<number, LayerVersion>> {
    const { layers } = await this.read(ids.map((id) => ({ id, version: 0 })));
    const made = new Map<number, LayerVersion>();
    for (const layer of layers) {
      const version = new LayerVersion(layer.id, layer.changes[0]?.previous ?? layer.version);
      this.take(version, layer);
      for (const change of this.loading.get(layer.id)?.queued ?? []) this.apply(version, change);
      this.layers.set(layer.id, version);
      made.set(layer.id, version);
    }
    return made;
  }

  /**
   * Reads what changed in these layers from the database itself. One reading runs at a time; whoever comes meanwhile
   * shares the next one, which begins after the change that brought them here.
   * @throws Failure busy when the database cannot be asked and others may have changed something
   */
  async refresh(layers: readonly LayerVersion[]): Promise<void> {
    if (layers.length === 0) return;
    const next = this.nextReading ?? this.planReading();
    for (const layer of layers) next.layers.add(layer);
    try {
      await next.done;
    } catch (error) {
      await this.requireNothingUnheard(error);
    }
  }

  /**
   * For when the database cannot be asked: what is known may be answered as long as nobody else reaches it either. Those
   * who change something without hearing from this node leave word of that in Redis; without Redis there is no telling.
   * @throws Failure busy
   */
  async requireNothingUnheard(cause: unknown): Promise<void> {
    const { redis, redisPrefix } = this.options;
    let word: string | null;
    try {
      word = await readWord(redis, redisPrefix);
    } catch {
      return;
    }
    if (word === null || word !== this.word) {
      this.options.log.warn({ err: cause }, "others change what this node cannot read");
      throw busy("The database cannot be reached just now.");
    }
  }

  private planReading(): NextReading {
    const layers = new Set<LayerVersion>();
    const turn = () => this.options.clock.turn();
    const read = (): Promise<void> => {
      this.nextReading = undefined;
      this.reading = this.readChanges([...layers]);
      return this.reading;
    };
    // How the one before ends is the matter of those who wait for that.
    const next: NextReading = { layers, done: this.reading.then(turn, turn).then(read) };
    this.nextReading = next;
    return next;
  }

  private async readChanges(layers: readonly LayerVersion[]): Promise<void> {
    const { epoch } = this;
    const reading = await this.read(layers);
    // What belongs to another history than these layers do says nothing about them.
    if (this.epoch !== epoch) return;
    const read = new Map(reading.layers.map((layer) => [layer.id, layer]));
    for (const layer of layers) this.take(layer, read.get(layer.id)!);
  }

  /** Layers as the database has them now. When its history is not the known one, what is known is given up first. */
  private async read(known: readonly KnownLayer[]): Promise<Reading> {
    const { db } = this.options;
    for (;;) {
      const { epoch } = this;
      const reading = await readLayers(db, known);
      // Somebody else may learn of another history meanwhile: which of the two this reading is of cannot be told.
      if (this.epoch !== epoch || !(await this.hasKnownHistory(reading.history))) continue;
      // A version of a history that was given up meanwhile says nothing of this one.
      const isOurs = (layer: KnownLayer) => this.layers.get(layer.id) === layer;
      if (reading.layers.some(({ refuted }, index) => refuted && isOurs(known[index]!)))
        this.renew(await claimEpoch(db, epoch));
      return reading;
    }
  }

  /** Whether the database's history is the known one; when it is not, all that was known is given up. */
  async hasKnownHistory({ token, replaced }: DatabaseHistory): Promise<boolean> {
    if (!replaced && (token === this.epoch || this.epoch === "")) {
      this.epoch = token;
      return true;
    }
    this.renew(replaced ? await claimEpoch(this.options.db) : token);
    return false;
  }

  private renew(epoch: string): void {
    this.adopt(epoch);
    this.listener.renew("the database has another history");
  }

  private take(layer: LayerVersion, { version, changes }: ReadLayer): void {
    for (const change of changes) this.apply(layer, change);
    // Changes that the log has dropped show in the version alone.
    this.apply(layer, { version, previous: Number.NaN, area: null });
  }

  private apply(layer: LayerVersion, change: LayerChange): void {
    const kept = layer.apply(change);
    if (!kept) return;
    this.options.count.changed(layer);
    this.budget.note(layer, kept);
  }

  /** Begins anew when the database's history is another one. */
  private adopt(epoch: string): void {
    if (epoch === this.epoch) return;
    const isFirst = this.epoch === "";
    this.epoch = epoch;
    if (isFirst) return;
    this.options.log.warn("the database has another history: what was remembered of it is given up");
    // Whoever holds one of the old ones holds answers that no longer count.
    this.layers = new WeakById();
    for (const { queued } of this.loading.values()) queued.length = 0;
    this.forgetAll();
    this.options.listener.historyChanged();
  }

  private forgetAll(): void {
    this.options.count.changedAll();
    this.options.listener.projectChanged(undefined);
  }

  private async opened(): Promise<void> {
    this.adopt(await claimEpoch(this.listener));
    this.mustJoin = true;
    // The word is none yet that says that all is known: what was missed is read below.
    await this.prove();
    // What is being read may have been read before this node announced itself: it is read again with the others.
    await Promise.allSettled([...this.loading.values()].map(({ reading }) => reading));
    const layers = [...this.layers.values()];
    if (layers.length > 0) await this.readChanges(layers);
    this.forgetAll();
  }

  /**
   * Asks the database on the listening connection: with its answer all that was announced before has arrived.
   * @returns the word that was known before the question: who left it waited for nobody who has what came before that
   */
  private async prove(): Promise<string | null> {
    const { redis, redisPrefix } = this.options;
    for (;;) {
      if (this.mustJoin) await this.join();
      const word = this.nextWord;
      const [row] = await this.listener.query<DatabaseHistory>(`select ${historySql} from epoch e`);
      if (row!.replaced || row!.token !== this.epoch) throw new Error("The database has another history.");
      // Nobody waits for Redis here, which may hang.
      readOrLeaveWord(redis, redisPrefix).then(
        (read) => {
          this.nextWord = read;
        },
        () => undefined,
      );
      if (!this.mustJoin) return word;
    }
  }

  /** Announces this node, and learns which others there are. */
  private async join(): Promise<void> {
    const { nodeId } = this.options;
    this.mustJoin = false;
    const heard = new Promise<void>((resolve) => {
      this.heardOwnJoin = resolve;
    });
    const others = await joinNodes(this.listener, nodeId);
    await heard;
    this.propagation.began(others);
  }

  private notified(payload: string): void {
    const { nodeId, listener } = this.options;
    const notification = parseNotification(payload);
    switch (notification?.kind) {
      case "layer": {
        const { id, change, mark } = notification;
        const layer = this.layers.get(id);
        if (layer) this.apply(layer, change);
        this.loading.get(id)?.queued.push(change);
        if (mark) this.heard(mark);
        break;
      }
      case "map":
        listener.mapChanged(notification.id);
        break;
      case "project":
        listener.projectChanged(notification.id);
        break;
      case "mark":
        this.heard(notification.mark);
        break;
      case "joined":
        if (notification.node === nodeId) this.heardOwnJoin();
        else this.propagation.joined(notification.node);
        break;
      case "dropped":
        // Until this node has announced itself again, it still counts for those who gave it up.
        if (notification.node === nodeId) this.mustJoin = true;
        else this.propagation.dropped(notification.node);
        break;
      case "left":
        this.propagation.left(notification.node);
        break;
      case "heard":
        if (notification.node === nodeId)
          this.propagation.acknowledged(notification.from, notification.receipts);
        break;
      case "purged":
        listener.purged();
        break;
      case "imported":
        listener.imported();
        break;
    }
  }

  private heard(mark: Mark): void {
    if (mark.node === this.options.nodeId) this.propagation.heard(mark.receipt);
    else this.acknowledgements.send(mark);
  }
}
