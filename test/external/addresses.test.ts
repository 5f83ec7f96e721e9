import t from "tap";
import { isPublicAddress, lookupPublic } from "../../src/external/addresses.js";
import { ImageFetcher } from "../../src/external/fetch.js";

const never = new AbortController().signal;

/** Servers of external layers have public addresses, unless the configuration allows others. */

t.test("addresses of private networks are told from public ones", async (t) => {
  for (const address of ["1.1.1.1", "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:1.1.1.1"])
    t.ok(isPublicAddress(address), address);
  for (const address of [
    ...["127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"],
    ...["224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "ff02::1", "::ffff:127.0.0.1"],
    ...["::ffff:7f00:1", "64:ff9b::7f00:1", "::7f00:1", "2002:7f00:1::", "localhost", ""],
    ...["::ffff:0:7f00:1", "5f00::1", "200::1", "3fff::1", "fec0::1", "fe80::1%eth0", "168.63.129.16"],
  ])
    t.notOk(isPublicAddress(address), address);
});

t.test("names that resolve to private addresses are not connected to", async (t) => {
  for (const all of [true, false]) {
    const error = await new Promise((resolve) => lookupPublic("localhost", { all }, resolve));
    t.match(error, { message: /public address/ });
  }
  const fetcher = new ImageFetcher({
    hosts: ["localhost:9", "127.0.0.1:9", "[::1]:9"],
    privateAddresses: false,
    deadlineMs: 2_000,
    maxBytes: 1_000,
    connections: 1,
  });
  t.teardown(() => fetcher.close());
  for (const host of ["localhost:9", "127.0.0.1:9", "[::1]:9", "2130706433:9", "0x7f.1:9"])
    await t.rejects(fetcher.fetch(`http://${host}/a.png`, true, never), {
      name: "SourceError",
      message: /public address|externalHosts/,
    });
  for (const address of ["file:///etc/passwd", "http://u:p@localhost:9/", "http://example.org/a.png"])
    await t.rejects(fetcher.fetch(address, true, never), { name: "SourceError", message: /externalHosts/ });
});
