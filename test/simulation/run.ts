import { play, running, type Scenario, scenarioOf } from "./scenario.js";
import { shortest } from "./shorten.js";
import type { World } from "./world.js";

/**
 * `node run.js FIRST COUNT [found]`: plays the worlds of so many seeds. Prints a line of JSON with what was counted, or of
 * the first failing seed what is wrong, and (without `found`) the shortest list of steps that still fails, with its trace;
 * then the status is 2.
 */

export interface Counted {
  readonly seeds: number;
  /** Events of all worlds. */
  readonly events: number;
  /** Of calm worlds: metatiles that were drawn, and states of them that there were. */
  readonly renders: number;
  readonly states: number;
}

/** Status of a run that found something wrong. */
const wrong = 2;
/** Where nothing is lost, hardly anything is drawn twice. */
const mostRenders = 1.1;
/** So many states tell. */
const tellingStates = 300;

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

function playSeeds(first: number, count: number): Counted | undefined {
  let events = 0;
  let renders = 0;
  let states = 0;
  for (let seed = first; seed < first + count; seed++) {
    const scenario = scenarioOf(seed);
    const world = play(scenario);
    if (world.violation) {
      report(seed, scenario, world);
      return undefined;
    }
    events += world.scheduler.count;
    if (!scenario.conditions.calm) continue;
    renders += world.renders;
    states += world.contents.size;
    if (states > tellingStates && renders > mostRenders * states) {
      console.log(`Up to seed ${seed}: ${renders} metatiles were drawn for ${states} states of them.`);
      return undefined;
    }
  }
  return { seeds: count, events, renders, states };
}

// What nobody waits for and fails would end a server.
process.on("unhandledRejection", (error: Error) => {
  running?.fail(`nobody minded: ${error.stack}`);
});

const [first, count] = process.argv.slice(2).map(Number);
const foundIsEnough = process.argv[4] === "found";
if (first !== undefined && count !== undefined) {
  // In a turn of its own: within the microtasks of a module nothing could be drained.
  setImmediate(() => {
    const counted = playSeeds(first, count);
    if (counted) console.log(JSON.stringify(counted));
    process.exit(counted ? 0 : wrong);
  });
}
