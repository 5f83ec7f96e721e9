import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import t from "tap";
import type { Mutant } from "../simulation/mutants.js";
import { mutatedModule } from "../simulation/mutated.js";
import { mutants } from "./mutants.js";
import { startNodes } from "./servers.js";

/** Every mutant must be found within so many sessions. */
const mostSessions = 400;
const processes = 2;
/** Several times the usual duration: the cores may be busy with other tests. */
t.setTimeout(1_200_000);

const { place, stop } = await startNodes();
t.teardown(stop);
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

async function playMutated(
  mutant: Mutant,
): Promise<{ readonly status: number | null; readonly output: string }> {
  const child = spawn(
    process.execPath,
    [
      ...["--import", path("../simulation/mutate.js"), path("run.js")],
      ...[JSON.stringify(place), String(mutant.first ?? 1), String(mostSessions)],
    ],
    {
      // Without NODE_OPTIONS, by which the test runner loads modules into every process.
      env: { PATH: process.env.PATH, MUTANT: JSON.stringify(mutatedModule(mutant)) },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { status: child.exitCode, output: `${output}${errors}` };
}

t.test("every mutant of the console is found", async (t) => {
  const waiting = [...mutants];
  const work = async () => {
    for (;;) {
      const mutant = waiting.shift();
      if (mutant === undefined) return;
      const { status, output } = await playMutated(mutant);
      t.equal(status, 2, `${mutant.name}: ${output.split("\n").slice(0, 2).join(" ")}`);
    }
  };
  await Promise.all(Array.from({ length: processes }, work));
});
