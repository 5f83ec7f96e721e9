import { silentMs } from "./links.js";
import { cells, cellsOf } from "./places.js";
import {
  edits,
  pickAddresses,
  pickLayer,
  requestRandom,
  type Scenario,
  type Step,
  serving,
} from "./scenario.js";
import { Random } from "./scheduler.js";
import type { Address, Conditions, Node, World } from "./world.js";

/**
 * Scenarios in which links break: between a node and the database, Redis or both, with an error or without a word, one way or both
 * ways, several at once; in which a pooler hands out another session, a primary turns into a standby, or a replica of Redis takes
 * the place of another.
 */

/** Seeds from here on are such scenarios. */
export const firstPartition = 1_000_000;

/** When links break, and for how long. */
const begin = 150;
const durations = [700, 2_700, 2_700, 4_500, 4_500] as const;
/** Longer than anybody waits to be able to say that an edit was done. */
const longMs = 13_000;

type Add = (what: string, run: Step["run"], at: number) => void;
type Break = (world: World, own: Random, node: Node, until: number) => string;

const ways = ["to", "from", "both"] as const;

const breaks: Readonly<Record<string, Break>> = {
  "the database": (_world, own, node, until) => {
    const { link } = node.access;
    if (own.chance(0.5)) {
      link.cut(until);
      return "cut off from the database";
    }
    const way = own.pick(ways);
    link.lose(until, way);
    return `silent with the database (${way})`;
  },
  Redis: (_world, own, { redisLink }, until) => {
    if (own.chance(0.5)) {
      redisLink.cut(until);
      return "cut off from Redis";
    }
    const way = own.pick(ways);
    redisLink.lose(until, way);
    return `silent with Redis (${way})`;
  },
  listening: (_world, _own, node, until) => {
    node.access.cutListener(until);
    return "not listening";
  },
  queries: (_world, _own, node, until) => {
    node.access.cutQueries(until);
    return "not querying";
  },
};

/** Which links break together: of one node, or of two, so that none can tell the other. */
const plans: readonly (readonly (readonly [node: number, link: string])[])[] = [
  [[0, "the database"]],
  [
    [0, "the database"],
    [1, "Redis"],
  ],
  [
    [0, "the database"],
    [1, "Redis"],
  ],
  [
    [0, "the database"],
    [1, "Redis"],
  ],
  [
    [0, "the database"],
    [0, "Redis"],
  ],
  [
    [0, "the database"],
    [1, "listening"],
  ],
  [
    [0, "listening"],
    [1, "Redis"],
  ],
  [
    [0, "Redis"],
    [1, "Redis"],
  ],
  [
    [0, "the database"],
    [1, "Redis"],
    [2, "Redis"],
  ],
  [
    [0, "listening"],
    [0, "Redis"],
    [1, "Redis"],
  ],
  [
    [0, "the database"],
    [0, "queries"],
    [1, "Redis"],
  ],
];

const others: Readonly<Record<string, Step["run"]>> = {
  "a pooler hands out another session": (world, own) => {
    const node = own.pick(world.nodes);
    world.note(() => `${node.name} gets the session of somebody else`);
    world.mayBeUnheard = true;
    node.access.swapSession();
  },
  "a standby becomes the primary": (world) => {
    world.note(() => "a standby becomes the primary, and the old one stays as a standby");
    world.faulty = world.mayBeUnheard = true;
    world.database.promote();
  },
  "a replica of Redis takes its place": (world) => {
    world.note(() => "a replica of Redis takes its place");
    world.redis.failOver();
  },
  "a node is killed": (world, own) => {
    world.faulty = world.mayBeUnheard = true;
    if (serving(world).length > 1) world.kill(own.pick(serving(world)));
    addNode(world, own);
  },
  "a node starts": addNode,
};

/** A node starts, maybe without Redis from the beginning. */
function addNode(world: World, own: Random): void {
  if (world.nodes.length >= 5) return;
  const node = world.startNode();
  if (own.chance(0.5)) return;
  world.note(() => `${node.name} cannot reach Redis`);
  node.redisLink.cut(world.scheduler.now + own.pick(durations));
  world.isToldAnyway = false;
}

/** The word that something was missed is lost with the Redis that was told it. */
function addLostWord(random: Random, add: Add): void {
  add("a replica of Redis follows", (world) => world.redis.replicate(), begin);
  const lost = "a replica of Redis takes its place";
  add(lost, others[lost]!, begin + 3_000 + random.below(700));
}

