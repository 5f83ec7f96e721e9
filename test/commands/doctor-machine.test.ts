import t from "tap";
import { checkDifferences } from "../../src/doctor/check-clocks.js";
import { checkDisk, checkRoom } from "../../src/doctor/check-disk.js";

/** What `doctor` says of clocks and disks; no test may set a clock or fill a disk of this machine. */

t.test("clocks", async (t) => {
  const check = (database: number, redis: number) =>
    checkDifferences([
      { of: "PostgreSQL", ms: database },
      { of: "Redis", ms: redis },
    ]);
  t.match(check(-1_500, 300), {
    ok: true,
    found: "this machine's agrees with 2 others",
    advice: undefined,
  });
  t.match(check(100, -9_000), { ok: true, found: /^that of Redis is 9 s behind/, advice: /chrony/ });
  t.match(check(90_000, 5_000), {
    ok: false,
    found: /^that of PostgreSQL is 90 s ahead of/,
    advice: /chrony/,
  });
});

t.test("disks", async (t) => {
  const check = (free: number, all: number) =>
    checkRoom("disk", { path: "/data", free: free * 1e9, all: all * 1e9 });
  t.match(check(40, 100), { ok: true, found: "40.0 of 100.0 GB free at /data", advice: undefined });
  t.match(check(4, 10), { ok: true, advice: /before large imports/ });
  t.match(check(40, 1_000), { ok: true, advice: /before large imports/ });
  t.match(check(0.4, 10), { ok: false, found: /^0\.4 of 10\.0/, advice: /make room/ });
  t.match(await checkDisk("."), [{ name: "disk", found: /GB free/ }]);
  t.match(await checkDisk("/nowhere/at/all/data"), [], "the check of the data folder tells of it");
});
