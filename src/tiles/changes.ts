import { randomBytes } from "node:crypto";
import type { Log } from "../log.js";
import type { Database } from "../storage/postgres.js";
import type { Redis } from "../storage/redis.js";
import { Listener } from "./listener.js";
import { Peers } from "./peers.js";
import { boxesOf, keptChanges, type LayerChange, LayerVersion } from "./versions.js";

/**
 * Knowledge of what changed, on this node and the others.
 *
 * Three ways bring it: PostgreSQL's notifications (every committed change, whoever made it), a question to the
 * database after an edit of our own, and word from other nodes about theirs. All three end in the same place,
 * where a version is only ever raised.
 */

/** What a write touched, by ids. */
export interface Touched {
  readonly projects?: readonly number[];
  readonly maps?: readonly number[];
  /** Layers whose objects changed. */
  readonly layers?: readonly number[];
}

export interface Changes {
  /** Whether notifications arrive; while they do not, every answer has to be checked against the database. */
  readonly trusted: boolean;
  /**
   * Called after a write was committed and before its answer is sent: returns when this node, and every other node
   * that can be reached, will not answer with what was before.
   */
  settle(touched: Touched): Promise<void>;
}

/** Called when a project, a map or everything (undefined) must be read again. */
export interface CatalogueListener {
  projectChanged(id: number | undefined): void;
  mapChanged(id: number | undefined): void;
  /** Drop cached tiles (an operator asked for it). */
  purged(): void;
  /** A file was brought into some layer. */
  imported?(): void;
}

export interface ChangeLogOptions {
  readonly db: Database;
  readonly redis: Redis;
  readonly redisPrefix: string;
  readonly log: Log;
  readonly listener: CatalogueListener;
}

/** A reading of the log that has not begun. */
interface Reading {
  readonly layers: Set<LayerVersion>;
  readonly done: Promise<void>;
}

interface ChangeRow {
  layer_id: number;
  version: number;
  area: number[] | null;
}

