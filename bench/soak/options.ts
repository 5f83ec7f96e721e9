import { parseArgs } from "node:util";

/** What the soak is asked to do. */
export interface SoakOptions {
  /** Length of each of the two runs. */
  readonly seconds: number;
  /** Time from one kill to the next. */
  readonly every: number;
  readonly seed: number;
  /** Well-behaved clients, in multiples of a viewer, a reader and an editor. */
  readonly clients: number;
  /** Kinds of attacks; empty = all. */
  readonly only: readonly string[];
  /** Whether rules about time, memory and descriptors decide about the exit status, too. */
  readonly strict: boolean;
  /** Whether the logs of the nodes go to standard error. */
  readonly verbose: boolean;
}

export const usage = `npm run soak -- [--seconds N] [--every N] [--seed N] [--clients N] [--only ATTACK]… [--strict] [--verbose]

Viewers, readers, editors and importers work on two nodes, while hosts, PostgreSQL, Redis and a node are killed in turn:
first among themselves (calm), then beside hostile clients. It has a PostgreSQL and a Redis of its own, and takes twice the
time of --seconds and half a minute.

  --seconds N    length of each run (default 120)
  --every N      seconds from one kill to the next (default 10); 0 = none
  --seed N       of all clients and attacks (default 1); the same kills come in both runs
  --clients N    viewers, readers and editors, so many of each (default 3); there is one importer
  --only ATTACK  only this kind of hostile client; may be repeated
  --strict       the exit status is 1 also when a rule about time, memory or descriptors is missed
  --verbose      the logs of the nodes on standard error, warnings and worse

A request is lost when it fails in spite of the retries that the documentation tells of: after 503 and Retry-After, after a connection
that was refused or broke, by a new session after 401; for a minute, writes with an Idempotency-Key. The exit status is 1 when a request or an
acknowledged write is lost, or a write is done twice.

Examples:
  npm run soak -- --seconds 30                     # a look in about two minutes
  npm run soak -- --seconds 14400 --strict         # a night
  npm run soak -- --only many-names --every 0      # one attack, nothing is killed`;

/** @throws TypeError naming an argument that is not known or no number */
export function parseSoakOptions(args: readonly string[]): SoakOptions | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: "boolean", short: "h" },
      seconds: { type: "string", default: "120" },
      every: { type: "string", default: "10" },
      seed: { type: "string", default: "1" },
      clients: { type: "string", default: "3" },
      only: { type: "string", multiple: true, default: [] },
      strict: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  const whole = (name: "seconds" | "every" | "seed" | "clients", least: number): number => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < least)
      throw new TypeError(`--${name} must be a number from ${least} on.`);
    return value;
  };
  return {
    seconds: whole("seconds", 1),
    every: whole("every", 0),
    seed: whole("seed", 0),
    clients: whole("clients", 1),
    only: values.only,
    strict: values.strict,
    verbose: values.verbose,
  };
}
