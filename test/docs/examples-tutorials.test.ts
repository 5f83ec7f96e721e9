import t from "tap";
import { loadPages } from "../../src/docs/pages.js";
import { testExamples } from "./page-examples.support.js";
import { stepsOf } from "./page-run.support.js";

/** The examples of the tutorials. */

await testExamples("tutorials");

t.test("the first map takes twelve commands at most", async (t) => {
  const { markdown } = loadPages().find(({ path }) => path === "tutorials/first-map")!;
  const commands = stepsOf(markdown, "").filter(({ file }) => !file);
  t.ok(commands.length > 0 && commands.length <= 12, `${commands.length} commands`);
});
