import { HostError } from "../hosts/host.js";
import type { BadLayers } from "./bad-layers.js";
import { layerOfStatement } from "./datasource.js";
import { codeOf, type FailedMetatile, layersLeftOut, type MetatileWork } from "./metatile.js";
import { LayersMissing, type MissingCause, type MissingLayer } from "./missing-layer.js";
import type { Plan } from "./plan.js";
import { layersElsewhere } from "./tile-service.js";

/**
 * Finds the layers for which a metatile could not be drawn. PostgreSQL's errors name theirs. Else the layers are drawn one by
 * one: those that fail are to blame, and for what takes too long, those that take longest.
 */

export interface BlameOptions {
  readonly bad: Pick<BadLayers, "note" | "tried">;
  /** Draws the metatile of a plan with one layer. @returns how long that took, in ms @throws as `drawAlone` */
  readonly draw: (work: MetatileWork, deadlineMs: number) => Promise<number>;
  /** How long a metatile may take to draw. */
  readonly deadlineMs: number;
}

/** What the layers of a slow metatile may take together, of its deadline. */
export const shareOfRest = 0.5;

/** What PostgreSQL says of a statement that took too long, perhaps because it waited for a lock. */
const statementTimeout = /statement timeout/;

export class Blame {
  /** By what is drawn: the metatiles of a plan that fail at once have the same cause. */
  private readonly running = new Map<string, Promise<readonly MissingLayer[]>>();

  constructor(private readonly options: BlameOptions) {}

  /**
   * The layers to blame, which are remembered. When each of them can be drawn, none the first time: what was in the way may be
   * over. What was refused for another metatile tells nothing of its layers: it lacks those of that one, or those that are
   * known.
   * @throws Failure busy; the error, when the plan has no layers
   */
  of(failed: FailedMetatile): Promise<readonly MissingLayer[]> {
    const { plan, origin } = failed.work;
    const named = layerOfStatement(failed.error.message);
    if (named !== undefined && plan.layers.some(({ id }) => id === named))
      return Promise.resolve(this.ofStatement(failed, named));
    const keyOf = (isAgain: boolean) => `${plan.key} ${origin.z} ${isAgain}`;
    if (failed.error.isRefused) {
      const other = this.running.get(keyOf(false)) ?? this.running.get(keyOf(true));
      return other ?? Promise.resolve(this.options.bad.tried(plan, origin.z));
    }
    const key = keyOf(failed.isAgain);
    let running = this.running.get(key);
    if (!running) {
      running = this.find(failed).finally(() => this.running.delete(key));
      this.running.set(key, running);
    }
    return running;
  }

  private ofStatement({ work, error, begun }: FailedMetatile, id: number): MissingLayer[] {
    const { plan, origin } = work;
    const isLate = statementTimeout.test(error.message);
    const layers = [missing(plan, id, isLate ? "overrun" : "database", error)];
    this.options.bad.note(plan, origin.z, layers, isLate ? begun : undefined);
    return layers;
  }

  private async find({ work, error, isAgain }: FailedMetatile): Promise<readonly MissingLayer[]> {
    const { plan, origin, count } = work;
    if (plan.layers.length === 0) throw error;
    const elsewhere = layersElsewhere(plan, origin, count);
    const known = this.options.bad.tried(plan, origin.z).filter(({ id }) => !elsewhere.has(id));
    // The one that failed before has been tried again.
    const layers = known.length === 1 ? known : await this.drawEach(work, error, isAgain);
    this.options.bad.note(plan, origin.z, layers);
    return layers;
  }

  /** Draws the layers one by one, as far as the time goes. */
  private async drawEach(
    work: MetatileWork,
    error: HostError,
    isAgain: boolean,
  ): Promise<readonly MissingLayer[]> {
    const { plan, origin, count } = work;
    const { deadlineMs } = this.options;
    const undrawn = layersLeftOut(plan, origin, count);
    const layers = plan.layers.filter(({ id }) => !undrawn.has(id));
    const cause = error.reason === "failed" ? "failure" : "overrun";
    const failed: MissingLayer[] = [];
    const times: { readonly layer: MissingLayer; readonly ms: number }[] = [];
    const until = performance.now() + deadlineMs;
    for (const { id } of layers) {
      const alonePlan = await plan.alone(id);
      const left = until - performance.now();
      if (left <= 0) break;
      // The client that asked for the metatile may have left; others will ask for it.
      const alone = { ...work, plan: alonePlan, signal: new AbortController().signal };
      try {
        times.push({ layer: missing(plan, id, cause, error), ms: await this.options.draw(alone, left / 2) });
      } catch (own) {
        if (own instanceof LayersMissing) failed.push(...own.layers);
        else if (own instanceof HostError) {
          failed.push(missing(plan, id, own.reason === "failed" ? "failure" : "overrun", own));
          // The host that drew the layer was ended, which holds others up: the rest is not tried.
          if (own.reason !== "failed") break;
        } else throw own;
      }
    }
    if (failed.length > 0) return failed;
    if (error.reason !== "deadline" && !isAgain) return [];
    if (cause === "overrun") return slowest(times, shareOfRest * deadlineMs, error.reason === "deadline");
    return layers.map(({ id }) => missing(plan, id, cause, error));
  }
}

/**
 * The slowest layer, and as many more as leave the others no more than `restMs` together.
 * @param mayBeNone whether it is none if all of them take no more
 */
export function slowest(
  times: readonly { readonly layer: MissingLayer; readonly ms: number }[],
  restMs: number,
  mayBeNone: boolean,
): MissingLayer[] {
  let rest = times.reduce((sum, { ms }) => sum + ms, 0);
  const slow: MissingLayer[] = [];
  for (const { layer, ms } of times.toSorted((one, other) => other.ms - one.ms)) {
    if ((mayBeNone || slow.length > 0) && rest <= restMs) break;
    slow.push(layer);
    rest -= ms;
  }
  return slow;
}

const missing = (plan: Plan, id: number, cause: MissingCause, reason: unknown): MissingLayer => ({
  id,
  code: codeOf(plan, id),
  cause,
  reason,
});
