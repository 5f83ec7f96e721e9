import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { blocksOf, type Example, examplesOf } from "../../src/docs/build/reference/examples.js";
import { loadPages, type Page } from "../../src/docs/pages.js";

/**
 * The shell blocks of the documentation, run as a reader would run them: each page in one shell and one folder. Pages that go on
 * from another are run in its folder, with its variables.
 */

const built = join(dirname(fileURLToPath(import.meta.url)), "../..");
const address = "localhost:8080";
/** Of a second server that a page starts. */
const secondPort = "8081";

/** As they are written now: generated ones are those of the build. */
const pages = new Map(
  [...loadPages(), ...loadPages(join(built, "../src/docs"))].map((page) => [page.path, page]),
);

const before = (page: Page): Page | undefined =>
  page.continues === undefined ? undefined : pages.get(page.continues);

/** The page that begins the chain that a page belongs to. */
export function rootOf(page: Page): Page {
  const last = before(page);
  return last ? rootOf(last) : page;
}

/**
 * Pages in the order in which a reader would come to them: those that go on from another one after it.
 * @param isWanted also takes those that a wanted one goes on from
 */
export function pagesToRun(isWanted: (page: Page) => boolean): Page[] {
  const done = new Set<Page>();
  const take = (page: Page) => {
    if (done.has(page)) return;
    const last = before(page);
    if (last) take(last);
    done.add(page);
  };
  for (const page of pages.values()) if (isWanted(page)) take(page);
  return [...done];
}

export interface Step extends Example {
  /** A file to write instead of a command. */
  readonly file?: { readonly name: string; readonly text: string };
}

/** @param host in place of `localhost:8080` @param port in place of 8081, of a second server */
export function stepsOf(markdown: string, host: string, port = secondPort): Step[] {
  const ofThisRun = (code: string) => code.replaceAll(address, host).replaceAll(secondPort, port);
  return blocksOf(markdown).flatMap(({ language, words, code }): Step[] => {
    const name = words.find((word) => word.startsWith("file="))?.slice("file=".length);
    if (name !== undefined)
      return [{ command: `# the file ${name}`, answer: "", file: { name, text: ofThisRun(code) } }];
    if (language !== "sh" || words.includes("machine")) return [];
    return examplesOf(ofThisRun(code));
  });
}

/** `npx` and `npm`, as far as pages use them beside a checkout: in a folder for the path. */
function programsIn(folder: string): string {
  const place = join(folder, "bin");
  const mapwright = `'${process.execPath}' '${join(built, "src/main.js")}'`;
  const programs = {
    npx: `program=$1
shift
[ $program = mapwright ] || exec "${join(built, "../node_modules/.bin")}/$program" "$@"
npm_lifecycle_event=npx exec ${mapwright} "$@"`,
    // `npm start -- …` becomes this when nothing is left to prepare.
    npm: `shift 2
exec ${mapwright} serve --local "$@"`,
  };
  mkdirSync(place);
  for (const [name, text] of Object.entries(programs))
    writeFileSync(join(place, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return place;
}

/**
 * A shell in which `npx mapwright` and `npm start` are what was built, and curl fails with the status of an answer unless the
 * example shows that status. Each command writes to two files of its own. Variables are left for what goes on.
 */
function scriptOf(steps: readonly Step[], outputs: string, variables: string): string {
  const runs = steps.map(({ command, file }, at) => {
    const what = file
      ? `mkdir -p "$(dirname ${file.name})"; cp '${outputs}/${at}.file' '${file.name}'`
      : command;
    return `echo ${at} >'${outputs}/last'\n{ ${what}\n} >'${outputs}/${at}' 2>'${outputs}/${at}.errors'`;
  });
  return `set -o pipefail
[ ! -e '${variables}' ] || . '${variables}' 2>/dev/null || :
PATH='${programsIn(outputs)}':$PATH
curl() {
  case "$*" in
    *http_code*|*' -w '*|*'%{'*) command curl -sS "$@" ;;
    *) command curl -sS --fail-with-body "$@" ;;
  esac
}
set -e
${runs.join("\n")}
declare -p | grep -v -E '^declare -[a-zA-Z]*[rA][a-zA-Z]* |BASH|^declare -- _=' >'${variables}'
declare -f | sed -n p >>'${variables}'
`;
}

function bash(script: string, folder: string, environment: NodeJS.ProcessEnv): Promise<number | null> {
  const child = spawn("bash", [script], { cwd: folder, env: environment, stdio: "ignore", detached: true });
  return new Promise((resolve, reject) =>
    child.once("error", reject).once("close", (status) => {
      try {
        // What a page has left running.
        process.kill(-child.pid!, "SIGTERM");
      } catch {
        // Nothing.
      }
      resolve(status);
    }),
  );
}

export interface PageRun {
  /** Of the shell. */
  readonly status: number | null;
  /** Of the last step that was begun; -1 = none. */
  readonly last: number;
  readonly output: (at: number) => Promise<string>;
  readonly errors: (at: number) => Promise<string>;
}

/** Runs steps of a page. @param base folder of all runs @param name of this run in it */
export async function runSteps(
  page: Page,
  steps: readonly Step[],
  { base, name, environment }: { base: string; name: string; environment: NodeJS.ProcessEnv },
): Promise<PageRun> {
  const root = rootOf(page).path.replace("/", "-");
  const folder = join(base, root);
  const outputs = join(base, `${name}.outputs`);
  await mkdir(join(folder, "data"), { recursive: true });
  await mkdir(outputs);
  for (const [at, { file }] of steps.entries())
    if (file) await writeFile(join(outputs, `${at}.file`), file.text);
  const script = join(outputs, "script.sh");
  await writeFile(script, scriptOf(steps, outputs, join(base, `${root}.variables`)));
  const status = await bash(script, folder, environment);
  const read = (file: string) => readFile(join(outputs, file), "utf8");
  return {
    status,
    last: Number(await read("last").catch(() => "-1")),
    output: (at) => read(String(at)),
    errors: (at) => read(`${at}.errors`),
  };
}
