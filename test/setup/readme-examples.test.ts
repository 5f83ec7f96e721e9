import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { projectPath } from "../../src/api/request/paths.js";
import { apiRoutes } from "../../src/api/routes.js";
import { startServer } from "../support/server.js";
import { isAnswer } from "./shown-answer.support.js";

/**
 * The section "The API by example", run as a reader would run it: all its blocks, in their order, in one shell. A line
 * of a block that begins with `#` shows the answer of the command above it. Lines that are indented further go on with
 * a command.
 */

const built = join(dirname(fileURLToPath(import.meta.url)), "../..");
const readme = await readFile(join(built, "../README.md"), "utf8");
const address = "localhost:8080";

interface Example {
  command: string;
  /** As it is shown; "" = nothing is. */
  answer: string;
}

/** Blocks of the section are indented by four blanks. */
function examplesOf(text: string): Example[] {
  const section = /^## The API by example\n([\s\S]*?)^## /m.exec(text)?.[1] ?? "";
  const examples: Example[] = [];
  for (const [, line = ""] of section.matchAll(/^ {4}(.*)$/gm)) {
    const last = examples.at(-1);
    if (line.startsWith("#") && last) last.answer += `${line.slice(1)}\n`;
    else if (/^\s/.test(line) && last) last.command += `\n${line}`;
    else examples.push({ command: line, answer: "" });
  }
  return examples;
}

/**
 * A shell in which `npx mapwright` is what was built, and curl fails with the status of an answer unless the example
 * shows that status. Each example writes to two files of its own.
 */
function scriptOf(examples: readonly Example[], outputs: string): string {
  const runs = examples.map(
    ({ command }, at) =>
      `echo ${at} >'${outputs}/last'\n{ ${command}\n} >'${outputs}/${at}' 2>'${outputs}/${at}.errors'`,
  );
  return `set -o pipefail
npx() { shift; '${process.execPath}' '${join(built, "src/main.js")}' "$@"; }
curl() {
  case "$*" in
    *http_code*) command curl -sS "$@" ;;
    *) command curl -sS --fail-with-body "$@" ;;
  esac
}
${runs.join("\n")}
`;
}

/** Runs a script, its commands on the database and Redis of the server. */
function bash(
  script: string,
  folder: string,
  variables: Readonly<Record<string, string>>,
): Promise<number | null> {
  const child = spawn("bash", ["-eu", script], {
    cwd: folder,
    env: { PATH: process.env.PATH, LANG: "C.UTF-8", ...variables },
    stdio: "ignore",
  });
  return new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
}

const folder = await mkdtemp(join(tmpdir(), "mapwright-examples-"));
const server = await startServer({
  config: { externalHosts: ["tile.openstreetmap.org"], "external.keysDir": join(folder, "data/keys") },
});
t.teardown(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

t.test("each example of the README succeeds and answers what is shown", async (t) => {
  const examples = examplesOf(readme.replaceAll(address, new URL(server.url).host));
  t.ok(examples.length > 50, `${examples.length} commands`);
  const outputs = join(folder, "outputs");
  await mkdir(outputs);
  const script = join(folder, "examples.sh");
  await writeFile(script, scriptOf(examples, outputs));
  const { config } = server.nodes[0]!.services;
  const status = await bash(script, folder, {
    DATABASE_URL: config.databaseUrl,
    REDIS_URL: config.redisUrl,
    MAPWRIGHT_REDIS_PREFIX: config.redisPrefix,
    MAPWRIGHT_DATA_DIR: config.dataDir,
  });
  const read = (name: string) => readFile(join(outputs, name), "utf8");
  const last = Number(await read("last"));
  for (const [at, { command, answer }] of examples.slice(0, last + 1).entries()) {
    const text = await read(String(at));
    if (at === last && status !== 0) t.fail(command, { status, text, errors: await read(`${at}.errors`) });
    else if (answer !== "") t.ok(isAnswer(answer, text), command, { shown: answer, text });
  }
  t.equal(last, examples.length - 1, "the last example was reached");
});

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
