import t from "tap";
import { loadConfig } from "../../src/config.js";
import { hostsOf, problemOf, withHosts, withoutPassword } from "../../src/database-hosts.js";

/** Addresses of one server and of several, as libpq reads them. */

const none = {};
const placesOf = (address: string, environment = none) =>
  hostsOf(address, environment).map(({ host, port }) => `${host}|${port}`);

t.test("the servers of an address", async (t) => {
  for (const [address, ...places] of [
    ["postgresql://u:p@db:5433/m", "db|5433"],
    ["postgresql://db/m", "db|"],
    ["postgresql:///m", "localhost|"],
    ["postgresql://:5433/m", "localhost|5433"],
    ["postgres:///m?host=/run/pg", "/run/pg|"],
    ["postgresql://u:p@a:5432,b:5433/m?target_session_attrs=read-write", "a|5432", "b|5433"],
    ["postgresql://u:p@a,b/m", "a|", "b|"],
    ["postgresql://[::1]:5433,[2001:db8::2]/m", "::1|5433", "2001:db8::2|"],
    ["postgresql://%2Frun%2Fpg:5433,b/m", "/run/pg|5433", "b|"],
    ["postgresql://u:p@/m?host=/run/pg,b,c&port=5433", "/run/pg|5433", "b|5433", "c|5433"],
    ["postgresql:///m?host=a,b&port=1,2", "a|1", "b|2"],
  ] as const)
    t.same(placesOf(address), places, address);
  t.same(placesOf("postgresql:///m", { PGHOST: "a,b", PGPORT: "1,2" }), ["a|1", "b|2"]);
});

t.test("each server has an address that knows all the rest", async (t) => {
  const address = "postgresql://u%40:p%20w,@a:1,b/m?sslmode=verify-full&target_session_attrs=read-write";
  const urls = hostsOf(address, none).map(({ url }) => new URL(url));
  const [one, other] = urls.map(({ pathname, searchParams }) => ({
    pathname,
    ...Object.fromEntries(searchParams),
  }));
  const shared = { pathname: "/m", sslmode: "verify-full", user: "u@", password: "p w," };
  t.same(one, { ...shared, host: "a", port: "1" });
  t.same(other, { ...shared, host: "b", port: "5432" });
  const single = "postgresql://u:p%20w@a:1/m?sslmode=disable";
  t.equal(hostsOf(single)[0]!.url, single, "of a single one it is the address itself");
  t.same(placesOf(withHosts(address, [...hostsOf(address, none)].reverse())), ["b|5432", "a|1"]);
});

t.test("an address without its password leads to the same servers, for libpq, too", async (t) => {
  const address = "postgresql://u%40:s%20cret@a:1,b/m?sslmode=disable&options=-c%20geqo%3Doff";
  const other = withHosts(address, [...hostsOf(address, none)].reverse());
  for (const [text, wanted] of [
    [address, "postgresql://u%40@a:1,b/m?sslmode=disable&options=-c%20geqo%3Doff"],
    [other, "postgresql:///m?sslmode=disable&options=-c%20geqo%3Doff&user=u%40&host=b%2Ca&port=5432%2C1"],
    ["postgresql://a/m?user=u&password=s%20cret", "postgresql://a/m?user=u"],
    ["postgresql://:s%20cret@a", "postgresql://@a"],
  ] as const)
    t.same(withoutPassword(text), { address: wanted, password: "s cret" }, text);
  for (const text of ["postgresql:///m", "postgresql://u@a,b/m?sslmode=disable"])
    t.same(withoutPassword(text), { address: text, password: undefined });
});

t.test("what is no such address is said with the configuration, and no password", async (t) => {
  for (const [address, problem] of [
    ["http://a/b", /no address of PostgreSQL/],
    ["postgresql://u:secret@a:1,b:x/m", /a port is a number/],
    ["postgresql://u:secret@a,,b/m", /one of its servers has no name/],
    ["postgresql:///m?host=a,b,c&port=1,2", /3 servers and 2 ports/],
    ["postgresql://u:secret@a,b/m?target_session_attrs=standby", /read-write: the server needs the primary/],
  ] as const) {
    t.match(problemOf(address), problem, address);
    const load = () => loadConfig({ environment: {}, flags: { databaseUrl: address } });
    t.throws(load, { message: problem });
    t.throws(load, { message: /^(?!.*secret)/s });
  }
  for (const address of ["postgresql://a:1,b:2/m", "postgresql:///m", "postgres://u:p@/m?host=/run/pg"])
    t.equal(problemOf(address), undefined, address);
});
