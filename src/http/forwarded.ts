import { BlockList, isIP } from "node:net";

/** Who the client is and how it addresses us, with X-Forwarded-* believed from trusted proxies only. */

export interface Forwarded {
  /** The client's address as text. */
  readonly remoteAddress: string;
  /** Origin and path prefix without a slash at its end; "" when neither is known. */
  readonly baseUrl: string;
}

export interface ForwardedReader {
  /**
   * @param peer address of the other end of the connection
   * @param header value of a request header by its lower-case name, several lines joined by commas
   */
  read(peer: string, header: (name: string) => string | undefined): Forwarded;
}

const hostPattern = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(:\d{1,5})?$/i;
const prefixPattern = /^(\/[\w.~-]+)+$/;

/** Text of an address of 4 or 16 bytes; IPv4 in IPv6 as IPv4, IPv6 as in RFC 5952. */
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

/** @throws Error when an entry is neither an address nor address/bits */
function proxyList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.trim().split("/");
    const family = isIP(address) === 4 ? "ipv4" : "ipv6";
    const most = family === "ipv4" ? 32 : 128;
    if (isIP(address) === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most))) {
      throw new Error(`trustedProxies: "${entry}" is neither an address nor a network such as 10.0.0.0/8.`);
    }
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/**
 * @param baseUrl the configured public address: origin, path prefix, both or ""
 * @throws Error when a trusted proxy is no address
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
      const host = header("host") ?? "";
      const plain = hostPattern.test(host) ? `http://${host}` : "";
      if (trustedProxies.length === 0 || !trusts(peer)) {
        return { remoteAddress: peer, baseUrl: (origin || plain) + prefix };
      }
      const scheme = last(header("x-forwarded-proto"), /^https?$/i)?.toLowerCase();
      const named = last(header("x-forwarded-host"), hostPattern);
      const asked = named ?? (hostPattern.test(host) ? host : undefined);
      // Without X-Forwarded-Host a configured origin says more than the Host that the proxy sent.
      const seen =
        asked && (named || (scheme && !origin)) ? `${scheme ?? "http"}://${asked}` : origin || plain;
      return {
        remoteAddress: clientAddress(peer, header("x-forwarded-for"), trusts),
        baseUrl: seen + (last(header("x-forwarded-prefix"), prefixPattern) ?? prefix),
      };
    },
  };
}

/** The path of a configured address: `/geo` of `https://maps.example.org/geo`. */
export function pathPrefix(baseUrl: string): string {
  return baseUrl.replace(/^https?:\/\/[^/]*/, "");
}

/** The last value of a list, written by the nearest proxy, when it has the expected form. */
function last(list: string | undefined, pattern: RegExp): string | undefined {
  const value = list?.split(",").at(-1)?.trim();
  return value !== undefined && pattern.test(value) ? value : undefined;
}

/** The nearest address of the chain that is no trusted proxy. What lies beyond it anyone could have written. */
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
