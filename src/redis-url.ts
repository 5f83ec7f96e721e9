/** Addresses of Redis: one server, the servers that Sentinel watches, or a cluster. */

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

export interface RedisLogin {
  readonly username?: string;
  readonly password?: string;
}

export type RedisUrl =
  | { readonly kind: "server"; readonly url: string }
  | { readonly kind: "socket"; readonly path: string }
  | ({
      readonly kind: "sentinel";
      readonly sentinels: readonly RedisAddress[];
      /** By which Sentinel knows the primary. */
      readonly name: string;
      readonly db: number;
    } & RedisLogin)
  | ({ readonly kind: "cluster"; readonly nodes: readonly RedisAddress[] } & RedisLogin);

const several = /^redis\+(sentinel|cluster):\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/([^/?#]*)(?:\/(\d{1,5}))?)?$/;
const ports = { sentinel: 26_379, cluster: 6_379 };

/** Reads an address. @returns undefined when it is none */
export function parseRedisUrl(url: string): RedisUrl | undefined {
  if (/^rediss?:\/\//.test(url)) return URL.canParse(url) ? { kind: "server", url } : undefined;
  if (url.startsWith("unix://")) return { kind: "socket", path: url.slice("unix://".length) };
  const found = several.exec(url);
  if (!found) return undefined;
  const [, kind, login = "", hosts = "", name = "", db = "0"] = found;
  const addresses = hosts.split(",").map((host) => addressOf(host, ports[kind as "sentinel" | "cluster"]));
  const credentials = loginOf(login);
  if (!credentials || !addresses.every((address) => address !== undefined)) return undefined;
  if (kind === "cluster")
    return name === "" && found[5] === undefined ? { kind, nodes: addresses, ...credentials } : undefined;
  return name === ""
    ? undefined
    : { kind: "sentinel", sentinels: addresses, name: decoded(name) ?? name, db: Number(db), ...credentials };
}

function addressOf(text: string, port: number): RedisAddress | undefined {
  const found = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const given = found?.[3] === undefined ? port : Number(found[3]);
  return found && given > 0 && given < 65_536 ? { host: (found[1] ?? found[2])!, port: given } : undefined;
}

/** @returns undefined for broken escapes */
function loginOf(text: string): RedisLogin | undefined {
  if (text === "") return {};
  const colon = text.indexOf(":");
  const username = decoded(colon < 0 ? text : text.slice(0, colon));
  const password = decoded(colon < 0 ? "" : text.slice(colon + 1));
  if (username === undefined || password === undefined) return undefined;
  return { ...(username === "" ? {} : { username }), ...(password === "" ? {} : { password }) };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
