import { pathToFileURL } from "node:url";
import { end, share } from "./support/whole-process.js";
import { ofProcessors } from "./times.js";

/**
 * `node dist/test/group.js FILE …`: test files in one process, one after the other. To load the program and tap takes longer
 * than most of the files. Each is a test of its own in the output, with its teardown at its end, and a line with its times.
 */

// Off the arguments before tap reads them: it makes names of folders of all of them, which would be too long.
const files = process.argv.splice(2);
const { default: root } = await import("tap");

/** What the files call on tap's object, which is the whole process's: here it is the current file's. */
const used = ["test", "teardown", "comment", "setTimeout", "testdir", "ok", "equal", "pass"] as const;
/** Of a whole file. Above what any test asks for. */
const longestMs = 15 * 60_000;

const own = { test: root.test.bind(root), comment: root.comment.bind(root) };
root.setTimeout(0);
let file: Record<string, (...given: unknown[]) => unknown>;
for (const name of used)
  Object.defineProperty(root, name, { value: (...given: unknown[]) => file[name]!(...given) });

const processors = () => {
  const { own, ended } = ofProcessors();
  return own + ended;
};

share();
for (const path of files) {
  const begun = { wall: performance.now(), cpu: processors() };
  await own.test(path, { timeout: longestMs }, async (test) => {
    file = test as unknown as typeof file;
    await import(pathToFileURL(path).href);
  });
  const wall = (performance.now() - begun.wall) / 1000;
  own.comment(`took ${wall.toFixed(1)} ${(processors() - begun.cpu).toFixed(1)} ${path}`);
}
await end();
