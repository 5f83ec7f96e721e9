import t from "tap";
import { playAll, told } from "./play.js";
import { startNodes } from "./servers.js";

/**
 * Two editors change the same objects with what of the console decides, on two nodes of which one is killed now and then. In a run of
 * the suite as many sessions as fit into some 25 seconds; `EDITING_SESSIONS=10000` in the environment chooses how many, and
 * `EDITING_SEED=1` the first.
 */
const { EDITING_SESSIONS, EDITING_SEED = "1" } = process.env;
const mostSessions = 300;
const mostMs = 25_000;
/** Fewer would say little. */
const leastSessions = 20;
t.setTimeout(6 * 3_600_000);

const nodes = await startNodes();
t.teardown(() => nodes.stop());

t.test("in sessions of two editors nothing is lost, done twice, or asked without need", async (t) => {
  const begun = performance.now();
  let kills = 0;
  const { sessions, wrong, counts } = await playAll({
    ...{ place: nodes.place, first: Number(EDITING_SEED), together: 8 },
    ...(EDITING_SESSIONS
      ? { count: Number(EDITING_SESSIONS) }
      : { count: mostSessions, until: begun + mostMs }),
    kill: async (node) => {
      if (await nodes.kill(node)) kills++;
    },
  });
  const seconds = Math.round((performance.now() - begun) / 1000);
  const figures = `${sessions} sessions in ${seconds} s, ${kills} kills, ${JSON.stringify(counts)}`;
  if (EDITING_SESSIONS) process.stderr.write(`${figures}\n`);
  if (wrong) process.stderr.write(`${told(wrong)}\n`);
  t.equal(wrong?.seed, undefined, figures);
  t.ok(EDITING_SESSIONS !== undefined || sessions >= leastSessions, figures);
});
