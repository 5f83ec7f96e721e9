/** What failed, from TAP: for logs, where the runner's own reporter shows nothing. */

/** Of more failures than this the first tell enough. */
const mostFailures = 20;
const mostLines = 40;

/** Failed assertions with the tests that they stand in and the lines that explain them; "" when there are none. */
export function failuresOf(tapText: string): string {
  const lines = tapText.split("\n");
  /** Names of the subtests that a line stands in; each is four blanks deeper than the one around it. */
  let path: string[] = [];
  const failures: string[] = [];
  /** How many failures there were when each of them began. */
  let before: number[] = [];
  lines.forEach((line, at) => {
    const [, blanks = "", subtest, failed] = /^( *)(?:# Subtest: (.*)|not ok \d+ - (.*))$/.exec(line) ?? [];
    const depth = blanks.length / 4;
    if (subtest !== undefined) {
      path = [...path.slice(0, depth), subtest];
      before = [...before.slice(0, depth), failures.length];
      return;
    }
    if (failed === undefined) return;
    // A subtest that failed is told by what failed in it; a file that ended before its first test has nothing in it.
    if (!isSummary(failed, path[depth]) || failures.length === before[depth]) {
      failures.push(
        [[...path.slice(0, depth), failed].join(" > "), ...explanation(lines, at + 1)].join("\n"),
      );
    }
  });
  const more = failures.length - mostFailures;
  return [...failures.slice(0, mostFailures), ...(more > 0 ? [`and ${more} more`] : [])].join("\n\n");
}

/** Of more failures than this only the names are told again. */
const mostExplained = 5;

/** The names of what failed and, of a few failures, what was found in place of what was expected. */
export function briefly(failures: string): string {
  const all = failures.split("\n\n").map((failure) => failure.split("\n"));
  const told = (lines: readonly string[]) =>
    lines.filter((line) => /^\s*[-+](?!--|\+\+)/.test(line)).map((line) => `    ${line.trim()}`);
  return all
    .flatMap(([name = "", ...lines]) => [
      `  ${name}`,
      ...(all.length <= mostExplained ? told(lines).slice(0, 10) : []),
    ])
    .map((line) => line.slice(0, 200))
    .join("\n");
}

const isSummary = (failed: string, subtest: string | undefined): boolean =>
  subtest !== undefined && (failed === subtest || failed.startsWith(`${subtest} # `));

/** The lines between `---` and `...`. */
function explanation(lines: readonly string[], from: number): string[] {
  if (lines[from]?.trim() !== "---") return [];
  const end = lines.findIndex((line, at) => at > from && line.trim() === "...");
  const block = lines.slice(from + 1, end === -1 ? undefined : end);
  return block.length <= mostLines ? block : [...block.slice(0, mostLines), "…"];
}
