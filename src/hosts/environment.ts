import { sessionOptions } from "../storage/session-settings.js";

/**
 * The environment of worker hosts. Nothing else of the server's environment is passed on. libpq reads the connection
 * from it, so that neither messages nor Mapnik's XML contain a password.
 */
export function hostEnvironment(
  databaseUrl: string,
  threads: number,
  statementTimeoutMs: number,
): Record<string, string> {
  const url = new URL(databaseUrl);
  const environment: Record<string, string> = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    LANG: "C.UTF-8",
    TZ: "UTC",
    // Mapnik renders and encodes on libuv's thread pool.
    UV_THREADPOOL_SIZE: String(threads),
    PGOPTIONS: sessionOptions({
      search_path: "mapwright,public",
      jit: "off",
      statement_timeout: statementTimeoutMs,
    }),
    PGAPPNAME: "mapwright render",
    PGCONNECT_TIMEOUT: "5",
  };
  const host = databaseHost(url);
  const set = (name: string, value: string) => {
    if (value !== "") environment[name] = value;
  };
  set("PGHOST", host);
  set("PGPORT", url.searchParams.get("port") ?? url.port);
  set("PGUSER", decodeURIComponent(url.username));
  set("PGPASSWORD", decodeURIComponent(url.password));
  set("PGDATABASE", decodeURIComponent(url.pathname.slice(1)));
  for (const name of ["sslmode", "sslrootcert", "sslcert", "sslkey"]) {
    set(`PG${name.toUpperCase()}`, url.searchParams.get(name) ?? "");
  }
  return environment;
}

/** Where a URL names no host, it is the one that the server itself connects to (pg's default). */
const databaseHost = (url: URL): string =>
  url.searchParams.get("host") ?? (decodeURIComponent(url.hostname) || (process.env.PGHOST ?? "localhost"));

/** The URL with its host: in the render host PGHOST is a list that only libpq understands. */
function withHost(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  if (url.hostname !== "" || url.searchParams.has("host")) return databaseUrl;
  url.searchParams.set("host", databaseHost(url));
  return url.href;
}

/**
 * The environment of the render host. A render that has waited for `maxWaitMs` for others is given up. Besides the threads that draw, and as many for renders that take long, it has one that
 * loads maps and one for connections of its own, for which these have to wait: a thread in Mapnik is not free until it is
 * answered.
 */
export const renderEnvironment = (
  databaseUrl: string,
  renders: number,
  { statementTimeoutMs, maxWaitMs }: { readonly statementTimeoutMs: number; readonly maxWaitMs: number },
): Record<string, string> => ({
  ...hostEnvironment(databaseUrl, 2 * renders + 2, statementTimeoutMs),
  MAPWRIGHT_DATABASE_URL: withHost(databaseUrl),
  MAPWRIGHT_RENDERS: String(renders),
  MAPWRIGHT_MOST_WAIT: String(maxWaitMs),
});
