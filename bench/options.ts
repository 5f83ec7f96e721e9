import { parseArgs } from "node:util";

/** What the bench is asked to do. */
export interface Options {
  /** Little data and short rounds: whether everything runs, not how fast. */
  readonly small: boolean;
  /** Names of measures to run; empty = all. */
  readonly only: readonly string[];
  /** Folder of another checkout to compare with, in place of the references. */
  readonly against: string | undefined;
  /** Folder with a style, data, and other servers to compare with. */
  readonly peers: string | undefined;
  /** Folder of the peers' data; default `data` in the peers' folder. */
  readonly data: string | undefined;
  /** Rounds of the comparison with peers, at first. */
  readonly rounds: number;
  /** Points of the large layers; undefined = as many as the size of the bench says. */
  readonly large: number | undefined;
  /** Folder for the private services, kept for the next run; default a temporary one. */
  readonly work: string | undefined;
}

export const usage = `npm run bench -- [--small] [--only MEASURE]… [--against DIR] [--peers DIR [--data DIR] [--rounds N]] [--large N] [--work DIR]

  --small        little data, short rounds; only gates that are not about time count
  --only NAME    cached, keys, redis, cold, once, live, large, visuals, vector, wide, objects, list, catalog, create,
                 search, imports, exports, hostile, pages, edge or peers; may be repeated
  --against DIR  compare with another checkout of Mapwright, which has been built, in place of the references:
                 cached, cold, objects and list; both serve the same data
  --peers DIR    also compare cold with renderd and MapServer (--only peers: these alone): DIR has style.mss,
                 viewports, peers/up and peers/down, and their data as dcw, coast, rivers and cities.geojsonl in
                 DIR/data or the folder of --data
  --rounds N     rounds of that comparison (default 9)
  --large N      points of the large layers (default 1,000,000); lines are a fifth, polygons half
  --work DIR     keep the private database with its imported data in DIR and use it again

cold tells what looks at tiles cost that nobody has yet, of three kinds of viewers: random viewports; sessions of persons
who pan and zoom side by side, with rests; and viewports to which one comes back while the map is edited. For each tile
asked for it prints the CPU time of the server, its hosts, Redis and PostgreSQL, and how many tiles were drawn and encoded
("–" where a checkout does not count them); renderd shows no edits.

A ratio is the median of paired rounds; beside it is where it lies with a certainty of 95 %, and the least and the greatest
of the rounds. While that leaves open whether a gate is kept, rounds are added, up to the number in the table. A gate breaks when the median is below it; the
table says "unsure" when the noise still spans the gate. The exit status is 1 when a gate breaks.`;

/** @throws TypeError naming an argument that is not known */
export function parseOptions(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: "boolean", short: "h" },
      small: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      against: { type: "string" },
      peers: { type: "string" },
      data: { type: "string" },
      rounds: { type: "string", default: "9" },
      large: { type: "string" },
      work: { type: "string" },
    },
  });
  if (values.help) return "help";
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new TypeError("--rounds must be a number from 1 on.");
  const large = values.large === undefined ? undefined : Number(values.large);
  if (large !== undefined && (!Number.isInteger(large) || large < 1000))
    throw new TypeError("--large must be a number from 1000 on.");
  return {
    large,
    small: values.small,
    only: values.only,
    against: values.against,
    peers: values.peers,
    data: values.data,
    rounds,
    work: values.work,
  };
}

/** Whether a measure is to run. */
export const wanted = (options: Pick<Options, "only">, name: string): boolean =>
  options.only.length === 0 || options.only.includes(name);
