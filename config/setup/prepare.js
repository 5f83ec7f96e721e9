import { build } from "./build.js";
import { installModules, linkCommand } from "./modules.js";
import { installPackages } from "./packages.js";
import { endRunning, SetupError } from "./progress.js";

/**
 * `node prepare.js start|test|bench`: whatever this checkout still needs, in the order in which it is needed.
 * Uses nothing but Node itself, for it runs before anything is installed. Says nothing when all is in place.
 */

const purpose = process.argv[2] ?? "start";

for (const [signal, status] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
]) {
  process.once(signal, async () => {
    await endRunning();
    process.exit(status);
  });
}

try {
  await installPackages(purpose);
  await installModules();
  await build();
  linkCommand();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
