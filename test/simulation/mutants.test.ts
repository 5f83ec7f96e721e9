import t from "tap";
import { mutants, window } from "./mutants.js";
import { playSeeds } from "./processes.js";

/** Every mutant must be found within this number of seeds. */
const maxSeeds = 20_000;
const processes = 2;
/** Several times the usual duration: the cores may be busy with other tests. */
t.setTimeout(1_200_000);

t.test("every mutant of the tile path is found", async (t) => {
  const waiting = [...mutants];
  const work = async () => {
    for (;;) {
      const mutant = waiting.shift();
      if (mutant === undefined) return;
      const { name, first = 1 } = mutant;
      const { status, output } = await playSeeds({ first, count: maxSeeds, mutant, found: true });
      const found = /^(?:Seed|Up to seed) (\d+): /.exec(output)?.[1];
      t.ok(status === 2 && found !== undefined, `${name}: ${output.split("\n")[0]}`);
      if (Number(found) >= first + window)
        t.comment(
          `${name}: first may be ${Number(found) - 5}, so that simulation.test.ts plays what finds it`,
        );
    }
  };
  await Promise.all(Array.from({ length: processes }, work));
});
