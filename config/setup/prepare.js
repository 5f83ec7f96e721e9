import { build } from "./build.js";
import { installModules, linkCommand } from "./modules.js";
import { installPackages } from "./packages.js";
import { endRunning, SetupError } from "./progress.js";

/**
 * `node prepare.js start|test|bench`: installs and builds what this checkout lacks.
 * Uses Node's own modules only, since it runs before anything is installed. Prints nothing when nothing is missing.
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
