import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { Database } from "../storage/postgres.js";
import { briefly, type Redis } from "../storage/redis.js";
import { Acknowledgements } from "./acknowledgements.js";
import { BriefQueries } from "./brief-queries.js";
import type { ChangeCount } from "./count.js";
import { LayerExtents } from "./extents.js";
import {
  claimEpoch,
  type DatabaseHistory,
  historySql,
  type KnownLayer,
  type ReadLayer,
  readLayers,
} from "./history.js";
import type { Area, LayerVersion } from "./layer-version.js";
import { Listener } from "./listener.js";
import { MissedChanges, type ReadToken } from "./missed-changes.js";
import { type CdnState, channel, type Mark, type PurgedVersion, parseNotification } from "./notification.js";
import { Propagation } from "./propagation.js";
import { deleteDroppedNode, dropNode, notify, registerNode, unregisterNode } from "./server-nodes.js";
import { TrackedLayers } from "./tracked-layers.js";
import { UnawaitedChanges } from "./unawaited.js";

/**
 * Keeps a node up to date with committed changes. PostgreSQL delivers notifications of all changes in commit order,
 * whichever client made them. While they do not arrive, every answer is checked against the database. Versions only
 * increase, unless the database was replaced by one with another history: then all known versions are dropped.
 */

/** What the rest of the server uses of the change log. */
export interface Changes {
  /** Whether this node has received all committed changes; if not, every answer has to be checked against the database. */
  readonly trusted: boolean;
  /**
   * Called after a write was committed and before it is answered. Resolves when no node serves the old state any more.
   * @param receipt of the transaction, if its statement returned one; default: everything committed before the call
   * @returns the receipt of a mark that was sent with or after what was committed; undefined when there is none
   */
  propagate(receipt?: string): Promise<string | undefined>;
}

/** Callbacks for changes other than those of layers' objects. */
export interface ChangeListener {
  /** undefined = any project. */
  projectChanged(id: number | undefined): void;
  /** undefined = any map. */
  mapChanged(id: number | undefined): void;
  /** The database was replaced by one with another history: connections to the old one must be closed. */
  historyChanged(): void;
  /** An operator asked to drop cached tiles. */
  purged(): void;
  /** A file was imported into a layer. */
  imported(): void;
  /** Something was announced that the CDN has to be told of. */
  noted?(kind: "layer" | "map" | "project", id: number): void;
  /** The CDN was told of it. */
  cdnPurged?(versions: readonly PurgedVersion[]): void;
  /** A mark of some node was received, and all that was announced before it. */
  marked?(mark: Mark): void;
  /** The CDN was told of all that was announced before these marks of this node, or could not be. */
  cdnTold?(state: CdnState, receipts: readonly string[]): void;
  /** Objects of a layer that the node tracks changed. */
  layerChanged?(layer: LayerVersion, area: Area): void;
}

export interface ChangeLogOptions {
  readonly db: Pick<Database, "query" | "listening">;
  readonly redis: Redis;
  readonly redisPrefix: string;
  /** Unique among all nodes; sessions of `db` have it in their setting `mapwright.node`. */
  readonly nodeId: string;
  readonly count: ChangeCount;
  readonly clock: Clock;
  readonly log: Log;
  /** How long answers may come from caches while nobody can say whether these are current; default: not at all. */
  readonly unprovenSeconds?: number;
  readonly listener: ChangeListener;
}

interface Heartbeat extends DatabaseHistory {
  readonly isReadOnly: boolean;
  /** Process of the server whose session has answered, if it listens. */
  readonly listens: number | null;
}

const heartbeat = `select current_setting('transaction_read_only') = 'on' as "isReadOnly",
    case when '${channel}' in (select pg_listening_channels()) then pg_backend_pid() end as listens, ${historySql}
  from epoch e`;

/** A pooler may have handed out another session. */
class SessionLost extends Error {
  constructor() {
    super("Somebody else has the session that listens to the database.");
  }
}

export class ChangeLog implements Changes {
  private readonly layers: TrackedLayers;
  private readonly listener: Listener;
  private readonly propagation: Propagation;
  private readonly acknowledgements: Acknowledgements;
  private readonly missed: MissedChanges;
  private readonly unawaited: UnawaitedChanges;
  private readonly brief: BriefQueries;
  private readonly extents: LayerExtents;
  /** Called when this node's own registration is announced. */
  private ownJoinReceived = (): void => undefined;
  private mustRegister = true;
  /** Process of the server that sends this node its notifications. */
  private session: number | null = null;
  /** Token of the database's history that all known versions belong to; "" before the first query. */
  epoch = "";

