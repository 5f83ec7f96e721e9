import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { keptAlive, sessionOptions } from "../storage/session-settings.js";
import { handOver, inheritedFolder } from "./account.js";
import {
  clusterPath,
  createCluster,
  databaseName,
  programsFor,
  setPasswords,
  superuserName,
} from "./cluster.js";
import {
  configFolder,
  memoryShareMib,
  type ServiceContext,
  type StartedService,
  startService,
} from "./start-service.js";

export interface StartedPostgres extends StartedService {
  readonly databaseUrl: string;
  readonly superuserUrl: string;
}

/** Starts the private PostgreSQL in `<dataDir>/postgresql`, made on the first start. As root it runs as `postgres`. */
export async function startPostgres(context: ServiceContext): Promise<StartedPostgres> {
  const { secrets, durable } = context;
  const folder = join(context.dataDir, "postgresql");
  const programs = programsFor(folder);
  const address = (user: string, password: string, port: number, database: string) =>
    `postgresql://${user}:${password}@127.0.0.1:${port}/${database}`;
  const databaseUrl = (port: number) => address(databaseName, secrets.databasePassword, port, databaseName);
  const service = await startService(
    {
      name: "PostgreSQL",
      folder,
      program: join(programs, "postgres"),
      users: ["postgres"],
      endSignal: "SIGINT",
      preferredPort: secrets.databasePort,
      prepare: (place) => {
        const tools = { programs, ...place };
        if (!existsSync(join(folder, "cluster"))) {
          context.progress("Creating the private database.");
          createCluster(tools, folder, secrets, durable);
        } else if (context.freshSecrets) setPasswords(tools, secrets);
        for (const name of ["postgresql.conf", "maps.conf", "pg_hba.conf"]) {
          copyFileSync(new URL(`postgresql/${name}`, configFolder), join(folder, name));
          handOver(join(folder, name), place.account);
        }
      },
      command: (port) => ({
        args: ["-D", clusterPath, `--port=${port}`, ...computedSettings(programs, durable)],
      }),
      answers: (port) => connect(databaseUrl(port)),
    },
    context.log,
  );
  const { port } = service;
  secrets.databasePort = port;
  return {
    ...service,
    databaseUrl: databaseUrl(port),
    superuserUrl: address(superuserName, secrets.superuserPassword, port, "postgres"),
  };
}

/** Settings that depend on the machine and on what the cluster is for. */
const computedSettings = (programs: string, durable: boolean): string[] => [
  `--config_file=${inheritedFolder}/postgresql.conf`,
  `--hba_file=${inheritedFolder}/pg_hba.conf`,
  `--shared_buffers=${durable ? memoryShareMib(1 / 8, 128, 4096) : 64}MB`,
  `--effective_cache_size=${memoryShareMib(1 / 2, 512, 65_536)}MB`,
  `--maintenance_work_mem=${memoryShareMib(1 / 64, 64, 1024)}MB`,
  // Each session would load it by itself, which is most of what a new session costs: 10 of 16 ms of a core.
  ...(existsSync(join(programs, "../lib/postgis-3.so")) ? ["--shared_preload_libraries=postgis-3"] : []),
  // Without fsync a commit still survives a killed server, which tests rely on; synchronous_commit off would not.
  ...(durable ? [] : ["--fsync=off", "--full_page_writes=off"]),
];

/** Rejects while PostgreSQL takes no connections. */
async function connect(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    options: sessionOptions({}),
    connectionTimeoutMillis: 5_000,
    ...keptAlive,
  });
  client.on("error", () => undefined);
  await client.connect();
  await client.end();
}
