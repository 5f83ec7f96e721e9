import { attackNames } from "./hostile.js";
import { parseSoakOptions, type SoakOptions, usage } from "./options.js";
import { brokenRules, reportText, rulesOf } from "./report.js";
import { soak } from "./soak.js";

/** `node run.js`: prints what was found; the exit status is 1 when a rule that counts breaks, 2 when an argument is wrong. */

const places = 20_000;
const warmUpSeconds = 5;

function optionsOf(args: readonly string[]): SoakOptions | undefined {
  const help = `${usage}\n\nAttacks: ${attackNames.join(", ")}`;
  try {
    const options = parseSoakOptions(args);
    if (options === "help") {
      console.log(help);
      return undefined;
    }
    const unknown = options.only.find((name) => !attackNames.includes(name));
    if (unknown !== undefined) throw new TypeError(`There is no attack "${unknown}".`);
    return options;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`);
    process.exitCode = 2;
    return undefined;
  }
}

// By way of `exit`, where the folder is cleared away.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

const options = optionsOf(process.argv.slice(2));
if (options) {
  const runs = await soak({
    ...options,
    ...{ places, warmUpSeconds, progress: (text: string) => console.error(text) },
  });
  console.log(reportText(runs));
  const broken = brokenRules(rulesOf(runs), options.strict);
  if (broken.length > 0) {
    console.error(`\n${broken.length} of the rules break.`);
    process.exitCode = 1;
  }
}
