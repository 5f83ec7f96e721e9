/**
 * Clients, as fair queues count them: a client is an account (`a7`), or the network of somebody who is not signed in. A user of
 * IPv6 has the 2⁶⁴ addresses of a network, and often the 65,536 networks of a site. A site counts as one client beside others.
 */

/**
 * The network that a client chooses its addresses from: an IPv4 address, or the first 64 bits of an IPv6 address.
 * @param address in the shortest form: "2001:db8::7"
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return [...first, ...zeros, ...last].slice(0, 4).join(":");
}

/** The site of a client: the first 48 bits of an IPv6 network; what else it is for others. */
export function siteOf(client: string): string {
  if (!client.includes(":")) return client;
  return `${client.split(":", 3).join(":")}::/48`;
}

/** Owners of what a client asks for, for a `FairQueue`. */
export const clientOwners = (client: string): readonly [site: string, client: string] => [
  siteOf(client),
  client,
];

/** Factor by which a site may do more than each of its networks, as there can be thousands of people. */
export const siteFactor = 16;
