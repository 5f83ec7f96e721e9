import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { migrate } from "../../src/storage/migrate.js";

/** Creates a database per test on the temporary cluster of the test runner. */

export interface TestDatabase {
  /** Connection string of a role that owns this database and nothing else. */
  readonly url: string;
  /** How the server is to reach it: the same, or in a run of the suite behind a pooler by way of that. */
  readonly at: DatabaseAddresses;
  drop(): Promise<void>;
}

export interface DatabaseAddresses {
  readonly url: string;
  readonly directUrl?: string;
}

/** As settings of a server. */
export const settingsOf = ({ at }: Pick<TestDatabase, "at">) => ({
  databaseUrl: at.url,
  databaseDirectUrl: at.directUrl ?? "",
});

/** By way of the pooler of this run, if there is one, for databases of the cluster of the tests. */
export function addressesOf(url: string): DatabaseAddresses {
  const pooler = process.env.MAPWRIGHT_TEST_POOLER_URL;
  const serverOf = ({ host, searchParams }: URL) =>
    `${host} ${searchParams.get("host")} ${searchParams.get("port")}`;
  if (!pooler || serverOf(new URL(url)) !== serverOf(clusterUrl())) return { url };
  const { username, password, pathname } = new URL(url);
  return { url: Object.assign(new URL(pooler), { username, password, pathname }).href, directUrl: url };
}

function clusterUrl(): URL {
  const url = process.env.MAPWRIGHT_TEST_DATABASE_URL;
  if (!url) throw new Error("MAPWRIGHT_TEST_DATABASE_URL is not set: run the tests with `npm test`.");
  return new URL(url);
}

/** Runs `work` as superuser of the temporary cluster. */
export const asSuperuser = <T>(database: string, work: (client: pg.Client) => Promise<T>): Promise<T> =>
  connected(clusterUrl(), database, work);

/** Runs `work` on a database of the cluster that the address is of. */
async function connected<T>(
  cluster: URL,
  database: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const url = new URL(cluster);
  url.pathname = `/${database}`;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Databases of tests are copies: making the extensions and the schema in each takes ten times as long. */
const template = { bare: "mapwright_test_bare", schema: "mapwright_test_schema" };
/** Whose the schema is in the template. */
const templateRole = "mapwright_test";

/** Creates the templates, once for all test files. */
export async function createTemplates(superuserUrl: string): Promise<void> {
  const cluster = new URL(superuserUrl);
  await connected(cluster, "postgres", (client) => client.query(`create database ${template.bare}`));
  await connected(cluster, template.bare, async (client) => {
    for (const extension of ["postgis", "pg_trgm", "unaccent"])
      await client.query(`create extension ${extension}`);
  });
  await connected(cluster, "postgres", async (client) => {
    await client.query(`create database ${template.schema} template ${template.bare}`);
    await client.query(`create role ${templateRole}`);
    await client.query(`grant create on database ${template.schema} to ${templateRole}`);
  });
  await connected(cluster, template.schema, async (client) => {
    await client.query(`set role ${templateRole}`);
    await migrate(client);
  });
}

/**
 * Creates a database with the extensions and, unless `bare`, the schema.
 * @param options.before applies only the published migrations before this one (prefix of its file name)
 */
export async function freshDatabase(
  options: { bare?: boolean; before?: string } = {},
): Promise<TestDatabase> {
  const name = `t${randomBytes(6).toString("hex")}`;
  const isMade = !options.bare && options.before === undefined;
  const from = isMade ? template.schema : template.bare;
  await asSuperuser("postgres", async (client) => {
    await client.query(`create role ${name} login password '${name}'`);
    await client.query(`create database ${name} owner ${name} template ${from} strategy file_copy`);
  });
  const url = clusterUrl();
  url.username = name;
  url.password = name;
  url.pathname = `/${name}`;
  if (isMade)
    await asSuperuser(name, async (client) => {
      await client.query(`reassign owned by ${templateRole} to ${name}`);
      // Else it would be found to be a copy.
      await client.query("set search_path = mapwright, public");
      await client.query("update epoch set token = new_epoch_token(), identity = database_identity()");
    });
  if (options.before !== undefined) {
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    try {
      await migrateUpTo(client, options.before);
    } finally {
      await client.end();
    }
  }
  return {
    url: url.href,
    at: addressesOf(url.href),
    drop: () =>
      asSuperuser("postgres", async (client) => {
        await client.query(`drop database if exists ${name} with (force)`);
        await client.query(`drop role if exists ${name}`);
      }),
  };
}

/** Applies the migrations before this one, as they were published, to an empty database. */
async function migrateUpTo(client: pg.Client, before: string): Promise<void> {
  const folder = new URL("../../../test/fixtures/migrations/", import.meta.url);
  await client.query("create schema mapwright; create schema layers; create schema staging");
  await client.query("set search_path = mapwright, public");
  await client.query(
    "create table migration (name text primary key, applied_at timestamptz not null default now())",
  );
  for (const name of readdirSync(folder).sort()) {
    if (name >= before) break;
    await client.query(readFileSync(new URL(name, folder), "utf8"));
    await client.query("insert into migration (name) values ($1)", [name]);
  }
}
