import t from "tap";
import { hostEnvironment, renderEnvironment } from "../../src/hosts/environment.js";

/** Where the hosts find the database. */

const limits = { statementTimeoutMs: 1, maxWaitMs: 1 };

t.test("every host has the database's address, also if its URL names no host", (t) => {
  const { PGHOST: known } = process.env;
  t.teardown(() => {
    if (known === undefined) delete process.env.PGHOST;
    else process.env.PGHOST = known;
  });
  delete process.env.PGHOST;
  t.equal(hostEnvironment({ databaseUrl: "postgres://u:p@db:5433/m" }, 1, 1).PGHOST, "db");
  t.equal(hostEnvironment({ databaseUrl: "postgres:///m?host=/run/pg" }, 1, 1).PGHOST, "/run/pg");
  t.equal(hostEnvironment({ databaseUrl: "postgres:///m" }, 1, 1).PGHOST, "localhost");
  process.env.PGHOST = "other";
  t.equal(hostEnvironment({ databaseUrl: "postgres:///m" }, 1, 1).PGHOST, "other");
  // The render host's own PGHOST is a list of places for libpq.
  const { MAPWRIGHT_DATABASE_URL: url } = renderEnvironment(
    { databaseUrl: "postgres:///m?sslmode=disable" },
    1,
    limits,
  );
  t.equal(new URL(url!).searchParams.get("host"), "other");
  t.equal(new URL(url!).searchParams.get("sslmode"), "disable");
  const whole = "postgres://u:p%20w@db:5433/m";
  t.equal(renderEnvironment({ databaseUrl: whole }, 1, limits).MAPWRIGHT_DATABASE_URL, whole);
  t.end();
});

t.test("of several servers libpq is told all, and to take the one that takes writes", async (t) => {
  t.match(hostEnvironment({ databaseUrl: "postgres://u:p@a:5433,b/m?target_session_attrs=any" }, 1, 1), {
    PGHOST: "a,b",
    PGPORT: "5433,",
    PGUSER: "u",
    PGPASSWORD: "p",
    PGDATABASE: "m",
    PGTARGETSESSIONATTRS: "read-write",
  });
});
