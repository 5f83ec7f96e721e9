import { playAll, told } from "./play.js";

/**
 * `node run.js PLACE FIRST COUNT`: plays the sessions of COUNT seeds, from FIRST, on nodes that run, of which PLACE tells as JSON.
 * Stops at the first that is wrong, with exit code 2.
 */
const [place = "", first = "1", count = "1"] = process.argv.slice(2);
const { wrong } = await playAll({
  ...{ place: JSON.parse(place), first: Number(first), count: Number(count), together: 8 },
  kill: () => undefined,
});
if (wrong) console.log(told(wrong));
process.exit(wrong ? 2 : 0);
