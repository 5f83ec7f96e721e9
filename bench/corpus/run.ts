import { appendFileSync, openAsBlob, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { addMember } from "../../src/access/accounts.js";
import { createMap } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { type Server, startServer } from "../server.js";
import { startWorld } from "../world.js";
import { type Dataset, datasetsIn } from "./files.js";
import { type Latencies, Neighbour } from "./neighbour.js";

/**
 * `npm run corpus -- [options]`: imports files that other people made, one after the other, into a server of its own, and
 * tells what became of them, while other users ask for a tile and for a list.
 */

const usage = `npm run corpus -- [--folder DIR] [--only EXTENSION]… [--match TEXT] [--report FILE]

  --folder DIR      the files (default data/corpus; sh bench/corpus/fetch.sh DIR fetches some)
  --only EXTENSION  files of this kind only; may be repeated
  --match TEXT      files whose path contains the text only
  --report FILE     every file with its result, as lines of JSON (default DIR.results.ndjson)

A file is imported, refused with a reason, or has failed: an error of the server, no answer within a minute, or a
process that ended. The exit status is 1 when one has failed.`;

const deadlineMs = 60_000;
const project = "corpus";

interface Result {
  readonly file: string;
  readonly extension: string;
  readonly outcome: "imported" | "refused" | "failed";
  readonly objects: number;
  readonly ms: number;
  /** Why it was refused or has failed. */
  readonly reason: string;
  /** What the server says of the import. */
  readonly told: unknown;
}

interface Session {
  readonly server: Server;
  readonly token: string;
}

async function importOne({ server, token }: Session, dataset: Dataset): Promise<Result> {
  const api = `${server.url}/api/2.8/${project}/m/layers/`;
  const headers = { "x-token": token };
  const made = await fetch(api, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: "{}",
  });
  const { code } = (await made.json()) as { code: string };
  const form = new FormData();
  for (const part of dataset.parts) form.append("file", await openAsBlob(part), basename(part));
  const started = performance.now();
  const base = { file: dataset.name, extension: dataset.extension };
  const since = () => Math.round(performance.now() - started);
  try {
    const answer = await fetch(`${api}${code}/import/`, {
      method: "POST",
      headers,
      body: form,
      signal: AbortSignal.timeout(deadlineMs),
    });
    const text = await answer.text();
    const ms = since();
    const body = parsed(text);
    if (answer.status !== 200) {
      const refused = answer.status === 500 && body?.code !== "internal" && body?.code !== undefined;
      const reason = body?.message ?? `${answer.status} ${text.slice(0, 200)}`;
      return { ...base, outcome: refused ? "refused" : "failed", objects: 0, ms, reason, told: body?.data };
    }
    const count = await fetch(`${api}${code}/count/?precise=1`, { headers });
    const objects = Number(await count.text());
    return { ...base, outcome: "imported", objects, ms, reason: "", told: body?.import };
  } catch (error) {
    return { ...base, outcome: "failed", objects: 0, ms: since(), reason: String(error), told: undefined };
  } finally {
    await fetch(`${api}${code}/`, { method: "DELETE", headers }).catch(() => undefined);
  }
}

function parsed(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Restarts of the transfer host so far, as the server's metrics count them. */
async function restartsOf(server: Server): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^mapwright_transfer_host_restarts\S* (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}

function summary(results: readonly Result[]): string {
  const kinds = [...new Set(results.map(({ extension }) => extension))].sort();
  const lines = kinds.map((kind) => {
    const of = results.filter(({ extension }) => extension === kind);
    const count = (outcome: Result["outcome"]) => of.filter((one) => one.outcome === outcome).length;
    const objects = of.reduce((sum, one) => sum + one.objects, 0);
    const slowest = Math.max(...of.map(({ ms }) => ms));
    return [kind, of.length, count("imported"), count("refused"), count("failed"), objects, slowest].join(
      "\t",
    );
  });
  return ["kind\tfiles\timported\trefused\tfailed\tobjects\tslowest ms", ...lines].join("\n");
}

/** How often each reason was given, without names and numbers. */
function reasons(results: readonly Result[]): string {
  const counts = new Map<string, number>();
  for (const { extension, outcome, reason } of results) {
    if (outcome === "imported") continue;
    const key = `${extension}\t${reason
      .replace(/"[^"]*"/g, '"…"')
      .replace(/\d+/g, "N")
      .slice(0, 160)}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([key, count]) => `${count}\t${key}`)
    .join("\n");
}

const shown = (name: string, { requests, failed, p50Ms, p99Ms, worstMs }: Latencies): string =>
  `${name}: ${requests} requests, ${failed} failed, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, worst ${worstMs.toFixed(0)} ms`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      help: { type: "boolean", short: "h" },
      folder: { type: "string", default: "data/corpus" },
      only: { type: "string", multiple: true, default: [] },
      match: { type: "string", default: "" },
      report: { type: "string" },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const { folder, only, match } = values;
  const datasets = datasetsIn(folder).filter(
    ({ name, extension }) => (only.length === 0 || only.includes(extension)) && name.includes(match),
  );
  const world = await startWorld();
  try {
    const config = world.config();
    const db = openDatabase({
      url: config.databaseUrl,
      connections: 2,
      statementTimeoutMs: 60_000,
      log: world.log,
    });
    const projectId = await createProject(db, { code: project });
    await createMap(db, projectId, { code: "m" });
    // Of other people: nothing that is imported touches it.
    await createMap(db, projectId, { code: "other" });
    await addMember(db, { login: "corpus", password: "corpuscorpus", projectId, role: "admin" });
    await db.close();
    const server = await startServer(config, world.log);
    try {
      const login = await fetch(`${server.url}/api/2.8/${project}/login/?user=corpus&pass=corpuscorpus`, {
        method: "POST",
      });
      const { token } = (await login.json()) as { token: string };
      let turn = 0;
      const tile = new Neighbour(
        () => `${server.url}/tms/${project}/other/6/${turn++ % 64}/40.png?base=1`,
        20,
      );
      const list = new Neighbour(() => `${server.url}/api/2.8/${project}/other/layers/`, 20);
      await new Promise((wait) => setTimeout(wait, 5_000));
      tile.take();
      list.take();
      await new Promise((wait) => setTimeout(wait, 10_000));
      console.log(shown("tiles before", tile.take()));
      console.log(shown("lists before", list.take()));
      const results: Result[] = [];
      const report = values.report ?? `${folder}.results.ndjson`;
      writeFileSync(report, "");
      for (const dataset of datasets) {
        const result = await importOne({ server, token }, dataset);
        results.push(result);
        appendFileSync(report, `${JSON.stringify(result)}\n`);
        if (results.length % 100 === 0) console.error(`${results.length} of ${datasets.length}`);
      }
      console.log(shown("tiles meanwhile", tile.take()));
      console.log(shown("lists meanwhile", list.take()));
      await tile.stop();
      await list.stop();
      console.log(`restarts of the transfer host: ${await restartsOf(server)}\n`);
      console.log(`${summary(results)}\n\n${reasons(results)}`);
      return results.some(({ outcome }) => outcome === "failed") ? 1 : 0;
    } finally {
      await server.stop();
    }
  } finally {
    await world.stop();
  }
}

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.exitCode = await main();
