import { LRUCache } from "lru-cache";
import type { LayerNode } from "../catalog/state.js";
import type { ChangeLog } from "../changes/change-log.js";
import type { LayerVersion } from "../changes/layer-version.js";
import { Failure } from "../errors.js";
import { inTime } from "../in-time.js";
import type { Log } from "../log.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import type { Database } from "../storage/postgres.js";
import { questionOf } from "../visual/kinds.js";
import type { VisualQuestion } from "../visual/statistics.js";
import type { LatestValues, VisualProject, VisualSource, VisualValues } from "../visual/values.js";
import { answerBest, answerWithin } from "./visual-answer.js";
import {
  compactTally,
  leastTallied as defaultLeastTallied,
  mostTallied as defaultMostTallied,
  dropOldIndexes,
  dropTally,
  makeTally,
  tallyPlan,
} from "./visual-tally.js";

/** Cached values of one layer's visualization. */
interface Entry {
  /** Identifies the question and the language that the values depend on. */
  readonly key: string;
  /** Replaced when the history of the database changes; the entry is then outdated. */
  readonly layer: LayerVersion;
  /** Version of the layer when the last computation began; -1 = none succeeded. */
  version: number;
  /** The computation in progress; it never rejects. */
  running: Promise<void> | undefined;
  /** Result of the last successful computation. */
  values: VisualValues | undefined;
  /** After a failure, no retry before this time (`performance.now()`). */
  retryAt: number;
}

/** As sizes, for which caches grow when they are filled; with `max` they would take all their memory at once. */
const atMostLayers = { maxSize: 5_000, sizeCalculation: () => 1 };
/** Concurrent computations of a project in one node; each holds a connection for up to some seconds. */
const maxConcurrent = 2;
const retryMs = 30_000;

/** Provides the statistics of objects that visualizations show. */
export interface Visuals {
  /** Those of the current objects, or the last known ones; undefined when there are none, or none are needed. */
  current(layer: LayerNode, project: VisualProject): Promise<VisualValues | undefined>;
  /** The values of many layers by layer id, as far as they are available within the timeout. */
  inTime(
    layers: readonly LayerNode[],
    project: VisualProject,
    timeoutMs: number,
  ): Promise<ReadonlyMap<number, VisualValues>>;
  /** The same for an answer: `outdated` is called when values are given, or left out, that are not those of the current objects. */
  noting(outdated: () => void): Visuals;
}

/**
 * Caches the values of visualizations until the objects or the settings change. One computation at a time per layer:
 * calls during a computation that began before their version share the next one.
 */
export class VisualCache implements Visuals, VisualSource {
  private readonly entries = new LRUCache<string, Entry>(atMostLayers);
  /** Layers whose counts are worked on, and their projects. */
  private readonly tended = new Map<number, number>();
  /** Layers whose counts failed lately. */
  private readonly resting = new LRUCache<number, true>({ ...atMostLayers, ttl: retryMs });
  /** Projects take turns, and one leaves a place to others: each computation may take as long as a statement. */
  private readonly gate = new FairSemaphore({
    permits: maxConcurrent + 1,
    kept: 1,
    mostWaiting: 1_000,
    timeoutMs: 10_000,
    refusal: "Too many visualizations are being computed now.",
  });

  constructor(
    private readonly db: Database,
    private readonly changes: Pick<ChangeLog, "trusted" | "track" | "refresh">,
    private readonly log: Log,
    /** Objects from which counts are kept. */
    private readonly leastTallied = defaultLeastTallied,
    /** Of more objects none are made. */
    private readonly mostTallied = defaultMostTallied,
    /** For what nobody waits for. */
    private readonly background: Database = db,
  ) {}

  /**
   * The values for the layer's current objects. If the computation fails or times out, the last known values for these
   * settings; undefined when there are none, or when the layer's visualization needs none.
   */
  async current(layer: LayerNode, project: VisualProject): Promise<VisualValues | undefined> {
    return (await this.latest(layer, project)).values;
  }

  async latest(layer: LayerNode, project: VisualProject, late?: Promise<void>): Promise<LatestValues> {
    const found = this.ofVersion(layer, project);
    const inTime = late ? await Promise.race([found, late]) : await found;
    return inTime ?? { values: this.lastKnown(layer, project), isCurrent: false };
  }

  private lastKnown(layer: LayerNode, project: VisualProject): VisualValues | undefined {
    const key = keyOf(layer, project);
    const last = this.entries.get(placeOf(layer, key));
    return last?.key === key ? last.values : undefined;
  }

  /** Those of the version that the layer has now, or of a later one. */
  private async ofVersion(layer: LayerNode, project: VisualProject): Promise<LatestValues> {
    const question = questionOf(layer);
    if (!question) return { values: undefined, isCurrent: true };
    const tracked = (await this.changes.track([layer.id]))[0]!;
    if (!this.changes.trusted) await this.changes.refresh([tracked]);
    // The values include at least what is committed now.
    const requiredVersion = tracked.version;
    const key = keyOf(layer, project);
    const entry = this.entry(tracked, placeOf(layer, key), key);
    const found = (): LatestValues => ({
      values: entry.values,
      isCurrent: entry.version >= requiredVersion,
    });
    for (;;) {
      if (entry.running) {
        const recent = entry.version >= requiredVersion;
        await entry.running;
        if (recent) return found();
      } else if (entry.version >= requiredVersion || performance.now() < entry.retryAt) return found();
      else {
        entry.version = tracked.version;
        entry.running = this.compute(entry, layer, question, project);
      }
    }
  }

