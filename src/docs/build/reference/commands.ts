import type { Command } from "commander";
import { buildProgram, type CommandEnvironment } from "../../../commands/program.js";
import { programName } from "../../../program-name.js";

/** The page of the commands, from what `--help` says of each. */

/** Nothing is run and nothing read: the commands are only looked at. */
const nowhere = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  yieldToOthers: () => undefined,
} satisfies CommandEnvironment;

/** What `--help` prints, with its examples, but for the description, which stands above it. */
function helpOf(command: Command): string {
  let text = "";
  const write = (part: string) => {
    text += part;
  };
  command.configureOutput({ writeOut: write, getOutHelpWidth: () => 100, getOutHasColors: () => false });
  command.outputHelp();
  return text
    .trim()
    .replaceAll(programName(), "mapwright")
    .replace(/^(Usage: .*\n\n)[\s\S]*?\n\n/, "$1");
}

function* leavesOf(command: Command, path: string): Generator<[path: string, command: Command]> {
  if (command.commands.length === 0) yield [path, command];
  for (const one of command.commands) yield* leavesOf(one, `${path} ${one.name()}`);
}

export async function commandsPage(): Promise<string> {
  const program = await buildProgram(nowhere);
  const leaves = [...leavesOf(program, "mapwright")];
  const rows = leaves.map(
    ([path, command]) =>
      `| [\`${path}\`](#${path.replaceAll(" ", "-")}) | ${command.description().replaceAll("|", "\\|")} |`,
  );
  const parts = leaves.map(
    ([path, command]) =>
      `## ${path}\n\n${sentence(command.description())}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\``,
  );
  return `# Commands

<!-- words: command line, cli, terminal, shell, npx mapwright, help -->

Everything that \`mapwright\` can do from a terminal. In a checkout it is \`npx mapwright\`.

Data go to standard output, messages to standard error. Every command takes \`--json\`: its result is JSON then, and an error is
\`{"error": {"code": …, "message": …, "data": …}}\` on standard error. The exit status is 0 (done), 1 (failed) or 2 (wrong usage); 141
when nobody reads the output any more, as in \`… | head\`.

Every command also takes \`--config\` with a [file of settings](../operating/first-settings.md), and \`--database-url\`, \`--redis-url\`,
\`--data-dir\` and \`--log-level\`, which override what is in it.

| command | what it does |
|---|---|
${rows.join("\n")}

${parts.join("\n\n")}
`;
}

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
