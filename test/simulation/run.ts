import { firstPartition, partitionOf } from "./partitions.js";
import { play, running, type Scenario, scenarioOf } from "./scenario.js";
import { shortest } from "./shorten.js";
import type { World } from "./world.js";

/**
 * `node run.js FIRST+COUNT[,FIRST+COUNT …] [found]`: runs the worlds of COUNT seeds, from FIRST. Prints statistics as a
 * line of JSON. Stops at the first failing seed with its violation and exit code 2; without `found` it also prints the
 * shortest list of steps that still fails, with its trace.
 */

export interface Counted {
  readonly seeds: number;
  /** Events of all worlds. */
  readonly events: number;
  /** Of calm worlds: number of rendered metatiles, and of different contents among them. */
  readonly renders: number;
  readonly states: number;
}

/** Exit code of a failed run. */
const failed = 2;
/** Bound on renders per content in calm worlds, where few metatiles have to be rendered twice. */
const maxRendersPerState = 1.1;
/** Fewer states are not significant. */
const minStates = 300;

function report(seed: number, scenario: Scenario, world: World): void {
  console.log(`Seed ${seed}: ${world.violation?.message}`);
  if (foundIsEnough) return;
  const { conditions } = scenario;
  const steps = shortest(scenario.steps, (some) => play({ conditions, steps: some }).violation !== undefined);
  console.log(
    `${JSON.stringify(conditions)}\n${steps.length} of ${scenario.steps.length} steps: ${steps.map(({ what }) => what).join(", ")}`,
  );
  console.log(play({ conditions, steps }).trace.join("\n"));
}

/** The seeds of lists such as `1+100,501+20`. */
const seedsOf = (ranges: string): number[] =>
  ranges.split(",").flatMap((range) => {
    const [first = 0, count = 0] = range.split("+").map(Number);
    return Array.from({ length: count }, (_, index) => first + index);
  });

function playSeeds(seeds: readonly number[]): Counted | undefined {
  let events = 0;
  let renders = 0;
  let states = 0;
  for (const seed of seeds) {
    const scenario = seed < firstPartition ? scenarioOf(seed) : partitionOf(seed);
    const world = play(scenario);
    if (world.violation) {
      report(seed, scenario, world);
      return undefined;
    }
    events += world.scheduler.count;
    if (!scenario.conditions.calm) continue;
    renders += world.renders;
    states += world.contents.size;
    if (states > minStates && renders > maxRendersPerState * states) {
      console.log(`Up to seed ${seed}: ${renders} metatiles were drawn for ${states} states of them.`);
      return undefined;
    }
  }
  return { seeds: seeds.length, events, renders, states };
}

// An unhandled rejection would end a server.
process.on("unhandledRejection", (error: Error) => {
  running?.fail(`unhandled rejection: ${error.stack}`);
});

const [, , ranges, found] = process.argv;
const foundIsEnough = found === "found";
if (ranges !== undefined) {
  // In its own turn: the microtask queue cannot be drained while a module is evaluated.
  setImmediate(() => {
    const counted = playSeeds(seedsOf(ranges));
    if (counted) console.log(JSON.stringify(counted));
    process.exit(counted ? 0 : failed);
  });
}