export function partitionOf(seed: number): Scenario {
  const random = new Random(seed, 5);
  const special = new Random(seed, 6).below(100);
  const isWordLost = special < 5;
  // Nobody gives an edit up, as the database is there for all.
  const onlyRedis = special >= 96;
  // A change by SQL is all that happens, and nobody waits for a node that does not hear of it.
  const onlySql = random.chance(0.05) && !onlyRedis;
  const isLong = onlySql || onlyRedis || isWordLost || random.chance(0.04);
  const duration = isLong ? longMs : random.pick(durations);
  const drawn = onlySql || isWordLost ? plans[0] : random.chance(0.85) ? random.pick(plans) : undefined;
  const plan = onlyRedis ? ([[0, "Redis"]] as const) : drawn;
  const conditions: Conditions = {
    seed,
    nodes: Math.max(2, random.below(2) + 2, ...(plan ?? []).map(([node]) => node + 1)),
    addresses: pickAddresses(random, random.pick([1, 1, 2])),
    small: false,
    doubled: random.chance(0.2),
    slowStyles: false,
    colliding: false,
    calm: false,
    cdn: random.chance(0.2),
    lengthMs: begin + duration + 500,
    partitions: true,
    ...(random.chance(0.25) && { whenCutOff: random.pick(["serve:1", "serve:60"] as const) }),
  };
  const steps: Step[] = [];
  const add: Add = (what, run, at) => steps.push({ number: steps.length + 1, at, what, run });
  // Who waits for a node that does not answer does so for two seconds.
  const during = () => begin + random.below(random.chance(0.5) ? 600 : duration + 300);
  if (random.chance(0.8))
    add(
      "requests of all nodes",
      (world) => {
        for (const node of serving(world))
          for (const address of world.conditions.addresses) world.request(node, address, false);
      },
      0,
    );
  for (let warm = random.below(3); warm > 0; warm--) add("request", requestRandom, random.below(begin));
  for (const [index, link] of plan ?? []) {
    // Mostly all at once, as when a switch fails.
    const at = random.chance(0.6) ? begin : begin + random.below(600);
    const until = begin + 100 + (random.chance(0.7) ? duration : random.below(duration));
    add(
      `${link} of a node breaks`,
      (world, own) => {
        const node = world.nodes[index]!;
        world.faulty = true;
        const told = breaks[link]!(world, own, node, until + 100);
        world.note(() => `${node.name} is ${told} until ${until + 100}`);
        world.cutUntil = Math.max(world.cutUntil, until + 100 + silentMs.query);
        if (link !== "the database") world.isToldAnyway = false;
        if (link !== "Redis") world.mayBeUnheard = true;
      },
      at,
    );
  }
  if (isWordLost) addLostWord(random, add);
  else if (!onlySql && !onlyRedis && random.chance(plan ? 0.25 : 1)) {
    const kind = random.pick(Object.keys(others));
    if (kind === "a replica of Redis takes its place")
      add("a replica of Redis follows", (world) => world.redis.replicate(), random.below(begin + 200));
    add(kind, others[kind]!, during());
  }
  for (let count = onlySql ? 1 : 1 + random.below(3); count > 0; count--)
    addEdit(random, add, during(), onlySql || random.chance(0.2));
  for (let count = random.below(4); count > 0; count--) add("request", requestRandom, during());
  if (conditions.cdn)
    for (let count = 3; count > 0; count--)
      add("ask the CDN", (world, own) => world.askCdn(own.pick(world.conditions.addresses)), during());
  return { conditions, steps };
}

/** An edit by a node that has the database, or by SQL; tiles are asked for when it is answered, and later. */
function addEdit(random: Random, add: Add, at: number, bySql: boolean): void {
  const kind = random.pick(["write", "write", "write", "restyle", "publish", "close"]);
  add(
    kind,
    (world, own) => {
      const able = serving(world).filter(({ access }) => access.reaches);
      if (able.length === 0) return;
      const address = own.pick(world.conditions.addresses);
      const later = own.pick([100, 700, 2_500]);
      const ask = (): void => {
        for (const node of serving(world)) if (own.chance(0.7)) world.request(node, address, false);
      };
      const node = bySql ? undefined : own.pick(able);
      const done = () => {
        ask();
        world.scheduler.after(later, ask, undefined);
      };
      if (kind === "write") world.write(pickLayer(own, address), pickCell(own, address), node, done);
      else edits[kind]!(world, own, node, address, done);
      if (bySql) for (const ms of [6_100, 7_500]) world.scheduler.after(ms, ask, undefined);
    },
    at,
  );
}

const pickCell = (own: Random, { coord }: Address): number =>
  own.pick(own.chance(0.8) ? cellsOf(coord) : cells);