/** Ends when the sockets that had something to read have been served: edits whose answers came together share a reading. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class ChangeLog implements Changes {
  private readonly layers = new Map<number, LayerVersion>();
  /** Layers that are being read for the first time, with what was told of them since. */
  private readonly arriving = new Map<
    number,
    { readonly told: LayerChange[]; readonly reading: Promise<void> }
  >();
  /** Virtual layers among them by their sources: what touches a source touches them. */
  private readonly derived = new Map<number, Set<number>>();
  /** The reading of the log that runs, or the last one; it may have failed. */
  private reading: Promise<void> = Promise.resolve();
  private nextReading: Reading | undefined;
  private readonly listener: Listener;
  private readonly peers: Peers;

  constructor(private readonly options: ChangeLogOptions) {
    this.listener = new Listener(options.db, options.log, {
      connected: () => this.catchUp(),
      notified: (payload) => this.notified(payload),
    });
    this.peers = new Peers({
      redis: options.redis,
      prefix: options.redisPrefix,
      nodeId: randomBytes(8).toString("hex"),
      log: options.log,
      apply: (touched) => this.apply(touched),
    });
  }

  get trusted(): boolean {
    return this.listener.connected;
  }

  async start(): Promise<void> {
    await Promise.all([this.listener.start(), this.peers.start()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.listener.stop(), this.peers.stop()]);
  }

  /** The versions of these layers, kept up to date from now on. Layers that do not exist have version 0. */
  async track(ids: readonly number[]): Promise<LayerVersion[]> {
    const unknown = ids.filter((id) => !this.layers.has(id) && !this.arriving.has(id));
    if (unknown.length > 0) {
      const reading = this.begin(unknown);
      for (const id of unknown) this.arriving.set(id, { told: [], reading });
    }
    await Promise.all(ids.map((id) => this.arriving.get(id)?.reading));
    return ids.map((id) => this.layers.get(id)!);
  }

  /** Reads the layers' versions and recent changes. What is told meanwhile is applied on top of what was read. */
  private async begin(ids: readonly number[]): Promise<void> {
    try {
      // The log first: a change that comes between the two statements is then seen in the version alone, which
      // counts as a change of the whole layer, and not the other way round.
      const changes = await this.readLog(
        ids,
        ids.map(() => 0),
      );
      const rows = await this.options.db.query<{ id: number; version: number; source_id: number | null }>(
        "select id, version, source_id from layer where id = any($1)",
        [ids],
      );
      const versions = new Map(rows.map((row) => [row.id, row.version]));
      for (const { id, source_id: source } of rows) {
        if (source !== null) this.derived.set(source, (this.derived.get(source) ?? new Set()).add(id));
      }
      for (const id of ids) {
        const own = changes.filter((row) => row.layer_id === id);
        const layer = new LayerVersion(id, own[0] ? own[0].version - 1 : (versions.get(id) ?? 0));
        for (const row of own) layer.apply({ version: row.version, boxes: boxesOf(row.area) });
        layer.apply({ version: versions.get(id) ?? 0, boxes: null });
        for (const change of this.arriving.get(id)?.told ?? []) layer.apply(change);
        this.layers.set(id, layer);
      }
    } finally {
      for (const id of ids) this.arriving.delete(id);
    }
  }

  /**
   * Reads what changed in these layers from the database itself. One reading runs at a time; whoever comes meanwhile
   * shares the next one, which begins after the change that brought them here.
   */
  refresh(layers: readonly LayerVersion[]): Promise<void> {
    if (layers.length === 0) return Promise.resolve();
    const next = this.nextReading ?? this.planReading();
    for (const layer of layers) next.layers.add(layer);
    return next.done;
  }

  private planReading(): Reading {
    const layers = new Set<LayerVersion>();
    const read = (): Promise<void> => {
      this.nextReading = undefined;
      this.reading = this.readChanges([...layers]);
      return this.reading;
    };
    // How the one before ends is the matter of those who wait for that.
    const next: Reading = { layers, done: this.reading.then(turn, turn).then(read) };
    this.nextReading = next;
    return next;
  }

  private async readChanges(layers: readonly LayerVersion[]): Promise<void> {
    const rows = await this.readLog(
      layers.map((layer) => layer.id),
      layers.map((layer) => layer.version),
    );
    for (const row of rows) {
      this.layers.get(row.layer_id)?.apply({ version: row.version, boxes: boxesOf(row.area) });
    }
  }

  async settle(touched: Touched): Promise<void> {
    await Promise.all([this.apply(touched), this.peers.tell(touched)]);
  }

  private async apply(touched: Touched): Promise<void> {
    for (const id of touched.projects ?? []) this.options.listener.projectChanged(id);
    for (const id of touched.maps ?? []) this.options.listener.mapChanged(id);
    // A layer that is being read may have been read before this change: it is asked again when it is there.
    await Promise.allSettled([...this.arriving.values()].map(({ reading }) => reading));
    const reached = (touched.layers ?? []).flatMap((id) => [id, ...(this.derived.get(id) ?? [])]);
    const known = reached.flatMap((id) => this.layers.get(id) ?? []);
    await this.refresh(known);
  }

  /**
   * What the log has of these layers beyond the versions that are known of each: the last changes, as many as are kept.
   * (The limit also holds the planner to the index, which it would leave for all of the log.)
   */
  private readLog(ids: readonly number[], versions: readonly number[]): Promise<ChangeRow[]> {
    return this.options.db.query<ChangeRow>(
      `select c.* from unnest($1::bigint[], $2::bigint[]) known(id, version) cross join lateral (
         select layer_id, version, area from layer_change where layer_id = known.id and version > known.version
         order by version desc limit ${keptChanges}) c order by c.layer_id, c.version`,
      [ids, versions],
      { prepare: true },
    );
  }

  private notified(payload: string): void {
    const [kind, id, version, area] = payload.split(" ");
    if (kind === "L") {
      const change: LayerChange = {
        version: Number(version),
        boxes: area === "*" ? null : boxesOf(area ? area.split(",").map(Number) : []),
      };
      this.layers.get(Number(id))?.apply(change);
      this.arriving.get(Number(id))?.told.push(change);
    } else if (kind === "M") this.options.listener.mapChanged(Number(id));
    else if (kind === "P") this.options.listener.projectChanged(Number(id));
    else if (kind === "C") this.options.listener.purged();
    else if (kind === "S") this.options.listener.imported?.();
  }

  /** After (re)connecting, when notifications arrive again: reads what was missed. */
  private async catchUp(): Promise<void> {
    await Promise.allSettled([...this.arriving.values()].map(({ reading }) => reading));
    const layers = [...this.layers.values()];
    if (layers.length > 0) {
      await this.refresh(layers);
      // Changes that the log has dropped meanwhile show in the version alone.
      const rows = await this.options.db.query<{ id: number; version: number }>(
        "select id, version from layer where id = any($1)",
        [layers.map((layer) => layer.id)],
      );
      for (const row of rows) this.layers.get(row.id)?.apply({ version: row.version, boxes: null });
    }
    this.options.listener.projectChanged(undefined);
  }
}
