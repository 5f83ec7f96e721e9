import { BlockList, isIP } from "node:net";

/** The client's address and the public URL. X-Forwarded-* headers count only from trusted proxies. */

export interface Forwarded {
  /** The client's address as text. */
  readonly remoteAddress: string;
  /** Origin and path prefix without a trailing slash; "" when neither is known. */
  readonly baseUrl: string;
}

export interface ForwardedReader {
  /**
   * @param peer address of the other end of the connection
   * @param header returns a request header by its lower-case name; repeated headers are joined by commas
   */
  read(peer: string, header: (name: string) => string | undefined): Forwarded;
}

const hostPattern = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(:\d{1,5})?$/i;
const prefixPattern = /^(\/[\w.~-]+)+$/;

/** Text of an IP address of 4 or 16 bytes: IPv4-mapped IPv6 as IPv4, IPv6 as in RFC 5952. */
export function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  if (bytes.length !== 16) return "";
  if (bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff) {
    return bytes.subarray(12).join(".");
  }
  const groups: string[] = [];
  for (let i = 0; i < 16; i += 2)
    groups.push((((bytes[i] as number) << 8) | (bytes[i + 1] as number)).toString(16));
  let at = -1;
  let length = 1;
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (groups[end] === "0") end++;
    if (end - i > length) {
      at = i;
      length = end - i;
    }
  }
  if (at === -1) return groups.join(":");
  return `${groups.slice(0, at).join(":")}::${groups.slice(at + length).join(":")}`;
}

/** @throws Error when an entry is neither an address nor a CIDR block */
function proxyList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.trim().split("/");
    const family = isIP(address) === 4 ? "ipv4" : "ipv6";
    const maxBits = family === "ipv4" ? 32 : 128;
    if (isIP(address) === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits))) {
      throw new Error(`trustedProxies: "${entry}" is neither an address nor a network such as 10.0.0.0/8.`);
    }
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/**
 * @param baseUrl the configured public URL: origin, path prefix, both or ""
 * @throws Error when an entry of `trustedProxies` is not valid
 */
export function createForwardedReader(baseUrl: string, trustedProxies: readonly string[]): ForwardedReader {
  const proxies = proxyList(trustedProxies);
  const trusts = (address: string): boolean => {
    const family = isIP(address);
    return family !== 0 && proxies.check(address, family === 4 ? "ipv4" : "ipv6");
  };
  const prefix = pathPrefix(baseUrl);
  const origin = baseUrl.slice(0, baseUrl.length - prefix.length);

  return {
    read(peer, header) {
      const isProxy = trustedProxies.length > 0 && trusts(peer);
      const said = (name: string): string | undefined => (isProxy ? header(name) : undefined);
      const remoteAddress = isProxy ? clientAddress(peer, header("x-forwarded-for"), trusts) : peer;
      // What is configured is what people see, whatever a proxy passes on from clients.
      if (origin) return { remoteAddress, baseUrl };
      const scheme = last(said("x-forwarded-proto"), /^https?$/i)?.toLowerCase() ?? "http";
      const host = last(said("x-forwarded-host"), hostPattern) ?? only(header("host"), hostPattern);
      const path = prefix || last(said("x-forwarded-prefix"), prefixPattern) || "";
      return { remoteAddress, baseUrl: (host ? `${scheme}://${host}` : "") + path };
    },
  };
}

/** The path of a configured URL: `/geo` of `https://maps.example.org/geo`. */
export function pathPrefix(baseUrl: string): string {
  return baseUrl.replace(/^https?:\/\/[^/]*/, "");
}

/** The last value of a list, which the nearest proxy wrote; undefined when it does not match the pattern. */
function last(list: string | undefined, pattern: RegExp): string | undefined {
  return only(list?.split(",").at(-1)?.trim(), pattern);
}

function only(value: string | undefined, pattern: RegExp): string | undefined {
  return value !== undefined && pattern.test(value) ? value : undefined;
}

/** The nearest address in X-Forwarded-For that is not a trusted proxy. Addresses before it cannot be trusted. */
function clientAddress(
  peer: string,
  chain: string | undefined,
  trusts: (address: string) => boolean,
): string {
  let address = peer;
  for (const hop of (chain ?? "").split(",").reverse()) {
    const text = hop.trim();
    if (isIP(text) === 0) break;
    address = text;
    if (!trusts(text)) break;
  }
  return address;
}
