import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { projectPath } from "../../src/api/request/paths.js";
import { apiRoutes } from "../../src/api/routes.js";
import { blocksOf, type Example, examplesOf } from "../../src/docs/build/reference/examples.js";
import { loadPages, type Page } from "../../src/docs/pages.js";
import { startServer } from "../support/server.js";
import { isAnswer } from "./shown-answer.support.js";

/**
 * The shell blocks of the documentation, run as a reader would run them: page by page, each page in one shell and one folder.
 * Pages that go on from another are run in its folder, with its variables. `DOCS_PAGES` of the environment names some pages.
 */

const built = join(dirname(fileURLToPath(import.meta.url)), "../..");
const address = "localhost:8080";
const only = process.env.DOCS_PAGES?.split(",");

/** As they are written now: generated ones are those of the build. */
const pages = new Map(
  [...loadPages(), ...loadPages(join(built, "../src/docs"))].map((page) => [page.path, page]),
);

/** The page that begins the chain that a page belongs to. */
function rootOf(page: Page): Page {
  const before = page.continues === undefined ? undefined : pages.get(page.continues);
  return before ? rootOf(before) : page;
}

/** Pages in the order in which a reader would come to them: those that go on from another one after it. */
function ordered(): Page[] {
  const done = new Set<Page>();
  const take = (page: Page) => {
    if (done.has(page)) return;
    const before = page.continues === undefined ? undefined : pages.get(page.continues);
    if (before) take(before);
    done.add(page);
  };
  for (const page of pages.values()) if (only === undefined || only.includes(page.path)) take(page);
  return [...done];
}

interface Step extends Example {
  /** A file to write instead of a command. */
  readonly file?: { readonly name: string; readonly text: string };
}

function stepsOf(page: Page): Step[] {
  return blocksOf(page.markdown).flatMap(({ language, words, code }): Step[] => {
    const name = words.find((word) => word.startsWith("file="))?.slice("file=".length);
    if (name !== undefined)
      return [
        { command: `# the file ${name}`, answer: "", file: { name, text: code.replaceAll(address, host) } },
      ];
    if (language !== "sh" || words.includes("machine")) return [];
    return examplesOf(code.replaceAll(address, host));
  });
}

/**
 * A shell in which `npx mapwright` is what was built, and curl fails with the status of an answer unless the example
 * shows that status. Each command writes to two files of its own. Variables are left for pages that go on.
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
npx() {
  shift
  # In the background it is the program that a signal reaches, and no shell in front of it.
  if [ "$BASHPID" != "$$" ]; then exec '${process.execPath}' '${join(built, "src/main.js")}' "$@"; fi
  '${process.execPath}' '${join(built, "src/main.js")}' "$@"
}
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

/** A port that nothing listens on. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });

const base = await mkdtemp(join(tmpdir(), "mapwright-docs-"));
const keys = join(base, "keys");
await mkdir(keys);
const server = await startServer({
  config: { externalHosts: ["tile.openstreetmap.org"], "external.keysDir": keys },
});
const host = `localhost:${new URL(server.url).port}`;
t.teardown(async () => {
  await server.stop();
  await rm(base, { recursive: true, force: true });
});
const { config } = server.nodes[0]!.services;
const environment = {
  PATH: process.env.PATH,
  HOME: base,
  LANG: "C.UTF-8",
  DATABASE_URL: config.databaseUrl,
  ADMIN_DATABASE_URL: process.env.MAPWRIGHT_TEST_DATABASE_URL,
  REDIS_URL: config.redisUrl,
  MAPWRIGHT_REDIS_PREFIX: config.redisPrefix,
  MAPWRIGHT_DATA_DIR: config.dataDir,
  MAPWRIGHT_EXTERNAL_KEYS_DIR: keys,
  PAGE_PORT: String(await freePort()),
};

// Together they take some minutes.
t.setTimeout(900_000);

/** Roots that failed: what goes on from them would fail for the same reason. */
const broken = new Set<Page>();

/** Pages of operations show examples of other pages. */
const isOwn = ({ path }: Page): boolean => !path.startsWith("reference/operations");

for (const page of ordered().filter(isOwn)) {
  const steps = stepsOf(page);
  if (!steps.some(({ file }) => !file)) continue;
  t.test(`the examples of ${page.path} succeed and answer what is shown`, { timeout: 300_000 }, async (t) => {
    const root = rootOf(page);
    if (broken.has(root)) return t.fail(`the examples of ${root.path} failed`);
    broken.add(root);
    const folder = join(base, root.path.replace("/", "-"));
    const outputs = join(base, `${page.path.replace("/", "-")}.outputs`);
    await mkdir(join(folder, "data"), { recursive: true });
    await mkdir(outputs);
    for (const [at, { file }] of steps.entries())
      if (file) await writeFile(join(outputs, `${at}.file`), file.text);
    const script = join(outputs, "script.sh");
    await writeFile(script, scriptOf(steps, outputs, join(base, `${root.path.replace("/", "-")}.variables`)));
    const status = await bash(script, folder, environment);
    const read = (name: string) => readFile(join(outputs, name), "utf8");
    const last = Number(await read("last").catch(() => "-1"));
    let good = status === 0;
    for (const [at, { command, answer }] of steps.slice(0, last + 1).entries()) {
      const text = await read(String(at));
      if (at === last && status !== 0) t.fail(command, { status, text, errors: await read(`${at}.errors`) });
      else if (answer !== "") good = t.ok(isAnswer(answer, text), command, { shown: answer, text }) && good;
    }
    t.equal(last, steps.length - 1, "the last example was reached");
    if (good) broken.delete(root);
  });
}

if (only === undefined)
  t.test("each route of the contract is used by an example", async (t) => {
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    const used = new Set<string>();
    for (const [, labels = ""] of metrics.matchAll(/^mapwright_requests_total\{(.*)\} [1-9]/gm)) {
      const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
      // 499: the client left, as it has to where an answer does not end.
      if (["200", "499"].includes(label("status"))) used.add(`${label("method")} ${label("route")}`);
    }
    const missing = apiRoutes
      .filter(({ path }) => path.startsWith(projectPath) || path.startsWith("/tms/"))
      .filter(({ methods, path }) => !methods.some((method) => used.has(`${method} ${path}`)))
      .map(({ methods, path }) => `${methods[0]} ${path.replace(`${projectPath}/`, "")}`);
    t.same(missing, []);
  });
