import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { serviceAccount } from "./accounts.js";
import {
  clusterPath,
  createCluster,
  databaseName,
  handOver,
  programsFor,
  setPasswords,
  superuserName,
} from "./cluster.js";
import { keptLog, type ServiceContext, tail } from "./context.js";
import { endLeftovers } from "./leftovers.js";
import { configFolder, freePort, hasSharedMemoryFolder, memoryShareMib } from "./machine.js";
import { inheritedFolder, type RunningService, startService } from "./service.js";

export interface RunningPostgres extends RunningService {
  readonly databaseUrl: string;
  readonly superuserUrl: string;
}

/** Settings that depend on the machine and on what the cluster is for. */
function computedSettings(durable: boolean): Record<string, string | number> {
  const settings = {
    shared_buffers: `${memoryShareMib(1 / 8, 128, durable ? 4096 : 512)}MB`,
    effective_cache_size: `${memoryShareMib(1 / 2, 512, 65_536)}MB`,
    maintenance_work_mem: `${memoryShareMib(1 / 64, 64, 1024)}MB`,
    dynamic_shared_memory_type: hasSharedMemoryFolder() ? "posix" : "sysv",
  };
  // Without fsync a commit still survives a killed server, which tests rely on; synchronous_commit off would not.
  return durable ? settings : { ...settings, fsync: "off", full_page_writes: "off" };
}

async function connects(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => undefined);
  await client.connect();
  await client.end();
}

/**
 * Starts the private PostgreSQL in `<dataDir>/postgresql`, made on the first start.
 *
 * As root it runs as the user `postgres`, who may not be able to walk the path to the checkout (`/root` is closed
 * to others). So it never walks it: it inherits the folder as an open file and names its files
 * `/proc/self/fd/3/…`. No mount, no copy elsewhere, no rights on the folders above are needed.
 */
export async function startPostgres(context: ServiceContext): Promise<RunningPostgres> {
  const { dataDir, secrets, durable, log } = context;
  const account = serviceAccount(["postgres"]);
  const path = join(dataDir, "postgresql");
  mkdirSync(path, { recursive: true });
  handOver(path, account);
  chmodSync(path, 0o700);
  const programs = programsFor(path);
  const folder = openSync(path, "r");
  const logPath = join(dataDir, "postgresql.log");
  const output = keptLog(logPath);
  try {
    const tools = { programs, folder, account };
    await endLeftovers(join(path, "cluster"), "postgres", "SIGINT");
    if (!existsSync(join(path, "cluster"))) {
      context.progress("Creating the private database.");
      await createCluster(tools, path, secrets, durable);
    } else if (context.freshSecrets) await setPasswords(tools, secrets);
    const config = configFolder();
    for (const name of ["postgresql.conf", "pg_hba.conf"]) {
      const copy = join(path, name);
      writeFileSync(copy, readFileSync(join(config, "postgresql", name)));
      handOver(copy, account);
    }
    for (let attempt = 1; ; attempt++) {
      const port = await freePort(attempt === 1 ? secrets.databasePort : 0);
      const address = (user: string, password: string, database: string) =>
        `postgresql://${user}:${password}@127.0.0.1:${port}/${database}`;
      const databaseUrl = address(databaseName, secrets.databasePassword, databaseName);
      const settings = {
        config_file: `${inheritedFolder}/postgresql.conf`,
        hba_file: `${inheritedFolder}/pg_hba.conf`,
        port,
        ...computedSettings(durable),
      };
      const service = await startService(
        {
          name: "PostgreSQL",
          program: join(programs, "postgres"),
          args: [
            "-D",
            clusterPath,
            ...Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]),
          ],
          folder,
          output,
          account,
          endSignal: "SIGINT",
          answers: () => connects(databaseUrl),
        },
        log,
      );
      if (service) {
        secrets.databasePort = port;
        return {
          databaseUrl,
          superuserUrl: address(superuserName, secrets.superuserPassword, "postgres"),
          pid: () => service.pid(),
          stop: async () => {
            await service.stop();
            closeSync(folder);
            closeSync(output);
          },
        };
      }
      // Another program may have taken the port between our look and PostgreSQL's.
      if (attempt === 3)
        throw new Error(`The private PostgreSQL does not start. The end of ${logPath}:\n${tail(logPath)}`);
    }
  } catch (error) {
    closeSync(folder);
    closeSync(output);
    throw error;
  }
}
