import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t from "tap";
import { startLocalServices } from "../../src/local-services/services.js";
import { quietLog } from "../support/log.js";

const program = join(dirname(fileURLToPath(import.meta.url)), "../../src/main.js");

t.test("a command works on the private services whether the server runs or not", async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "mapwright-command-"));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  // Nothing names a database: it must be found by the data folder.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^MAPWRIGHT_|_URL$/.test(name)),
  );
  const mapwright = async (...args: string[]) =>
    (await promisify(execFile)(process.execPath, [program, ...args, "--data-dir", dataDir], { env })).stdout;

  const server = await startLocalServices({ dataDir, log: quietLog, durable: false });
  t.teardown(() => server.stop());
  await mapwright("project", "create", "one");
  await server.stop();
  await mapwright("project", "create", "two");
  t.notOk(existsSync(join(dataDir, "services.json")), "nothing is left running");
  const again = await startLocalServices({ dataDir, log: quietLog, durable: false });
  t.teardown(() => again.stop());
  const projects = JSON.parse(await mapwright("project", "list", "--json")) as { code: string }[];
  t.same(projects.map(({ code }) => code).sort(), ["one", "two"]);
  await again.stop();
});
