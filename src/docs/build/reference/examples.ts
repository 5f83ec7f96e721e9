/** Examples in the pages: commands with the answers that are shown, and which operation each one uses. */

export interface Block {
  /** `sh`, `json`, `css` … */
  readonly language: string;
  /** The other words of the info string: `file=trees.csv`, `machine`. */
  readonly words: readonly string[];
  readonly code: string;
}

/** The fenced blocks of a page. */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^(`{3,})(\w+)([^\n`]*)\n([\s\S]*?)^\1$/gm)].map(
    ([, , language = "", info = "", code = ""]) => ({
      language,
      words: info.trim().split(/\s+/).filter(Boolean),
      code,
    }),
  );
}

export interface Example {
  /** May go on over several lines, which are indented, or in a here-document. */
  command: string;
  /** As it is shown; "" = nothing is. */
  answer: string;
}

/** Commands of a shell block. A line that begins with `#` below a command shows its answer, indented lines go on with it. */
export function examplesOf(code: string): Example[] {
  const examples: Example[] = [];
  let until: string | undefined;
  let isContinued = false;
  for (const line of code.split("\n")) {
    const last = examples.at(-1);
    if (until !== undefined || isContinued) {
      last!.command += `\n${line}`;
      if (line === until) until = undefined;
      isContinued = until === undefined && line.endsWith("\\");
      continue;
    }
    if (line.trim() === "") continue;
    if (line.startsWith("#")) {
      if (last) last.answer += `${line.slice(1)}\n`;
      continue;
    }
    if (/^\s|^[})]/.test(line) && last) last.command += `\n${line}`;
    else examples.push({ command: line, answer: "" });
    until = /<<-?\s*['"]?(\w+)['"]?/.exec(line)?.[1];
    isContinued = line.endsWith("\\");
  }
  return examples;
}

/** Method and address of each request by curl in a command, variables that are known put in their places. */
export function requestsOf(
  command: string,
  variables: ReadonlyMap<string, string>,
): { method: string; path: string }[] {
  const plain = command.replaceAll("\n", " ");
  return [...plain.matchAll(/\bcurl\b((?:'[^']*'|"[^"]*"|[^|'";)])*)/g)].flatMap(([, given = ""]) => {
    const expanded = expand(given, variables);
    const [, address] = /(?:https?:\/\/[^/\s"']+)(\/[^\s"'?]*)/.exec(expanded) ?? [];
    if (address === undefined) return [];
    const [, method = /\s(?:--json|-d|--data\S*|-F|--form)\s/.test(expanded) ? "POST" : "GET"] =
      /\s-X\s*(\w+)/.exec(expanded) ?? [];
    return [{ method, path: address }];
  });
}

const expand = (text: string, variables: ReadonlyMap<string, string>): string =>
  text.replace(/\$\{?(\w+)\}?/g, (whole, name: string) => variables.get(name) ?? whole);

/** Notes variables that a command sets to an address. */
export function noteVariables(command: string, variables: Map<string, string>): void {
  for (const [, name = "", value = ""] of command.matchAll(/(?:^|\s)(\w+)=("[^"]*"|'[^']*'|[^\s(]+)/g))
    variables.set(name, expand(value.replace(/^["']|["']$/g, ""), variables));
}