  constructor(private readonly options: ChangeLogOptions) {
    const { clock, count, log, redis, redisPrefix: prefix, nodeId } = options;
    this.layers = new TrackedLayers({
      clock,
      count,
      read: (known) => this.read(known),
      changed: (layer, area) => options.listener.layerChanged?.(layer, area),
    });
    this.extents = new LayerExtents(options.db, () => this.epoch);
    this.brief = new BriefQueries(clock);
    this.missed = new MissedChanges(redis, prefix, log, clock, 1_000 * (options.unprovenSeconds ?? 0));
    this.listener = new Listener({
      connect: () => options.db.listening(),
      clock,
      log,
      opened: () => this.opened(),
      notified: (payload) => this.notified(payload),
      lost: () => this.propagation.disconnected(),
      verify: async () => this.missed.confirm(await this.verify()),
    });
    this.propagation = new Propagation({
      clock,
      sendMark: (receipt, isAgain) => {
        if (isAgain) this.acknowledgements.renew();
        return notify(this.listener, `B ${nodeId}/${receipt}${isAgain ? " again" : ""}`);
      },
      drop: (node) => dropNode(this.listener, node),
      expired: (node) => deleteDroppedNode(this.listener, node),
      changesMissed: () => this.missed.report(),
      ownMarkMissed: () =>
        this.listener.renew("a notification of this node's own transaction did not arrive"),
    });
    this.unawaited = new UnawaitedChanges(clock, () => this.propagate());
    this.acknowledgements = new Acknowledgements({
      redis: briefly(redis),
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

  async start(): Promise<void> {
    await this.acknowledgements.start();
    await this.listener.start();
  }

  /** To be called when the node no longer answers requests. */
  async stop(): Promise<void> {
    await unregisterNode(this.listener, this.options.nodeId).catch(() => undefined);
    this.missed.stop();
    this.unawaited.marked();
    await Promise.all([this.listener.stop(), this.acknowledgements.stop()]);
  }

  propagate(receipt?: string): Promise<string | undefined> {
    return this.propagation.propagate(receipt);
  }

  /** As `MissedChanges.watch`. */
  readonly watchProof = (): (() => number | undefined) => this.missed.watch(() => this.trusted);

  /** The versions of these layers, kept up to date while the caller holds them. Layers that do not exist have version 0. */
  track(ids: readonly number[]): Promise<LayerVersion[]> {
    return this.layers.track(ids);
  }

  /** Finds out where these layers have objects (`LayerVersion.mayBeIn`), as far as that can be known. */
  locate(layers: readonly LayerVersion[]): Promise<void> {
    return this.extents.find(layers);
  }

  /**
   * Reads from the database what changed in these layers.
   * @throws Failure busy when the database cannot be queried and changes may have been missed
   */
  async refresh(layers: readonly LayerVersion[]): Promise<void> {
    if (layers.length === 0) return;
    try {
      await this.askBriefly(() => this.layers.refresh(layers));
    } catch (error) {
      await this.requireNoMissedChanges(error);
    }
  }

  /** Asks the database for what this node could answer without it. @throws Error when that takes long, and nobody is sure of it */
  askBriefly<T>(query: () => Promise<T>): Promise<T> {
    return this.trusted ? query() : this.brief.run(query);
  }

  /**
   * For when the database cannot be queried: cached state may be served if no change was committed that this node missed.
   * @throws Failure busy
   */
  requireNoMissedChanges(cause: unknown): Promise<void> {
    return this.missed.requireNone(cause);
  }

  /** Layers as the database has them now. If its history is another one, all known versions are dropped first. */
  private async read(known: readonly KnownLayer[]): Promise<readonly ReadLayer[]> {
    const { db } = this.options;
    for (;;) {
      const { epoch } = this;
      const { history, layers } = await readLayers(db, known);
      // The history may have been replaced meanwhile, and it is unknown which of the two was read.
      if (this.epoch !== epoch || !(await this.hasKnownHistory(history))) continue;
      // Versions that were dropped meanwhile say nothing about the current history.
      if (layers.some(({ diverged }, index) => diverged && this.layers.has(known[index]!)))
        this.renew(await claimEpoch(db, epoch));
      return layers;
    }
  }

  /** Whether the database still has the known history; if not, all known versions are dropped. */
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

  /** Starts over if the database's history is another one. */
  private adopt(epoch: string): void {
    if (epoch === this.epoch) return;
    const isFirst = this.epoch === "";
    this.epoch = epoch;
    if (isFirst) return;
    this.options.log.warn("the database has another history: all cached state is dropped");
    this.layers.clear();
    this.allChanged();
    this.options.listener.historyChanged();
  }

  private allChanged(): void {
    this.options.count.changedAll();
    this.options.listener.projectChanged(undefined);
  }

  private async opened(): Promise<void> {
    this.adopt(await claimEpoch(this.listener));
    this.mustRegister = true;
    this.session = null;
    // Before others wait for this node: a pooler may be away that this connection goes past. What comes after it is heard already.
    await this.layers.refreshAll();
    await this.verify();
    this.allChanged();
  }

  /**
   * Queries the database on the listening connection: all notifications sent before the answer have then arrived.
   * @returns the token of missed changes that was known before the query: the changes that it was replaced for were
   *   committed before, so this node has received them
   */
  private async verify(): Promise<ReadToken> {
    for (;;) {
      if (this.mustRegister) await this.register();
      const { token } = this.missed;
      const [row] = await this.listener.query<Heartbeat>(heartbeat);
      // Another server may take writes now, of which this one hears late or never.
      if (row!.isReadOnly) throw new Error("The database takes no writes.");
      // Its answer says nothing of what the session that listens was told.
      if (row!.listens !== this.session) throw new SessionLost();
      if (row!.replaced || row!.token !== this.epoch) throw new Error("The database has another history.");
      this.missed.refresh();
      if (!this.mustRegister) return token;
    }
  }

  /** Announces this node and learns which other nodes there are. */
  private async register(): Promise<void> {
    const { nodeId } = this.options;
    this.mustRegister = false;
    const received = new Promise<void>((resolve) => {
      this.ownJoinReceived = resolve;
    });
    const { others, backend } = await registerNode(this.listener, nodeId);
    this.session ??= backend;
    if (backend !== this.session) throw new SessionLost();
    await received;
    this.propagation.connected(others);
  }

  private notified(payload: string): void {
    const { nodeId, listener } = this.options;
    const notification = parseNotification(payload);
    switch (notification?.kind) {
      case "layer": {
        const { id, change, mark } = notification;
        listener.noted?.("layer", id);
        this.layers.changed(id, change);
        if (mark) this.received(mark);
        else this.unawaited.noted();
        break;
      }
      case "map":
        this.unawaited.noted();
        listener.noted?.("map", notification.id);
        listener.mapChanged(notification.id);
        break;
      case "project":
        this.unawaited.noted();
        listener.noted?.("project", notification.id);
        listener.projectChanged(notification.id);
        break;
      case "mark":
        this.received(notification.mark);
        break;
      case "joined":
        if (notification.node === nodeId) this.ownJoinReceived();
        else this.propagation.joined(notification.node);
        break;
      case "dropped":
        // The others still wait for this node until its lease expires.
        if (notification.node === nodeId) this.mustRegister = true;
        else this.propagation.dropped(notification.node);
        break;
      case "left":
        this.propagation.left(notification.node);
        break;
      case "acknowledged":
        if (notification.node === nodeId)
          this.propagation.acknowledged(notification.from, notification.receipts);
        break;
      case "purged":
        listener.purged();
        break;
      case "cdn":
        listener.cdnPurged?.(notification.versions);
        break;
      case "told":
        if (notification.node === nodeId) listener.cdnTold?.(notification.state, notification.receipts);
        break;
      case "imported":
        listener.imported();
        break;
      case "damaged":
        this.listener.renew("A notification could not be read.");
        break;
    }
  }

  private received(mark: Mark): void {
    this.unawaited.marked();
    this.options.listener.marked?.(mark);
    if (mark.node === this.options.nodeId) this.propagation.receivedOwn(mark.receipt);
    else this.acknowledgements.send(mark);
  }
}
