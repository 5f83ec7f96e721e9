import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { haveEmptyBaseMap } from "../../bench/empty-base-map.js";
import { sections } from "../../src/docs/contents.js";
import type { Page } from "../../src/docs/pages.js";
import { saveAddresses } from "../../src/local-services/data-files.js";
import { quietLog } from "../support/log.js";
import { startServer, type TestServer } from "../support/server.js";
import { pagesToRun, rootOf, runSteps, stepsOf } from "./page-run.support.js";
import { isAnswer } from "./shown-answer.support.js";

/** The shell blocks of the documentation, page by page. `DOCS_PAGES` of the environment names some pages. */

const only = process.env.DOCS_PAGES?.split(",");
const isAsked = ({ path }: Page): boolean => only === undefined || only.includes(path);

/** Each has a test file of its own, as together they take minutes. */
export type Share = "tutorials" | "look" | "data" | "users" | "set-up" | "growth" | "reference";

const byGroup: Readonly<Record<string, Share>> = {
  "The look of a map": "look",
  "Columns and objects": "look",
  "Data in and out": "data",
  "For those who read the map": "users",
  "Users, tidying up, limits": "users",
  "Set it up": "set-up",
  "Keep it safe": "set-up",
  Plans: "growth",
  "Let it grow": "growth",
  "Watch it": "growth",
};

const shareByPage = new Map<string, Share>(
  sections.flatMap(({ folder, groups }) =>
    groups.flatMap(({ title, pages }) =>
      pages.map((page): [string, Share] => [
        `${folder}/${page}`,
        byGroup[title] ?? (folder === "tutorials" ? "tutorials" : "reference"),
      ]),
    ),
  ),
);

/** Pages of operations show examples of other pages. */
const hasOwn = ({ path, markdown }: Page): boolean =>
  !path.startsWith("reference/operations") && stepsOf(markdown, "").some(({ file }) => !file);

/** A port that nothing listens on. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });

/**
 * Tests the examples of a share of the pages, on a server of its own.
 * @param whole more tests, of what all examples together have used: not where `DOCS_PAGES` names some only
 */
export async function testExamples(share: Share, whole?: (server: TestServer) => void): Promise<void> {
  const pages = pagesToRun((page) => shareByPage.get(page.path) === share && isAsked(page)).filter(hasOwn);
  if (pages.length === 0) return;
  // Together they take some minutes.
  t.setTimeout(900_000);
  const base = await mkdtemp(join(tmpdir(), "mapwright-docs-"));
  const keys = join(base, "keys");
  await mkdir(keys);
  const server = await startServer({
    config: { externalHosts: ["tile.openstreetmap.org"], "external.keysDir": keys },
  });
  t.teardown(async () => {
    await server.stop();
    await rm(base, { recursive: true, force: true });
  });
  // As a server that runs has its base map, those that pages start beside it find one.
  const { config, ...services } = server.nodes[0]!.services;
  await haveEmptyBaseMap({ db: services.db, transfer: services.transfer, config, log: quietLog });
  const host = `localhost:${new URL(server.url).port}`;
  // As beside `npm start`: no variable names a service, they are found by the data folder.
  saveAddresses(config.dataDir, {
    // Of a pooler the pages that tell of it give both addresses.
    databaseUrl: config.databaseDirectUrl || config.databaseUrl,
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
  /** Roots that failed: what goes on from them would fail for the same reason. */
  const broken = new Set<Page>();
  for (const page of pages)
    t.test(
      `the examples of ${page.path} succeed and answer what is shown`,
      { timeout: 300_000 },
      async (t) => {
        const root = rootOf(page);
        if (broken.has(root)) return t.fail(`the examples of ${root.path} failed`);
        broken.add(root);
        const steps = stepsOf(page.markdown, host, secondPort);
        const name = page.path.replace("/", "-");
        const { status, last, output, errors } = await runSteps(page, steps, { base, name, environment });
        let good = status === 0;
        for (const [at, { command, answer }] of steps.slice(0, last + 1).entries()) {
          const text = await output(at);
          if (at === last && status !== 0) t.fail(command, { status, text, errors: await errors(at) });
          else if (answer !== "")
            good = t.ok(isAnswer(answer, text), command, { shown: answer, text }) && good;
        }
        t.equal(last, steps.length - 1, "the last example was reached");
        if (good) broken.delete(root);
      },
    );
  if (only === undefined) whole?.(server);
}
