import type { Config } from "../config.js";
import { type HostAddress, hostsOf, loginOf, namesHost, parametersOf, withHosts } from "../database-hosts.js";
import { sessionOptions } from "../storage/session-settings.js";
import { settingStatement } from "../storage/transaction-settings.js";

/** The address by the settings alone: behind a pooler nothing says which server it has to lead to. */
export const addressOf = ({
  databaseUrl,
  databaseDirectUrl,
}: Pick<Config, "databaseUrl" | "databaseDirectUrl">): HostAddress => ({
  databaseUrl,
  ...(databaseDirectUrl !== "" && { databaseServer: "" }),
});

/**
 * The environment of worker hosts. Nothing else of the server's environment is passed on. libpq reads the connection
 * from it, so that neither messages nor Mapnik's XML contain a password.
 */
export function hostEnvironment(
  { databaseUrl, databaseServer }: HostAddress,
  threads: number,
  statementTimeoutMs: number,
): Record<string, string> {
  const hosts = hostsOf(databaseUrl);
  const parameters = parametersOf(databaseUrl);
  const { user, password, database } = loginOf(databaseUrl);
  const environment: Record<string, string> = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    LANG: "C.UTF-8",
    TZ: "UTC",
    // Mapnik renders and encodes on libuv's thread pool.
    UV_THREADPOOL_SIZE: String(threads),
    // A pooler takes no settings of sessions.
    ...(databaseServer === undefined && {
      PGOPTIONS: sessionOptions({
        search_path: "mapwright,public",
        jit: "off",
        statement_timeout: statementTimeoutMs,
      }),
    }),
    PGAPPNAME: "mapwright render",
    // Of each server; it cannot be shorter than 2.
    PGCONNECT_TIMEOUT: hosts.length > 1 ? "2" : "5",
    // Also of a single one, which may be a proxy: what a standby has is not what there is now.
    PGTARGETSESSIONATTRS: "read-write",
  };
  const set = (name: string, value: string) => {
    if (value !== "") environment[name] = value;
  };
  set("PGHOST", hosts.map(({ host }) => host).join());
  set("PGPORT", hosts.map(({ port }) => port).join());
  set("PGUSER", user);
  set("PGPASSWORD", password);
  set("PGDATABASE", database);
  for (const name of ["sslmode", "sslrootcert", "sslcert", "sslkey"]) {
    set(`PG${name.toUpperCase()}`, parameters.get(name) ?? "");
  }
  return environment;
}

/** The URL with its host: in the render host PGHOST is a list that only libpq understands. */
const withHost = (databaseUrl: string): string =>
  namesHost(databaseUrl) ? databaseUrl : withHosts(databaseUrl, hostsOf(databaseUrl));

/**
 * The environment of the render host. A render that has waited for `maxWaitMs` for others is given up. Besides the threads that draw, and as many for renders that take long, it has one that
 * loads maps and one for connections of its own, for which these have to wait: a thread in Mapnik is not free until it is
 * answered.
 */
export const renderEnvironment = (
  address: HostAddress,
  renders: number,
  { statementTimeoutMs, maxWaitMs }: { readonly statementTimeoutMs: number; readonly maxWaitMs: number },
): Record<string, string> => ({
  ...hostEnvironment(address, 2 * renders + 2, statementTimeoutMs),
  MAPWRIGHT_DATABASE_URL: withHost(address.databaseUrl),
  ...(address.databaseServer !== undefined && {
    MAPWRIGHT_DATABASE_SETTING: settingStatement(
      { search_path: "mapwright,public", jit: "off", statement_timeout: statementTimeoutMs },
      address.databaseServer || undefined,
      true,
    ),
  }),
  MAPWRIGHT_RENDERS: String(renders),
  MAPWRIGHT_MOST_WAIT: String(maxWaitMs),
});
