import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { projectPath } from "../../src/api/request/paths.js";
import { apiRoutes } from "../../src/api/routes.js";
import type { Page } from "../../src/docs/pages.js";
import { saveAddresses } from "../../src/local-services/data-files.js";
import { startServer } from "../support/server.js";
import { pagesToRun, rootOf, runSteps, stepsOf } from "./page-run.support.js";
import { isAnswer } from "./shown-answer.support.js";

/** The shell blocks of the documentation, page by page. `DOCS_PAGES` of the environment names some pages. */

const only = process.env.DOCS_PAGES?.split(",");

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
// As beside `npm start`: no variable names a service, they are found by the data folder.
saveAddresses(config.dataDir, {
  databaseUrl: config.databaseUrl,
  superuserUrl: process.env.MAPWRIGHT_TEST_DATABASE_URL!,
  redisUrl: config.redisUrl,
  serverUrl: `http://${host}`,
});
const secondPort = String(await freePort());
const environment = {
  PATH: process.env.PATH,
  HOME: base,
  LANG: "C.UTF-8",
  MAPWRIGHT_REDIS_PREFIX: config.redisPrefix,
  MAPWRIGHT_DATA_DIR: config.dataDir,
  MAPWRIGHT_EXTERNAL_KEYS_DIR: keys,
};

// Together they take some minutes.
t.setTimeout(900_000);

/** Roots that failed: what goes on from them would fail for the same reason. */
const broken = new Set<Page>();

/** Pages of operations show examples of other pages. */
const isOwn = ({ path }: Page): boolean => !path.startsWith("reference/operations");

for (const page of pagesToRun(({ path }) => only === undefined || only.includes(path)).filter(isOwn)) {
  const steps = stepsOf(page.markdown, host, secondPort);
  if (!steps.some(({ file }) => !file)) continue;
  t.test(`the examples of ${page.path} succeed and answer what is shown`, { timeout: 300_000 }, async (t) => {
    const root = rootOf(page);
    if (broken.has(root)) return t.fail(`the examples of ${root.path} failed`);
    broken.add(root);
    const name = page.path.replace("/", "-");
    const { status, last, output, errors } = await runSteps(page, steps, { base, name, environment });
    let good = status === 0;
    for (const [at, { command, answer }] of steps.slice(0, last + 1).entries()) {
      const text = await output(at);
      if (at === last && status !== 0) t.fail(command, { status, text, errors: await errors(at) });
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
