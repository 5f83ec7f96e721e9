import { LRUCache } from "lru-cache";
import type { LayerNode } from "../catalog/state.js";
import type { VisualValues } from "../catalog/visual-values.js";
import type { ChangeLog } from "../changes/change-log.js";
import type { LayerVersion } from "../changes/layer-version.js";
import { Failure } from "../errors.js";
import type { Log } from "../log.js";
import type { Database } from "../storage/postgres.js";
import { Semaphore } from "../storage/semaphore.js";
import { answerQuestion, answerWithin } from "./visual-answer.js";
import { questionOf, type VisualQuestion } from "./visual-question.js";

/** What is known of one layer's visualization. */
interface Entry {
  /** The question, and the language that its answer depends on. */
  readonly key: string;
  /** Another one for the same layer is of another history of the database. */
  readonly layer: LayerVersion;
  /** Of the layer when the last computation began. */
  version: number;
  /** The last computation, while it runs; it never rejects. */
  running: Promise<void> | undefined;
  /** The last answer there was. */
  values: VisualValues | undefined;
  /** A computation that failed is not tried again before, on the clock of `performance`. */
  retryAt: number;
}

const keptLayers = 5_000;
/** Computations at once in one node; each holds a connection for up to some seconds. */
const places = 2;
const retryMs = 30_000;

/** Tells what visualizations show of their layers' objects. */
export interface Visuals {
  /** The values of one layer; undefined when there are none. */
  current(layer: LayerNode, main: string): Promise<VisualValues | undefined>;
  /** The values of many layers, of those that are there in time. */
  inTime(
    layers: readonly LayerNode[],
    main: string,
    patienceMs: number,
  ): Promise<ReadonlyMap<number, VisualValues>>;
}

/**
 * What visualizations ask of their layers' objects, remembered until the objects or the settings change. One computation
 * at a time for each layer: those who come while one runs that is too old for them share the next.
 */
export class VisualCache implements Visuals {
  private readonly entries = new LRUCache<number, Entry>({ max: keptLayers });
  private readonly gate = new Semaphore(places, 10_000, "Too many visualizations are being computed now.");

  constructor(
    private readonly db: Database,
    private readonly changes: Pick<ChangeLog, "trusted" | "track" | "refresh">,
    private readonly log: Log,
  ) {}

  /**
   * The values as the layer's objects are now. When they cannot be had (it takes too long), the last ones that were
   * known for these settings; undefined when there are none, or the layer has no visualization that needs any.
   * @param main language whose values of localised columns count
   */
  async current(layer: LayerNode, main: string): Promise<VisualValues | undefined> {
    const question = questionOf(layer);
    if (!question) return undefined;
    const tracked = (await this.changes.track([layer.id]))[0]!;
    if (!this.changes.trusted) await this.changes.refresh([tracked]);
    // What is committed when this is asked counts; later edits may, too.
    const wanted = tracked.version;
    const entry = this.entry(tracked, keyOf(layer, main));
    for (;;) {
      if (entry.running) {
        const recent = entry.version >= wanted;
        await entry.running;
        if (recent) return entry.values;
      } else if (entry.version >= wanted || performance.now() < entry.retryAt) return entry.values;
      else {
        entry.version = tracked.version;
        entry.running = this.compute(entry, layer, question, main);
      }
    }
  }

  /**
   * As `current`, for all of these layers that have a visualization, and in time: those that are not there by then have
   * the last values that were known, or none. What runs goes on for who asks next.
   */
  async inTime(
    layers: readonly LayerNode[],
    main: string,
    patienceMs: number,
  ): Promise<ReadonlyMap<number, VisualValues>> {
    const asked = layers.filter((layer) => layer.visualSettings !== null);
    const values = new Map<number, VisualValues>();
    if (asked.length === 0) return values;
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, patienceMs);
    });
    const late = new Set(asked);
    const note = async (layer: LayerNode) => {
      const found = await this.current(layer, main);
      late.delete(layer);
      if (found) values.set(layer.id, found);
    };
    const all = async () => {
      // In one statement; each finds its own version known afterwards.
      await this.changes.track(asked.map(({ id }) => id));
      await Promise.all(asked.map((layer) => note(layer)));
    };
    const done = all().catch((error: unknown) =>
      this.log.warn({ err: error }, "visualizations could not be computed"),
    );
    await Promise.race([done, patience]);
    clearTimeout(timer);
    for (const layer of late) {
      const last = this.entries.get(layer.id);
      if (last?.values && last.key === keyOf(layer, main)) values.set(layer.id, last.values);
    }
    // A copy: those that come later change nothing in what was given out.
    return new Map(values);
  }

  private entry(layer: LayerVersion, key: string): Entry {
    const known = this.entries.get(layer.id);
    if (known?.key === key && known.layer === layer) return known;
    const entry: Entry = { key, layer, version: -1, running: undefined, values: undefined, retryAt: 0 };
    this.entries.set(layer.id, entry);
    return entry;
  }

  private async compute(
    entry: Entry,
    layer: LayerNode,
    question: VisualQuestion,
    main: string,
  ): Promise<void> {
    try {
      const release = await this.gate.acquire();
      try {
        entry.values = await answerQuestion(this.db, layer, question, { own: main, main });
      } finally {
        release();
      }
    } catch (error) {
      entry.version = -1;
      if (error instanceof Failure) return;
      entry.retryAt = performance.now() + retryMs;
      this.log.warn({ err: error, layer: layer.id }, "a visualization could not be computed");
    } finally {
      entry.running = undefined;
    }
  }
}

const keyOf = (layer: LayerNode, main: string): string => JSON.stringify([questionOf(layer), main]);

/** The values as a transaction sees the objects, computed anew each time. */
export class VisualReader implements Visuals {
  constructor(private readonly db: Pick<Database, "transaction">) {}

  async current(layer: LayerNode, main: string): Promise<VisualValues | undefined> {
    const question = questionOf(layer);
    if (!question) return undefined;
    try {
      return await this.db.transaction((tx) => answerWithin(tx, layer, question, { own: main, main }));
    } catch {
      // Without them the answer is still one, as it is when they take too long.
      return undefined;
    }
  }

  async inTime(layers: readonly LayerNode[], main: string): Promise<ReadonlyMap<number, VisualValues>> {
    const values = new Map<number, VisualValues>();
    for (const layer of layers) {
      const found = await this.current(layer, main);
      if (found) values.set(layer.id, found);
    }
    return values;
  }
}
