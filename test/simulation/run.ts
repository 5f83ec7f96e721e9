import { play, running, type Scenario, scenarioOf } from "./scenario.js";
import type { World } from "./world.js";

/**
 * `node run.js FIRST COUNT [found]`: plays the worlds of so many seeds. Prints a line of JSON with what was counted, or of
 * the first failing seed what is wrong, and (without `found`) the shortest list of steps that still fails, with its trace;
 * then the status is 1.
 */

export interface Counted {
  readonly seeds: number;
  /** Of calm worlds: metatiles that were drawn, and states of them that there were. */
  readonly renders: number;
  readonly states: number;
}

/** Where nothing is lost, hardly anything is drawn twice. */
const mostRenders = 1.1;
/** So many states tell. */
const tellingStates = 300;

/** Leaves out steps for as long as it still goes wrong. */
function shortest(scenario: Scenario): Scenario {
  let best = scenario;
  for (let at = 0; at < best.steps.length; ) {
    const without = { ...best, steps: best.steps.filter((_, index) => index !== at) };
    if (play(without).violation) best = without;
    else at++;
  }
  return best;
}

function report(seed: number, scenario: Scenario, world: World): void {
  console.log(`Seed ${seed}: ${world.violation?.message}`);
  if (foundIsEnough) return;
  const short = shortest(scenario);
  const { conditions } = short;
  console.log(`${JSON.stringify(conditions)}\nSteps: ${short.steps.map(({ what }) => what).join(", ")}`);
  console.log(play(short).trace.join("\n"));
}

function playSeeds(first: number, count: number): Counted | undefined {
  let renders = 0;
  let states = 0;
  for (let seed = first; seed < first + count; seed++) {
    const scenario = scenarioOf(seed);
    const world = play(scenario);
    if (world.violation) {
      report(seed, scenario, world);
      return undefined;
    }
    if (!scenario.conditions.calm) continue;
    renders += world.renders;
    states += world.contents.size;
    if (states > tellingStates && renders > mostRenders * states) {
      console.log(`Up to seed ${seed}: ${renders} metatiles were drawn for ${states} states of them.`);
      return undefined;
    }
  }
  return { seeds: count, renders, states };
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
    process.exit(counted ? 0 : 1);
  });
}
