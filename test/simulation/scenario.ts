import { cells, cellsOf, lookedAt } from "./places.js";
import { laneMs, Random } from "./scheduler.js";
import { type Address, addressOf, type Conditions, type Node, undecidedMs, World } from "./world.js";

/** What happens in a world: a list of steps that a seed decides. Any of them can be left out, and the others stay as they are. */

export interface Step {
  /** Number of the step, which seeds all that follows from it. */
  readonly number: number;
  /** Milliseconds after the start. */
  readonly at: number;
  readonly what: string;
  readonly run: (world: World, random: Random) => void;
}

export interface Scenario {
  readonly conditions: Conditions;
  readonly steps: readonly Step[];
}

/** When the last step is taken. */
const lengthMs = 400;
/** In worlds in which a node may be given up, and go on. */
const longMs = 3_600;
/** Steps that are taken at about the same time lie so close together. */
const closeMs = 25;

export function scenarioOf(seed: number): Scenario {
  const random = new Random(seed, 1);
  const calm = random.chance(0.2);
  const long = !calm && random.chance(0.08);
  const small = !calm && random.chance(0.4);
  const addresses = pickAddresses(random, small ? 3 : random.pick([1, 1, 1, 2, 3]));
  const conditions: Conditions = {
    seed,
    nodes: random.pick(long ? [2, 2, 3] : [1, 2, 2, 2, 3]),
    addresses,
    small,
    doubled: random.chance(0.3),
    slowStyles: !calm && random.chance(0.06),
    colliding: random.chance(0.2),
    calm,
    lengthMs: long ? longMs : lengthMs,
  };
  const steps: Step[] = [];
  const moments: number[] = [];
  // What goes wrong are mostly things that happen at once.
  const moment = () => {
    const at =
      moments.length > 0 && random.chance(0.4)
        ? random.pick(moments) + random.below(closeMs)
        : random.below(conditions.lengthMs);
    moments.push(at);
    return at;
  };
  const add = (what: string, run: Step["run"], at = moment()) =>
    steps.push({ number: steps.length + 1, at, what, run });
  if (long) addSilence(random, add);
  for (let looks = random.below(4); looks > 0; looks--) add("look", lookSomewhere);
  for (let edits = 1 + random.below(3); edits > 0; edits--) add(...pickEdit(random, calm));
  if (!calm && random.chance(0.12)) addFailover(random, add);
  const faults = calm || random.chance(0.4) ? 0 : 1 + random.below(2);
  for (let index = 0; index < faults; index++) add(...pickFault(random));
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
  scheduler.run(conditions.lengthMs + 150);
  if (scheduler.now < world.cutUntil) scheduler.run(world.cutUntil);
  rest(world);
  if (world.violation) return world;
  world.settle();
  world.faulty = false;
  // A style that took too long is tried again by then.
  if (conditions.slowStyles) scheduler.run(scheduler.now + undecidedMs);
  const random = new Random(conditions.seed, 3);
  for (const address of [...world.looked].slice(-2)) {
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
    serving(world).every(
      ({ path, pausedUntil }) => path.changes.trusted && pausedUntil + laneMs < scheduler.now,
    );
  do scheduler.run(scheduler.now + 100);
  while (!isOver() && scheduler.now < patience);
  if (world.database.wasGivenUpInVain)
    world.fail("the history that the database has was given up for another one");
  for (const { what } of world.open) world.fail(`never answered: ${what()}`);
}

const layersOf = (map: string): readonly [number, number] => (map === "m" ? [21, 22] : [23, 24]);

/** What people look at in a world: mostly the same few tiles. */
function pickAddresses(random: Random, count: number): readonly Address[] {
  const base = random.chance(0.4);
  const maps = random.pick([["m"], ["m"], ["m", "n"]]);
  return Array.from({ length: count }, () => {
    const map = random.pick(maps);
    const own = layersOf(map);
    return addressOf({
      map,
      coord: random.pick(lookedAt),
      base: base && random.chance(0.7),
      layers: random.chance(0.6) ? undefined : random.pick([own, [own[0]], [own[1]]]),
      language: random.chance(0.8) ? undefined : random.pick(["en", "xx"]),
    });
  });
}

const serving = (world: World): readonly Node[] => world.nodes.filter((node) => node.serving);

/** Somebody looks at a place, and perhaps looks there again. */
function lookSomewhere(world: World, random: Random): void {
  const nodes = serving(world);
  if (nodes.length === 0) return;
  const address = random.pick(world.conditions.addresses);
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
function lookAfter(world: World, random: Random, address: Address): () => void {
  const looks = 1 + random.below(2);
  const lookThere = () => {
    const nodes = serving(world);
    if (nodes.length === 0) return;
    const { silent } = world;
    const node = silent?.serving && random.chance(0.8) ? silent : random.pick(nodes);
    world.look(node, address, false);
  };
  // They have looked there before.
  if (random.chance(0.7)) lookThere();
  return () => {
    if (world.conditions.calm) {
      // All at once, so that nodes have to share what they draw.
      for (const node of serving(world)) world.look(node, address, false);
      return;
    }
    for (let look = 0; look < looks; look++) {
      world.scheduler.after(random.chance(0.6) ? 0 : random.below(200), lookThere);
    }
  };
}

/** A layer that an address shows. */
const pickLayer = (random: Random, { map, base, layers }: Address): number =>
  base && random.chance(0.3) ? 25 : random.pick(layers ?? layersOf(map));

const edits: Readonly<
  Record<
    string,
    (world: World, random: Random, node: Node | undefined, address: Address, done: () => void) => void
  >
> = {
  write: (world, random, node, address, done) => {
    const cell = random.pick(random.chance(0.8) ? cellsOf(address.coord) : cells);
    world.write(pickLayer(random, address), cell, node, done);
  },
  restyle: (world, random, node, address, done) => world.restyle(pickLayer(random, address), node, done),
  publish: (world, random, node, { map }, done) => world.publish(map, random.chance(0.3), node, done),
  close: (world, random, node, { map }, done) =>
    world.close(random.pick(layersOf(map)), random.chance(0.7), node, done),
  "delete layer": (world, _random, node, { map }, done) => world.deleteLayer(layersOf(map)[1], node, done),
};

type Added = readonly [what: string, run: Step["run"]];
type Add = (what: string, run: Step["run"], at?: number) => void;

function pickEdit(random: Random, calm: boolean): Added {
  const kind = random.pick(
    calm ? ["write"] : ["write", "write", "write", "write", "restyle", "publish", "close", "delete layer"],
  );
  const bySql = random.chance(0.2);
  return [
    kind,
    (world, own) => {
      const nodes = serving(world).filter((node) => node !== world.silent);
      if (nodes.length === 0) return;
      const node = bySql ? undefined : own.pick(nodes);
      const address = own.pick(world.conditions.addresses);
      edits[kind]!(world, own, node, address, lookAfter(world, own, address));
    },
  ];
}

/** A node is not heard of for so long that others give it up, and something is changed meanwhile or as soon as it is back. */
function addSilence(random: Random, add: Add): void {
  const begin = random.below(100);
  const way = random.pick(["hangs", "hangs", "stands still", "is cut off", "is cut off"]);
  const ms = random.pick(way === "is cut off" ? [400, 2_700, 4_000] : [400, 1_000, 2_700]);
  add(
    "a node is silent",
    (world, own) => {
      world.silent = own.pick(world.nodes);
      silences[way]!(world, own, world.silent, ms);
    },
    begin,
  );
  // Which finds the other's connection gone.
  if (random.chance(0.5)) add("a node starts", (world) => void world.startNode(), begin + random.below(200));
  add("look", lookSomewhere, random.below(begin + 50));
  // An edit that waits for the node in vain leaves word of that.
  if (way !== "is cut off" || random.chance(0.6)) add(...pickEdit(random, false), begin + random.below(100));
  if (way === "is cut off") add("look", lookSomewhere, begin + ms + random.below(3_000));
  add(
    ...pickEdit(random, false),
    random.chance(0.5) ? begin + ms + random.below(60) : 2_600 + random.below(900),
  );
}

const silences: Readonly<Record<string, (world: World, own: Random, node: Node, ms: number) => void>> = {
  hangs: (world, _own, node, ms) => hang(world, node, ms),
  "stands still": (world, _own, node, ms) => standStill(world, node, ms),
  "is cut off": (world, own, node, ms) => {
    world.note(() => `${node.name} is cut off the database for ${ms} ms`);
    world.faulty = true;
    const until = world.scheduler.now + ms;
    node.access.cut(own.chance(0.5) ? until : until - own.below(300));
    // What it can listen to again it may not be able to read yet.
    const readsFrom = until + own.pick([0, 100, 3_000]);
    node.access.blind(readsFrom);
    world.cutUntil = readsFrom;
  },
};

/** A standby that lagged, or a copy of the files, takes the database's place. */
function addFailover(random: Random, add: Add): void {
  const at = random.below(200);
  const asFiles = random.chance(0.4);
  const writesThere = random.chance(0.5);
  add(
    "copy the database",
    (world) => {
      world.note(() => "the database is copied");
      world.copy = world.copyDatabase();
    },
    at,
  );
  add(...pickEdit(random, false), at + 1 + random.below(40));
  add(
    "replace the database",
    (world, own) => {
      if (!world.copy) return;
      world.replaceDatabase(world.copy, asFiles);
      // Somebody writes there before any node is back.
      if (writesThere)
        world.write(pickLayer(own, own.pick(world.conditions.addresses)), own.pick(cells), undefined);
    },
    at + 40 + random.below(300),
  );
}

function standStill(world: World, node: Node, ms: number): void {
  world.note(() => `${node.name} stands still for ${ms} ms`);
  world.faulty = true;
  node.pausedUntil = Math.max(node.pausedUntil, world.scheduler.now + ms);
}

function hang(world: World, node: Node, ms: number): void {
  world.note(() => `${node.name} hears nothing for ${ms} ms`);
  world.faulty = true;
  node.access.hang(world.scheduler.now + ms);
}

const faults: Readonly<Record<string, Step["run"]>> = {
  "cut the notifications of a node": (world, random) => {
    const node = random.pick(world.nodes);
    const ms = random.pick([0, 50, 300]);
    world.note(() => `${node.name} loses its connection for ${ms} ms`);
    world.faulty = true;
    node.access.cut(world.scheduler.now + ms);
  },
  "a node stands still": (world, random) =>
    standStill(world, random.pick(world.nodes), random.pick([50, 300, 1_200])),
  "the connection of a node hangs": (world, random) =>
    hang(world, random.pick(world.nodes), random.pick([50, 300, 600])),
  "Redis is emptied": (world) => {
    world.note(() => "Redis is emptied");
    world.redis.flush();
  },
  "Redis is away": (world, random) => {
    const ms = random.pick([50, 500]);
    world.note(() => `Redis is away for ${ms} ms`);
    world.redis.leave(world.scheduler.now + ms);
  },
  "Redis is slow": (world, random) => {
    const ms = random.pick([200, 800]);
    world.note(() => `Redis is slow for ${ms} ms`);
    world.redis.slowUntil = world.scheduler.now + ms;
  },
  "a node can only ask": (world, random) => {
    const node = random.pick(world.nodes);
    const ms = random.pick([300, 1_000]);
    world.note(() => `${node.name} can make no connection to listen for ${ms} ms`);
    world.faulty = true;
    node.access.deafen(world.scheduler.now + ms);
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
  "a node starts": (world, random) => {
    if (world.nodes.length >= 5) return;
    const node = world.startNode();
    if (random.chance(0.5)) return;
    // It serves before it can listen.
    world.note(() => `${node.name} can make no connection to listen for 500 ms`);
    node.access.deafen(world.scheduler.now + 500);
  },
};

function pickFault(random: Random): Added {
  const kind = random.pick(Object.keys(faults));
  return [kind, faults[kind]!];
}
