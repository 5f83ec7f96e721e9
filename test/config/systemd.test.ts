import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { boot, hindrance } from "./booted.support.js";

/** The units under `config/systemd`: what they leave open, and whether all works in what they allow. */

t.setTimeout(900_000);
const units = readdirSync("config/systemd");
const base = mkdtempSync(join(tmpdir(), "mapwright-systemd-"));
t.teardown(() => rmSync(base, { recursive: true, force: true }));

t.test("services leave little open", async (t) => {
  for (const unit of units.filter((name) => name.endsWith(".service"))) {
    // In tenths.
    const options = ["--offline=true", "--no-pager", "--threshold=20"];
    const { status, stdout } = spawnSync(
      "systemd-analyze",
      ["security", ...options, `config/systemd/${unit}`],
      { encoding: "utf8" },
    );
    t.equal(status, 0, `${unit}: ${stdout.trim().split("\n").at(-1)}`);
  }
});

t.test("Node.js may compile, and see the machine's memory", async (t) => {
  for (const unit of units)
    t.notMatch(
      readFileSync(`config/systemd/${unit}`, "utf8"),
      /^(?:MemoryDenyWriteExecute|ProcSubset)=/m,
      unit,
    );
});

const prepare = `useradd --system --home-dir /var/lib/mapwright --shell /usr/sbin/nologin mapwright
cd /opt/mapwright
find node_modules/mapnik/prebuilds -type l | while read -r link; do
  ln -sfn "$(readlink "$link" | sed "s,^$OLDPWD/,/opt/mapwright/,;s,^.*/node_modules/,/opt/mapwright/node_modules/,")" "$link"
done
install -d -o root -g mapwright -m 750 /etc/mapwright
install -d -o mapwright -g mapwright -m 700 /var/backups/mapwright
cat > /etc/mapwright/mapwright.json <<'settings'
{ "dataDir": "/var/lib/mapwright", "host": "127.0.0.1", "stop": { "drainSeconds": 1 } }
settings
cp config/systemd/mapwright* /etc/systemd/system
`;

/** What is asked of it, as pages and programs do. */
const script = `trap 'echo "$BASH_COMMAND failed"; journalctl --no-pager --lines 30 2>&1; cat /var/lib/mapwright/*.log | tail -30' ERR
mapwright() { (cd /opt/mapwright && runuser -u mapwright -- node dist/src/main.js --config /etc/mapwright/mapwright.json "$@"); }
systemd-analyze verify mapwright.service mapwright-backup.service mapwright-backup.timer
systemctl start mapwright mapwright-backup.timer
curl --silent --retry 200 --retry-delay 1 --retry-connrefused --fail http://127.0.0.1:8080/health/ready
mapwright project create city --languages en
echo battery-staple | mapwright user add anna --project city --role admin
mapwright map create city plan
token=$(mapwright session open anna --project city --origin api)
echo '{"type":"Feature","properties":{"name":"A"},"geometry":{"type":"Polygon","coordinates":[[[10,10],[60,10],[60,60],[10,10]]]}}' > /tmp/trees.geojson
api=http://127.0.0.1:8080/api/2.8/city/plan
curl --silent --fail -H "X-Token: $token" --json '{"parent_id":0,"code":"trees","name":"Trees"}' $api/layers/
curl --silent --fail -H "X-Token: $token" -F file=@/tmp/trees.geojson $api/layers/trees/import/
curl --silent --fail -H "X-Token: $token" "$api/layers/trees/export/?format=gpkg" -o /result/trees.gpkg
curl --silent --fail -D /result/head -o /result/tile.png http://127.0.0.1:8080/tms/city/plan/0/0/0.png
curl --silent --fail http://127.0.0.1:8080/health/ready > /result/ready
grep -h -E '^(Seccomp|NoNewPrivs|CapBnd):' /proc/$(systemctl show --value --property MainPID mapwright)/status > /result/rights
pgrep --uid mapwright --list-full > /result/processes
systemctl start mapwright-backup
ls /var/backups/mapwright > /result/backups
systemctl show --value --property NextElapseUSecRealtime mapwright-backup.timer > /result/timer
systemctl stop mapwright
systemctl show --value --property Result mapwright > /result/end
`;

t.test("all works in what the units allow, under systemd itself", async (t) => {
  const hindered = hindrance(join(base, "probe"));
  // Namespaces and file systems need rights that a container may lack.
  if (hindered !== "") return t.pass("", { skip: `no machine can be made here: ${hindered.slice(0, 200)}` });
  const folder = join(base, "machine");
  const { status, said } = await boot(folder, prepare, script);
  if (!t.equal(status, 0, said)) return;
  const result = (name: string) => readFileSync(join(folder, "result", name), "utf8");
  t.match(result("ready"), /"status":"ready"/);
  t.match(result("head"), /content-type: image\/png/i);
  t.notMatch(result("head"), /^x-tile-incomplete:/im);
  t.match(result("trees.gpkg"), /^SQLite format 3/, "GDAL has written a file");
  t.match(result("rights"), /NoNewPrivs:\s+1\nSeccomp:\s+2/);
  t.match(result("rights"), /CapBnd:\s+0{16}/);
  t.match(result("processes"), /postgres/);
  t.match(result("processes"), /redis-server/);
  t.match(result("backups"), /^\S+\n/m);
  t.match(result("timer"), /02:\d\d:\d\d/);
  t.equal(result("end").trim(), "success");
});
