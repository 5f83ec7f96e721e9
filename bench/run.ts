import { bench } from "./bench.js";
import { type Options, parseOptions, usage, wanted } from "./options.js";
import { comparePeers } from "./peers/compare.js";
import { broken, type Row, table } from "./report.js";

/** `node run.js`: prints the table; the exit status is 1 when a gate breaks, 2 when an argument is wrong. */

const progress = (text: string) => console.error(text);

async function measure(options: Options): Promise<Row[]> {
  const { peers, data, rounds, work } = options;
  const rows = await bench({ ...options, progress });
  if (peers !== undefined && (wanted(options, "peers") || wanted(options, "cold"))) {
    rows.push(...(await comparePeers({ folder: peers, data, rounds, work, progress })));
  }
  return rows;
}

function optionsOf(args: readonly string[]): Options | undefined {
  try {
    const options = parseOptions(args);
    if (options !== "help") return options;
    console.log(usage);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exitCode = 2;
  }
  return undefined;
}

// By way of `exit`, where temporary folders and peers are cleared away.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

const options = optionsOf(process.argv.slice(2));
if (options) {
  const rows = await measure(options);
  console.log(table(rows));
  const failing = broken(rows, options.small);
  if (failing.length > 0) {
    console.error(`\n${failing.length} of the gates break.`);
    process.exitCode = 1;
  }
}
