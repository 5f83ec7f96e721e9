import { cells, lookedAt, tileOfCell } from "./places.js";
import { Random } from "./scheduler.js";
import { type Address, type Conditions, type Node, undecidedMs, World } from "./world.js";

/** What happens in a world: a list of steps that a seed decides. Any of them can be left out, and the others stay as they are. */

export interface Step {
  /** Number of the step, which seeds all that follows from it. */
  readonly number: number;
  /** Milliseconds after the start. */
  readonly at: number;
  readonly what: string;
  readonly run: (world: World, random: Random) => void;
}

const editorial = [21, 22, 23, 24] as const;

export interface Scenario {
  readonly conditions: Conditions;
  readonly steps: readonly Step[];
}

/** When the last step is taken. */
const lengthMs = 800;
/** In worlds in which a node may be given up, and go on. */
const longMs = 3_500;

export function scenarioOf(seed: number): Scenario {
  const random = new Random(seed, 1);
  const calm = random.chance(0.2);
  const conditions: Conditions = {
    seed,
    nodes: random.pick([1, 2, 2, 2, 3]),
    small: !calm && random.chance(0.5),
    doubled: random.chance(0.3),
    slowStyles: !calm && random.chance(0.15),
    colliding: random.chance(0.2),
    calm,
    lengthMs: random.chance(0.1) ? longMs : lengthMs,
  };
  const steps: Step[] = [];
  const add = (what: string, run: Step["run"], at = random.below(conditions.lengthMs)) =>
    steps.push({ number: steps.length + 1, at, what, run });
  const looks = 2 + random.below(4);
  for (let index = 0; index < looks; index++) add("look", lookSomewhere);
  const edits = 1 + random.below(4);
  for (let index = 0; index < edits; index++) add(...pickEdit(random, calm));
  const faults = calm || random.chance(0.4) ? 0 : 1 + random.below(3);
  for (let index = 0; index < faults; index++) add(...pickFault(random, add));
  return { conditions, steps };
}

/** The world that is being played. */
export let running: World | undefined;

/** Builds the world, takes the steps, lets everything come to rest, and looks at everything. */
export function play({ conditions, steps }: Scenario): World {
  const world = new World(conditions);
  running = world;
  const { scheduler } = world;
  for (let node = 0; node < conditions.nodes; node++) world.startNode();
  scheduler.run(100);
  for (const step of steps) {
    const random = new Random(conditions.seed, 2, step.number);
    scheduler.on(
      step.at,
      () => {
        step.run(world, random);
      },
      undefined,
      random,
    );
  }
  scheduler.run(conditions.lengthMs + 300);
  rest(world);
  if (world.violation) return world;
  world.settle();
  world.faulty = false;
  // A style that took too long is tried again by then.
  if (conditions.slowStyles) scheduler.run(scheduler.now + undecidedMs);
  const random = new Random(conditions.seed, 3);
  for (const address of [...world.looked.values()].slice(-2)) {
    for (const node of serving(world))
      scheduler.on(0, () => world.look(node, address, false), undefined, random);
  }
  rest(world);
  return world;
}

/** Lets time go by until everything is answered, and everything that was announced is heard. */
function rest(world: World): void {
  const { scheduler } = world;
  const patience = scheduler.now + 8_000;
  // Those who were hindered from listening are back by then.
  const isOver = () =>
    world.open.size === 0 &&
    world.database.isQuiet &&
    serving(world).every((node) => node.path.changes.trusted);
  do scheduler.run(scheduler.now + 300);
  while (!isOver() && scheduler.now < patience);
  for (const open of world.open) world.fail(`never answered: ${open}`);
}

function pickAddress(random: Random): Address {
  const map = random.pick(["m", "m", "n"]);
  const own = map === "m" ? [21, 22] : [23, 24];
  return {
    map,
    coord: random.pick(lookedAt),
    base: random.chance(0.5),
    layers: random.pick([undefined, undefined, own, [own[0]!], [own[1]!]]),
    language: random.pick([undefined, undefined, "en", "xx"]),
  };
}

const serving = (world: World): readonly Node[] => world.nodes.filter((node) => node.serving);

/** Somebody looks at a place, and perhaps looks there again. */
function lookSomewhere(world: World, random: Random): void {
  const nodes = serving(world);
  if (nodes.length === 0) return;
  const address = pickAddress(random);
  const signedIn = random.chance(0.15);
  const abortAfter = random.chance(0.05) ? random.below(50) : undefined;
  world.look(random.pick(nodes), address, signedIn, abortAfter);
  for (let again = random.below(2); again > 0; again--) {
    world.scheduler.after(random.below(300), () => {
      const now = serving(world);
      if (now.length > 0) world.look(random.pick(now), address, signedIn);
    });
  }
}

