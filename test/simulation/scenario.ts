import { retryMs } from "../../src/tiles/bad-layers.js";
import { type Reading, readings } from "./cdn.js";
import { statistics } from "./database.js";
import { cells, cellsOf, requestedTiles } from "./places.js";
import { laneMs, Random } from "./scheduler.js";
import { type Address, addressOf, type Conditions, type Node, styleRetryMs, World } from "./world.js";

/** Scenarios: random lists of steps by seed. Steps can be left out without changing the others. */

export interface Step {
  /** Number of the step, the seed of its random numbers. */
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

const readingNames = Object.keys(readings) as Reading[];

/** Duration of a scenario's steps. */
const lengthMs = 400;
/** Duration in worlds where a node may be dropped and return. */
const longMs = 3_600;
/** Distance of steps that are nearly concurrent. */
const closeMs = 25;

export function scenarioOf(seed: number): Scenario {
  const random = new Random(seed, 1);
  const calm = random.chance(0.2);
  const long = !calm && random.chance(0.08);
  const small = !calm && random.chance(0.4);
  const hasFailover = !calm && random.chance(0.12);
  // What another history does to the CDN is the purger's.
  const cdn = !calm && !hasFailover && random.chance(long ? 0.5 : 0.12);
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
    cdn,
    lengthMs: long ? longMs : lengthMs,
  };
  const steps: Step[] = [];
  const times: number[] = [];
  // Most bugs need concurrent steps.
  const nextTime = () => {
    const at =
      times.length > 0 && random.chance(0.4)
        ? random.pick(times) + random.below(closeMs)
        : random.below(conditions.lengthMs);
    times.push(at);
    return at;
  };
  const add = (what: string, run: Step["run"], at = nextTime()) =>
    steps.push({ number: steps.length + 1, at, what, run });
  if (long) addSilence(random, add);
  for (let requests = random.below(4); requests > 0; requests--) add("request", requestRandom);
  for (let edits = 1 + random.below(3); edits > 0; edits--) add(...pickEdit(random, calm));
  if (hasFailover) addFailover(random, add);
  if (cdn) addCdn(random, add, long);
  const faults = calm || random.chance(0.4) ? 0 : 1 + random.below(2);
  for (let index = 0; index < faults; index++) add(...pickFault(random));
  return { conditions, steps };
}

/** The current world. */
export let running: World | undefined;

/** Runs a scenario: builds the world, runs the steps, waits until all is quiet, and then requests some tiles again. */
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
  waitUntilQuiet(world);
  if (world.violation) return world;
  world.requireLatest();
  world.checkCdn();
  if (world.violation) return world;
  world.faulty = false;
  // By then styles that timed out are compiled again.
  if (conditions.slowStyles) scheduler.run(scheduler.now + styleRetryMs);
  // By then layers that could not be drawn are tried again.
  else if (world.hadFailure) scheduler.run(scheduler.now + retryMs);
  const random = new Random(conditions.seed, 3);
  for (const address of [...world.requested].slice(-2)) {
    for (const node of serving(world))
      scheduler.on(0, () => world.request(node, address, false), undefined, random);
  }
  waitUntilQuiet(world);
  return world;
}

/** Runs until all requests are answered, all notifications are received and all nodes listen again. */
function waitUntilQuiet(world: World): void {
  const { scheduler } = world;
  const deadline = scheduler.now + 8_000;
  const isQuiet = () =>
    world.open.size === 0 &&
    world.database.isQuiet &&
    !world.cdn?.untold &&
    serving(world).every(
      ({ path, pausedUntil }) => path.changes.trusted && pausedUntil + laneMs < scheduler.now,
    );
  do scheduler.run(scheduler.now + 100);
  while (!isQuiet() && scheduler.now < deadline);
  if (world.database.hasExcessHistories)
    world.fail("nodes claimed a new history of a database that kept its own");
  for (const { what } of world.open) world.fail(`never answered: ${what()}`);
}

const layersOf = (map: string): readonly [number, number] => (map === "m" ? [21, 22] : [23, 24]);

