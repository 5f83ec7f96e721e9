/**
 * The servers that the address of a database names, as libpq reads it: `postgresql://user:password@a:5432,b:5433/name`, or with
 * lists in its parameters `host` and `port`. `pg` and `URL` know addresses of one server only.
 */

export interface DatabaseHost {
  /** Name, address, or folder of a socket. */
  readonly host: string;
  /** "" = the default one. */
  readonly port: string;
  /** The address with this server alone. */
  readonly url: string;
  /** As messages name it. */
  readonly name: string;
}

/** What processes that work for a node need to know to reach the database. */
export interface HostAddress {
  /** Of several servers first that which takes writes. */
  readonly databaseUrl: string;
  /** Behind a pooler: which server and database it has to lead to, "" when that is not known yet; absent = it is no pooler's. */
  readonly databaseServer?: string;
}

/** Where `pg` and libpq look when an address names no server. */
type Environment = Readonly<Record<string, string | undefined>>;

const form = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)([^?#]*)(?:\?([^#]*))?/;
const server = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/;

/** Host and port of each server that the address itself names, as it has them. */
function namedIn(authority: string): readonly { readonly host: string; readonly port: string }[] {
  if (authority === "") return [];
  return authority.split(",").map((text) => {
    const [, host = "", port = ""] = server.exec(text) ?? [];
    return { host: decodeURIComponent(host).replace(/^\[(.*)\]$/, "$1"), port };
  });
}

/**
 * The servers in the order of the address. The URL of a single one is the address itself.
 * @throws Error when it names another number of ports than of servers, or is no address
 */
export function hostsOf(address: string, environment: Environment = process.env): readonly DatabaseHost[] {
  const parts = form.exec(address);
  if (!parts) throw new Error("it is no address of PostgreSQL");
  const [, , , authority = "", , query = ""] = parts;
  const parameters = new URLSearchParams(query);
  const named = namedIn(authority);
  const known = named.some(({ host }) => host !== "") ? named.map(({ host }) => host) : undefined;
  const hosts = (parameters.get("host") ?? known?.join() ?? (environment.PGHOST || "localhost")).split(",");
  const ports = (
    parameters.get("port") ??
    (named.length > 0 ? named.map(({ port }) => port).join() : (environment.PGPORT ?? ""))
  ).split(",");
  if (ports.length !== 1 && ports.length !== hosts.length)
    throw new Error(`it names ${hosts.length} servers and ${ports.length} ports`);
  const servers = hosts.map((host, index) => ({
    host,
    port: (ports.length === 1 ? ports[0] : ports[index]) ?? "",
  }));
  return servers.map((one) => ({
    ...one,
    url: servers.length === 1 ? address : withHosts(address, [one]),
    name: nameOf(one),
  }));
}

/** The address with these servers in place of those that it or the environment names. @throws Error when it has none */
export function withHosts(address: string, hosts: readonly Pick<DatabaseHost, "host" | "port">[]): string {
  const [, scheme = "", , , path = "", query = ""] = form.exec(address) ?? [];
  const parameters = new URLSearchParams(query);
  const { user, password } = loginOf(address);
  const set = (name: string, value: string) => {
    if (value === "") parameters.delete(name);
    else parameters.set(name, value);
  };
  set("user", user);
  set("password", password);
  set("host", hosts.map(({ host }) => host).join());
  set("port", hosts.map(({ port }) => port || "5432").join());
  if (hosts.length === 1)
    for (const name of ["target_session_attrs", "load_balance_hosts"]) parameters.delete(name);
  return `${scheme}${path || "/"}?${textOf(parameters)}`;
}

/** libpq takes a plus sign for itself. */
const textOf = (parameters: URLSearchParams): string => parameters.toString().replaceAll("+", "%20");

/** The address without its password, wherever it has one, and that; undefined = it has none. */
export function withoutPassword(address: string): {
  readonly address: string;
  readonly password: string | undefined;
} {
  const { user, password } = loginOf(address);
  const [, scheme = "", userinfo = "", authority = "", path = "", query = ""] = form.exec(address) ?? [];
  if (password === "") return { address, password: undefined };
  const parameters = new URLSearchParams(query);
  parameters.delete("password");
  const login = userinfo === "" ? "" : `${encodeURIComponent(user)}@`;
  const rest = textOf(parameters);
  return { address: `${scheme}${login}${authority}${path}${rest && `?${rest}`}`, password };
}

/** Whether it says where the database is. */
export function namesHost(address: string): boolean {
  const authority = form.exec(address)?.[3] ?? "";
  return parametersOf(address).has("host") || namedIn(authority).some(({ host }) => host !== "");
}

const nameOf = ({ host, port }: Pick<DatabaseHost, "host" | "port">): string =>
  host.startsWith("/") ? host : `${host.includes(":") ? `[${host}]` : host}:${port || "5432"}`;

/** What an address is to be in place of this; undefined = nothing is wrong with it. */
export function problemOf(address: string): string | undefined {
  const example = "an address such as postgresql://user:password@host:5432/name, or @one:5432,two:5432/name";
  try {
    const hosts = hostsOf(address);
    if (hosts.length > 1 && hosts.some(({ host }) => host === ""))
      return `${example}: one of its servers has no name`;
    if (hosts.some(({ port }) => !/^\d*$/.test(port))) return `${example}: a port is a number`;
  } catch (error) {
    return `${example}: ${(error as Error).message}`;
  }
  const wanted = parametersOf(address).get("target_session_attrs");
  return wanted === null || ["any", "read-write", "primary"].includes(wanted)
    ? undefined
    : "target_session_attrs=read-write: the server needs the primary";
}

/** Parameters of an address, such as `sslmode`. */
export const parametersOf = (address: string): URLSearchParams =>
  new URLSearchParams(form.exec(address)?.[5] ?? "");

export interface DatabaseLogin {
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** User, password and name of the database, "" where the address has none. */
export function loginOf(address: string): DatabaseLogin {
  const [, , userinfo = "", , path = ""] = form.exec(address) ?? [];
  const [, user = "", password = ""] = /^([^:]*)(?::(.*))?@$/.exec(userinfo) ?? [];
  const parameters = parametersOf(address);
  return {
    user: parameters.get("user") ?? decodeURIComponent(user),
    password: parameters.get("password") ?? decodeURIComponent(password),
    database: decodeURIComponent(path.slice(1)),
  };
}
