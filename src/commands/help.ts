import type { Command } from "commander";
import { loadPages, type Page } from "../docs/pages.js";
import { type CommandEnvironment, CommandError, isJson, print } from "./environment.js";

/** mapwright help */
export function register(program: Command, env: CommandEnvironment): void {
  program.helpCommand(false);
  program
    .command("help")
    .description("print a page of the documentation, or the help of a command")
    .argument("[subject...]", "a page such as backup or restyle, a command, or words to look for")
    .addHelpText(
      "after",
      "\nExamples:\n  $ mapwright help\n  $ mapwright help backup\n  $ mapwright help import\n  $ mapwright help largest file",
    )
    .action((subject: readonly string[], _options: unknown, command: Command) => {
      const pages = loadPages();
      if (subject.length === 0) {
        program.outputHelp();
        print(env, `\nPages of the documentation (mapwright help PAGE):\n${list(pages)}`);
        return;
      }
      const [found, others] = findPage(pages, subject);
      const one = commandOf(program, subject);
      if (isJson(command)) {
        if (!found && !one) throw new CommandError(nothing(subject, others));
        print(
          env,
          JSON.stringify(
            found ? { page: found.path, text: found.markdown } : { text: one!.helpInformation() },
          ),
        );
        return;
      }
      // A page with the name of a command is about the same, and says more.
      if (one && (!found || found.path !== subject.join(" "))) one.outputHelp();
      else if (found) print(env, found.markdown);
      else throw new CommandError(nothing(subject, others));
    });
}

const list = (pages: readonly Page[]): string =>
  pages
    .filter(({ path }) => !/^reference\/(?:api|operations)-/.test(path))
    .map(({ path, title }) => `  ${path.replace(/^.*\//, "").padEnd(32)} ${title}`)
    .join("\n");

function commandOf(program: Command, subject: readonly string[]): Command | undefined {
  let command = program;
  for (const name of subject) {
    const below = command.commands.find((one) => one.name() === name);
    if (!below) return undefined;
    command = below;
  }
  return command;
}

/** The page of that name, or the only one that has all words; else those that have most of them. */
function findPage(pages: readonly Page[], subject: readonly string[]): [Page | undefined, readonly Page[]] {
  const name = subject.join("-").toLowerCase();
  const exact = pages.find(({ path }) => path === name || path.endsWith(`/${name}`));
  if (exact) return [exact, []];
  const words = subject.flatMap((word) => word.toLowerCase().split(/\s+/));
  const scored = pages
    .map((page) => {
      const head = `${page.path} ${page.title} ${page.words}`.toLowerCase();
      const body = page.markdown.toLowerCase();
      const score = words.reduce(
        (sum, word) => sum + (head.includes(word) ? 3 : body.includes(word) ? 1 : 0),
        0,
      );
      return { page, score };
    })
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score);
  const best = scored.slice(0, 5).map(({ page }) => page);
  const isClear = scored.length === 1 || (scored.length > 1 && scored[0]!.score > scored[1]!.score);
  return [isClear && scored[0]!.score >= 3 ? scored[0]!.page : undefined, best];
}

const nothing = (subject: readonly string[], others: readonly Page[]): string =>
  `There is no page "${subject.join(" ")}".${
    others.length > 0
      ? ` Near it: ${others.map(({ path }) => path.replace(/^.*\//, "")).join(", ")}.`
      : " `mapwright help` lists them."
  }`;