/** Addresses that are requested in a world: few, so that requests share tiles. */
export function pickAddresses(random: Random, count: number): readonly Address[] {
  const base = random.chance(0.4);
  const maps = random.pick([["m"], ["m"], ["m", "n"]]);
  return Array.from({ length: count }, () => {
    const map = random.pick(maps);
    const own = layersOf(map);
    return addressOf({
      map,
      coord: random.pick(requestedTiles),
      base: base && random.chance(0.7),
      layers: random.chance(0.6) ? undefined : random.pick([own, [own[0]], [own[1]]]),
      language: random.chance(0.8) ? undefined : random.pick(["en", "xx"]),
    });
  });
}

export const serving = (world: World): readonly Node[] => world.nodes.filter((node) => node.serving);

/** Requests a tile, and maybe requests it again. */
export function requestRandom(world: World, random: Random): void {
  const nodes = serving(world);
  if (nodes.length === 0) return;
  const address = random.pick(world.conditions.addresses);
  const signedIn = random.chance(0.15);
  const abortAfter = random.chance(0.05) ? random.below(50) : undefined;
  world.request(random.pick(nodes), address, signedIn, abortAfter);
  for (let again = random.below(2); again > 0; again--) {
    world.scheduler.after(random.below(300), () => {
      const now = serving(world);
      if (now.length > 0) world.request(random.pick(now), address, signedIn);
    });
  }
}

/** @returns a function that requests a tile, to be called as soon as an edit of it is answered */
function requestAfter(world: World, random: Random, address: Address): () => void {
  const requests = 1 + random.below(2);
  const requestTile = () => {
    const nodes = serving(world);
    if (nodes.length === 0) return;
    const { silent } = world;
    const node = silent?.serving && random.chance(0.8) ? silent : random.pick(nodes);
    world.request(node, address, false);
  };
  // Usually the tile is cached before the edit.
  if (random.chance(0.7)) requestTile();
  return () => {
    if (world.conditions.calm) {
      // From all nodes at once, so that they have to share the render.
      for (const node of serving(world)) world.request(node, address, false);
      return;
    }
    for (let index = 0; index < requests; index++) {
      world.scheduler.after(random.chance(0.6) ? 0 : random.below(200), requestTile);
    }
  };
}

/** A random layer of an address. */
export const pickLayer = (random: Random, { map, base, layers }: Address): number =>
  base && random.chance(0.3) ? 25 : random.pick(layers ?? layersOf(map));

export const edits: Readonly<
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
      edits[kind]!(world, own, node, address, requestAfter(world, own, address));
    },
  ];
}

/** A node does not answer for so long that others drop it; edits follow meanwhile, and when it is back. */
function addSilence(random: Random, add: Add): void {
  const begin = random.below(100);
  const kind = random.pick([
    "hangs",
    "hangs",
    "is suspended",
    "sleeps with its machine",
    "sleeps with its machine",
    "is cut off",
    "is cut off",
  ]);
  const ms = random.pick(silentMs[kind]!);
  add(
    "a node is silent",
    (world, own) => {
      world.silent = own.pick(world.nodes);
      silences[kind]!(world, own, world.silent, ms);
    },
    begin,
  );
  // The new node finds that the silent node is not connected.
  if (random.chance(0.5)) add("a node starts", (world) => void world.startNode(), begin + random.below(200));
  add("request", requestRandom, random.below(begin + 50));
  // The edit times out waiting for the node, and records a missed change.
  if (kind !== "is cut off" || random.chance(0.6)) add(...pickEdit(random, false), begin + random.below(100));
  if (kind === "is cut off") add("request", requestRandom, begin + ms + random.below(3_000));
  add(
    ...pickEdit(random, false),
    random.chance(0.5) ? begin + ms + random.below(60) : 2_600 + random.below(900),
  );
}

/** What waits for longer than three seconds while its process stands still takes a style for one that is too slow. */
const silentMs: Readonly<Record<string, readonly number[]>> = {
  hangs: [1_000, 2_700, 4_500],
  "is suspended": [400, 1_000, 2_700],
  "sleeps with its machine": [1_000, 2_700],
  "is cut off": [400, 2_700, 4_000],
};

const silences: Readonly<Record<string, (world: World, own: Random, node: Node, ms: number) => void>> = {
  hangs: (world, _own, node, ms) => hang(world, node, ms),
  "is suspended": (world, _own, node, ms) => suspend(world, node, ms),
  "sleeps with its machine": (world, _own, node, ms) => sleep(world, node, ms),
  "is cut off": (world, own, node, ms) => {
    world.note(() => `${node.name} is cut off from the database for ${ms} ms`);
    world.faulty = true;
    const until = world.scheduler.now + ms;
    node.access.cut(own.chance(0.5) ? until : until - own.below(300));
    // Queries may fail for longer than listening.
    const queriesFrom = until + own.pick([0, 100, 3_000]);
    node.access.cutQueries(queriesFrom);
    world.cutUntil = queriesFrom;
  },
};