  /**
   * As `current`, for all of these layers that have a visualization. Layers that are not ready within the timeout get their
   * last known values, or none. Their computations continue for later calls.
   */
  async inTime(
    layers: readonly LayerNode[],
    project: VisualProject,
    timeoutMs: number,
    outdated: () => void = () => undefined,
  ): Promise<ReadonlyMap<number, VisualValues>> {
    const requested = layers.filter((layer) => layer.visualSettings !== null);
    const values = new Map<number, VisualValues>();
    if (requested.length === 0) return values;
    const late = new Set(requested);
    const load = async (layer: LayerNode) => {
      const found = await this.latest(layer, project);
      late.delete(layer);
      if (!found.isCurrent) outdated();
      if (found.values) values.set(layer.id, found.values);
    };
    const all = async () => {
      // Tracks all layers in one statement.
      await this.changes.track(requested.map(({ id }) => id));
      await Promise.all(requested.map((layer) => load(layer)));
    };
    const done = all().catch((error: unknown) =>
      this.log.warn({ err: error }, "visualizations could not be computed"),
    );
    await inTime(done, timeoutMs, () => undefined);
    if (late.size > 0) outdated();
    for (const layer of late) {
      const last = this.lastKnown(layer, project);
      if (last) values.set(layer.id, last);
    }
    // A copy, since layers that finish later still write to `values`.
    return new Map(values);
  }

  noting(outdated: () => void): Visuals {
    return {
      current: async (layer, project) => {
        const { values, isCurrent } = await this.latest(layer, project);
        if (!isCurrent) outdated();
        return values;
      },
      inTime: (layers, project, timeoutMs) => this.inTime(layers, project, timeoutMs, outdated),
      noting: (also) =>
        this.noting(() => {
          outdated();
          also();
        }),
    };
  }

  private entry(layer: LayerVersion, place: string, key: string): Entry {
    const known = this.entries.get(place);
    if (known?.key === key && known.layer === layer) return known;
    const entry: Entry = { key, layer, version: -1, running: undefined, values: undefined, retryAt: 0 };
    this.entries.set(place, entry);
    return entry;
  }

  /** By kept counts where there are some; large layers get theirs. */
  private async answer(
    layer: LayerNode,
    question: VisualQuestion,
    project: VisualProject,
  ): Promise<VisualValues> {
    const plan = tallyPlan(layer, question);
    const [main] = project.languages;
    const found = await answerBest(this.db, layer, { question, languages: { own: main, main }, plan });
    const { values, care } = found;
    // Counts that are kept belong to what is saved.
    if (!plan || layer.isTried) return values;
    const objects = values.counts.reduce((sum, count) => sum + count, values.others);
    const isTooLarge = objects > this.mostTallied;
    const isLarge = objects >= this.leastTallied && !isTooLarge;
    // Made anew they would soon be as full again.
    if (care === "renew" && isTooLarge)
      this.tend(layer, project, () => dropTally(this.background, found.tally));
    else if (care === "compact") this.tend(layer, project, () => compactTally(this.background, found.tally));
    else if (care === "renew" || (care === "make" && isLarge))
      this.tend(layer, project, async () => {
        await makeTally(this.background, layer, plan, care === "renew");
        await dropOldIndexes(this.background, layer, plan).catch(() => undefined);
      });
    return values;
  }

  /**
   * Works on the counts of a layer in the background, of one of a project at a time, and after a failure not at once again.
   * Layers that fail leave their turn to others.
   */
  private tend(layer: LayerNode, project: VisualProject, work: () => Promise<void>): void {
    const { id } = layer;
    const isTurn = this.tended.size < maxConcurrent && ![...this.tended.values()].includes(project.id);
    if (!isTurn || this.resting.has(id)) return;
    this.tended.set(id, project.id);
    work()
      .catch((error: unknown) => {
        this.log.info({ err: error, layer: id }, "counts of a visualization could not be kept");
        this.resting.set(id, true);
      })
      .finally(() => this.tended.delete(id));
  }

  private async compute(
    entry: Entry,
    layer: LayerNode,
    question: VisualQuestion,
    project: VisualProject,
  ): Promise<void> {
    try {
      const release = await this.gate.acquire({ owners: [String(project.id)] });
      try {
        entry.values = await this.answer(layer, question, project);
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

/** What is tried takes neither the place of what everybody sees, nor that of what others try. */
const placeOf = ({ id, isTried }: LayerNode, key: string): string => (isTried ? `${id} ${key}` : String(id));

const keyOf = (layer: LayerNode, project: VisualProject): string =>
  JSON.stringify([questionOf(layer), project.languages[0]]);

/** Computes the values within a transaction, without a cache. */
export class VisualReader implements Visuals {
  constructor(private readonly db: Pick<Database, "transaction">) {}

  async current(layer: LayerNode, project: VisualProject): Promise<VisualValues | undefined> {
    const question = questionOf(layer);
    if (!question) return undefined;
    const [main] = project.languages;
    try {
      return await this.db.transaction((tx) => answerWithin(tx, layer, question, { own: main, main }));
    } catch {
      // Callers do without values, as after a timeout.
      return undefined;
    }
  }

  async inTime(
    layers: readonly LayerNode[],
    project: VisualProject,
  ): Promise<ReadonlyMap<number, VisualValues>> {
    const values = new Map<number, VisualValues>();
    for (const layer of layers) {
      const found = await this.current(layer, project);
      if (found) values.set(layer.id, found);
    }
    return values;
  }

  /** Nobody keeps the answers of writes. */
  noting(): Visuals {
    return this;
  }
}