/** As soon as an editor has the answer, people look at what was changed. */
function lookAfter(world: World, random: Random, layerId: number, cell: number): () => void {
  const map = layerId === 25 ? random.pick(["m", "n"]) : layerId < 23 ? "m" : "n";
  const looks = 1 + random.below(2);
  const address: Address = {
    map,
    language: undefined,
    coord: random.chance(0.8) ? tileOfCell(cell) : lookedAt[3]!,
    base: layerId === 25 || random.chance(0.5),
    layers: random.chance(0.3) && layerId !== 25 ? [layerId] : undefined,
  };
  // They have looked there before.
  const nodes = serving(world);
  if (nodes.length > 0 && random.chance(0.8)) world.look(random.pick(nodes), address, false);
  return () => {
    if (world.conditions.calm) {
      // All at once, so that nodes have to share what they draw.
      for (const node of serving(world)) world.look(node, address, false);
      return;
    }
    for (let look = 0; look < looks; look++) {
      world.scheduler.after(random.chance(0.5) ? 0 : random.below(200), () => {
        const now = serving(world);
        if (now.length > 0) world.look(random.pick(now), address, false);
      });
    }
  };
}

type Edit = (
  world: World,
  random: Random,
  node: Node | undefined,
  done: (layer: number, cell: number) => () => void,
) => void;

const edits: Readonly<Record<string, Edit>> = {
  write: (world, random, node, done) => {
    const layer = random.pick([...editorial, 21, 21, 25]);
    const cell = random.pick(cells);
    world.write(layer, cell, node, done(layer, cell));
  },
  restyle: (world, random, node, done) => {
    const layer = random.pick([...editorial, 25]);
    world.restyle(layer, node, done(layer, 0));
  },
  publish: (world, random, node, done) => {
    const map = random.pick(["m", "n"]);
    world.publish(map, random.chance(0.5), node, done(map === "m" ? 21 : 23, 0));
  },
  close: (world, random, node, done) => {
    const layer = random.pick(editorial);
    world.close(layer, random.chance(0.6), node, done(layer, 0));
  },
  "delete layer": (world, random, node, done) => {
    const layer = random.pick([22, 24]);
    world.deleteLayer(layer, node, done(layer, 0));
  },
};

type Added = readonly [what: string, run: Step["run"]];

function pickEdit(random: Random, calm: boolean): Added {
  const kind = random.pick(
    calm ? ["write"] : ["write", "write", "write", "write", "restyle", "publish", "close", "delete layer"],
  );
  const bySql = random.chance(0.2);
  return [
    kind,
    (world, own) => {
      const nodes = serving(world);
      if (nodes.length === 0) return;
      const node = bySql ? undefined : own.pick(nodes);
      edits[kind]!(world, own, node, (layer, cell) => lookAfter(world, own, layer, cell));
    },
  ];
}

const faults: Readonly<Record<string, Step["run"]>> = {
  "cut the notifications of a node": (world, random) => {
    const node = random.pick(world.nodes);
    const ms = random.pick([0, 50, 300]);
    world.note(`${node.name} loses its connection for ${ms} ms`);
    world.faulty = true;
    node.access.cut(world.scheduler.now + ms);
  },
  "a node stands still": (world, random) => {
    const node = random.pick(world.nodes);
    const ms = random.pick([50, 300, 1_200, 2_400]);
    world.note(`${node.name} stands still for ${ms} ms`);
    world.faulty = true;
    node.pausedUntil = Math.max(node.pausedUntil, world.scheduler.now + ms);
  },
  "Redis is emptied": (world) => {
    world.note("Redis is emptied");
    world.redis.flush();
  },
  "Redis is away": (world, random) => {
    const ms = random.pick([50, 500]);
    world.note(`Redis is away for ${ms} ms`);
    world.redis.leave(world.scheduler.now + ms);
  },
  "Redis is slow": (world, random) => {
    const ms = random.pick([200, 800]);
    world.note(`Redis is slow for ${ms} ms`);
    world.redis.slowUntil = world.scheduler.now + ms;
  },
  "a node is killed": (world, random) => {
    if (world.nodes.filter((node) => !node.gone).length > 1) world.kill(random.pick(world.nodes));
    world.faulty = true;
    world.startNode();
  },
  "a node is stopped": (world, random) => {
    const node = random.pick(world.nodes);
    if (node.serving) world.stop(node);
    world.startNode();
  },
  "a node starts": (world) => {
    if (world.nodes.length < 5) world.startNode();
  },
};

function pickFault(random: Random, add: (what: string, run: Step["run"], at: number) => void): Added {
  if (random.chance(0.2)) {
    const at = random.below(lengthMs - 300);
    const asFiles = random.chance(0.3);
    add(
      "copy the database",
      (world) => {
        world.note("the database is copied");
        world.copy = world.copyDatabase();
      },
      at,
    );
    add(
      "replace the database",
      (world, random) => {
        if (!world.copy) return;
        world.replaceDatabase(world.copy, asFiles);
        // Somebody writes there before any node is back.
        if (random.chance(0.5)) world.write(random.pick(editorial), random.pick(cells), undefined);
      },
      at + 20 + random.below(400),
    );
  }
  const kind = random.pick(Object.keys(faults));
  return [kind, faults[kind]!];
}