/** The CDN is asked for tiles and other answers, while these change. */
function addCdn(random: Random, add: Add, long: boolean): void {
  const ask = (world: World, own: Random) => {
    const wanted = own.chance(0.4) ? own.pick(world.conditions.addresses) : own.pick(readingNames);
    world.askCdn(wanted);
    for (let again = own.below(3); again > 0; again--)
      world.scheduler.after(own.below(600), () => world.askCdn(wanted), undefined);
  };
  for (let asks = random.below(long ? 8 : 4) + 2; asks > 0; asks--) add("ask the CDN", ask);
  if (long) {
    // While nobody waits for the node that is silent.
    const askForTile = (world: World, own: Random) => world.askCdn(own.pick(world.conditions.addresses));
    for (let asks = 2; asks > 0; asks--) add("ask the CDN", askForTile, 2_200 + random.below(900));
    add(...pickEdit(random, false), 2_500 + random.below(900));
  }
  for (let edits = random.below(3) + 1; edits > 0; edits--) {
    const isClosing = random.chance(0.15);
    add("change what has statistics", (world, own) => {
      const nodes = serving(world).filter((node) => node !== world.silent);
      if (nodes.length === 0) return;
      if (own.chance(0.7)) ask(world, own);
      const node = own.chance(0.2) ? undefined : own.pick(nodes);
      if (isClosing) world.publish(statistics.map, own.chance(0.3), node);
      else world.write(statistics.layerId, 0, node);
    });
  }
}

/** The database is replaced by a standby that lagged, or by a copy of its files. */
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
      // A write by SQL, before any node has reconnected.
      if (writesThere)
        world.write(pickLayer(own, own.pick(world.conditions.addresses)), own.pick(cells), undefined);
    },
    at + 40 + random.below(300),
  );
}

function suspend(world: World, node: Node, ms: number): void {
  world.note(() => `${node.name} is suspended for ${ms} ms`);
  world.faulty = true;
  node.pausedUntil = Math.max(node.pausedUntil, world.scheduler.now + ms);
}

/** As `suspend`, with its whole machine: the monotonic clock stands still. */
function sleep(world: World, node: Node, ms: number): void {
  // Of two pauses at once the clock counts one.
  if (node.pausedUntil <= world.scheduler.now) node.stoodStillMs = (node.stoodStillMs ?? 0) + ms;
  suspend(world, node, ms);
}

function hang(world: World, node: Node, ms: number): void {
  world.note(() => `${node.name} receives nothing for ${ms} ms`);
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
  "a node is suspended": (world, random) =>
    suspend(world, random.pick(world.nodes), random.pick([50, 300, 1_200])),
  "the connection of a node hangs": (world, random) =>
    hang(world, random.pick(world.nodes), random.pick([50, 300, 600])),
  "Redis is emptied": (world) => {
    world.note(() => "Redis is emptied");
    world.redis.flush();
  },
  "Redis is unavailable": (world, random) => {
    const ms = random.pick([50, 500]);
    world.note(() => `Redis is unavailable for ${ms} ms`);
    world.redis.leave(world.scheduler.now + ms);
  },
  "Redis is slow": (world, random) => {
    const ms = random.pick([200, 800]);
    world.note(() => `Redis is slow for ${ms} ms`);
    world.redis.slowUntil = world.scheduler.now + ms;
  },
  "a node can query and not listen": (world, random) => {
    const node = random.pick(world.nodes);
    const ms = random.pick([300, 1_000]);
    world.note(() => `${node.name} cannot listen for ${ms} ms`);
    world.faulty = true;
    node.access.cutListener(world.scheduler.now + ms);
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
    // The new node serves before it can listen.
    world.note(() => `${node.name} cannot listen for 500 ms`);
    node.access.cutListener(world.scheduler.now + 500);
  },
};

function pickFault(random: Random): Added {
  const kind = random.pick(Object.keys(faults));
  return [kind, faults[kind]!];
}
