import { lookup } from "node:dns";
import { BlockList, type IPVersion, isIP, isIPv6, type LookupFunction } from "node:net";

/** Which addresses of the network may be connected to: names of allowed hosts could resolve to any. */

/** Networks that are not public: https://www.iana.org/assignments/iana-ipv4-special-registry, and that of IPv6. */
const privateNetworks = {
  ipv4: listOf("ipv4", [
    ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
    ...[
      "192.0.0.0/24",
      "192.0.2.0/24",
      "192.88.99.0/24",
      "192.168.0.0/16",
      "198.18.0.0/15",
      "198.51.100.0/24",
    ],
    ...["203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
    // Of Azure, which machines there reach alone: https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
    "168.63.129.16/32",
  ]),
  ipv6: listOf("ipv6", [
    // All but 2000::/3, of which public addresses are: the others hold an address of IPv4, are those of one host, site or
    // link, or of many, or nobody has them.
    ...["::/3", "4000::/2", "8000::/1"],
    ...["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"],
  ]),
};

function listOf(type: IPVersion, networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, bits] = network.split("/") as [string, string];
    list.addSubnet(address, Number(bits), type);
  }
  return list;
}

/** Whether an IP address belongs to a public network. */
export function isPublicAddress(address: string): boolean {
  // An address of IPv4 written as one of IPv6 is checked as what it is.
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  if (isIP(mapped) === 0) return false;
  const type = isIPv6(mapped) ? "ipv6" : "ipv4";
  return !privateNetworks[type].check(mapped, type);
}

/** As `dns.lookup`, but finds public addresses only. It is asked at each connection, so that none is made to another. */
export const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    const addresses = (found ?? []).filter(({ address }) => isPublicAddress(address));
    const [first] = addresses;
    if (error || !first) {
      callback(error ?? new Error(`${hostname} has no public address`), "", 0);
    } else if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
