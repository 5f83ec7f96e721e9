import { createInterface } from "node:readline";
import { type CommandEnvironment, CommandError, UsageError } from "./environment.js";

/** Option of commands that delete. */
export const yesOption = ["--yes", "do not ask; needed where there is no terminal"] as const;

/**
 * Asks at a terminal whether to go on.
 * @param yes whether `--yes` was given
 * @param binDays for how many days what is deleted can be restored; 0 = it cannot
 * @throws CommandError when the answer is not yes, UsageError without a terminal
 */
export async function confirm(
  env: CommandEnvironment,
  question: string,
  yes = false,
  binDays = 0,
): Promise<void> {
  if (yes) return;
  if (!env.stdin.isTTY) throw new UsageError("There is no terminal to ask at: --yes says that it is meant.");
  const wayBack =
    binDays === 0
      ? "This cannot be undone."
      : `It can be restored for ${binDays} ${binDays === 1 ? "day" : "days"} (bin restore).`;
  const answer = await ask(env, `${question} ${wayBack} [y/N] `);
  if (!/^\s*y(?:es)?\s*$/i.test(answer)) throw new CommandError("Nothing was changed.");
}

/** A line that is typed; "" when none is. */
function ask(env: CommandEnvironment, question: string): Promise<string> {
  const lines = createInterface({ input: env.stdin, output: env.stderr, terminal: true });
  return new Promise((resolve) => {
    let answer = "";
    lines.once("close", () => resolve(answer));
    lines.once("SIGINT", () => {
      env.stderr.write("\n");
      lines.close();
    });
    lines.question(question, (line) => {
      answer = line;
      lines.close();
    });
  });
}
