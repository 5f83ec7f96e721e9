import { readFileSync } from "node:fs";
import type { Command } from "commander";
import MiniSearch from "minisearch";
import { loadPages, type Page, searchIndexPath } from "../docs/pages.js";
import { type Found, findPages, type Part, searchOptions } from "../docs/search.js";
import { didYouMean } from "../near-name.js";
import { programName } from "../program-name.js";
import { type CommandEnvironment, CommandError, isJson, print } from "./environment.js";

/** mapwright help */
export function register(program: Command, env: CommandEnvironment): void {
  program
    .command("help")
    .description("print a page of the documentation, or the help of a command")
    .argument(
      "[subject...]",
      "a page such as backup or restyle, a command, or words to look for in all pages",
    )
    .addHelpText(
      "after",
      `\nExamples:\n  $ ${programName()} help\n  $ ${programName()} help backup\n  $ ${programName()} help import\n  $ ${programName()} help attach a photo`,
    )
    .action((subject: readonly string[], _options: unknown, command: Command) => {
      const pages = loadPages();
      if (subject.length === 0) {
        program.outputHelp();
        print(env, `\nPages of the documentation (${programName()} help PAGE):\n${list(pages)}`);
        return;
      }
      const page = pageNamed(pages, subject);
      const one = commandOf(program, subject);
      if (page) {
        print(
          env,
          isJson(command) ? JSON.stringify({ page: page.path, text: page.markdown }) : page.markdown,
        );
        if (one && !isJson(command))
          print(env, `\nOptions of the command: ${programName()} ${one.name()} --help`);
      } else if (one) {
        if (isJson(command)) print(env, JSON.stringify({ text: one.helpInformation() }));
        else one.outputHelp();
      } else {
        const names = [
          ...program.commands.map((each) => each.name()),
          ...pages.map(({ path }) => nameOf(path)),
        ];
        listFound(env, subject.join(" "), { names, asJson: isJson(command) });
      }
    });
}

/** Prints which pages fit words. @param names of commands and pages @throws CommandError */
function listFound(
  env: CommandEnvironment,
  words: string,
  { names, asJson }: { readonly names: readonly string[]; readonly asJson: boolean },
): void {
  const found = pagesFor(words);
  if (found.length === 0)
    throw new CommandError(
      `No page has "${words}"${didYouMean(words, names)} \`${programName()} help\` lists all of them.`,
    );
  const text = asJson
    ? JSON.stringify({
        pages: found.map((one) => ({ page: pathOf(one), title: one.title, heading: one.heading })),
      })
    : `Pages with "${words}" (${programName()} help PAGE):\n${found.map(foundLine).join("\n")}`;
  print(env, text);
}

const pathOf = ({ address }: Found): string => address.replace(/#.*/, "");
const nameOf = (path: string): string => path.replace(/^.*\//, "");

const list = (pages: readonly Page[]): string =>
  pages
    .filter(({ path }) => !/^reference\/(?:api|operations)-/.test(path))
    .map(({ path, title }) => `  ${nameOf(path).padEnd(32)} ${title}`)
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

/** The page of that name. */
function pageNamed(pages: readonly Page[], subject: readonly string[]): Page | undefined {
  const name = subject.join("-").toLowerCase();
  return pages.find(({ path }) => path === name || path.endsWith(`/${name}`));
}

/** Pages that fit words, the best first, as the search of the documentation in the browser has them. */
function pagesFor(words: string): Found[] {
  const index = MiniSearch.loadJSON<Part>(readFileSync(searchIndexPath, "utf8"), searchOptions);
  return findPages(index, words, 5);
}

/** Name to ask for by `mapwright help`, title, and the part of the page that fits best. */
const foundLine = (found: Found): string => {
  const { title, heading } = found;
  return `  ${nameOf(pathOf(found)).padEnd(32)} ${title}${heading === "" || heading === title ? "" : `: ${heading}`}`;
};
