import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { blocksOf, examplesOf } from "../../src/docs/build/reference/examples.js";
import { loadPages, type Page } from "../../src/docs/pages.js";
import { complaintOf, leftOut } from "./machine-run.support.js";

/** The commands that set up a machine, run on one that is thrown away. */

t.setTimeout(1_200_000);
const base = mkdtempSync(join(tmpdir(), "mapwright-machine-"));
t.teardown(() => rmSync(base, { recursive: true, force: true }));
const pages = new Map(loadPages().map((page) => [page.path, page]));
const operating = (name: string): Page => pages.get(`operating/${name}`)!;
/** Without the programs of the packages, which npm puts before those of the machine. */
const PATH = (process.env.PATH ?? "")
  .split(":")
  .filter((folder) => !folder.endsWith("/node_modules/.bin"))
  .join(":");
const environment = { PATH, HOME: base, LANG: "C.UTF-8" };

let runs = 0;
function complaint(story: readonly (Page | string)[]): string {
  const folder = join(base, String(runs++));
  mkdirSync(folder);
  return complaintOf(story, folder, environment);
}

/** Without pages nothing is run but what makes the machine: namespaces and file systems need rights that a container may lack. */
const hindrance = complaint([]);

// The demo is loaded into an empty installation only, and takes longer than all the rest. Lakes and rivers count as loaded.
const demo = `npm start -- --no-demo
npx mapwright project create demo --languages en
echo battery-staple | npx mapwright user add admin --project demo --role admin
psql --quiet "$(npx mapwright config print --show-secrets | jq -r .databaseUrl)" \\
  --command "update mapwright.layer set geometry_kind = 'Polygon' where geometry_kind = 'Unknown'"`;
// As the package starts it.
const redis = "redis-server --save '' >/dev/null &";
const toService = "end; mkdir -p /var/lib/mapwright; cp -a data/. /var/lib/mapwright/";
// As Certbot would bring it.
const certificate = `at=/etc/letsencrypt/live/maps.example.org
mkdir -p $at /etc/letsencrypt/renewal-hooks/deploy
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=maps.example.org \\
  -keyout $at/privkey.pem -out $at/fullchain.pem 2>/dev/null`;
// As it would come from the other machine.
const broughtBackup = "unset MAPWRIGHT_CONFIG; mkdir -p backup; cp -a /var/backups/mapwright/* backup";
const commit = "git -c user.name=a -c user.email=a@example.org commit --quiet --all --message";
const ofService = "export MAPWRIGHT_CONFIG=/etc/mapwright/mapwright.json";
const newVersion = `git config --global --add safe.directory '*'
git init --quiet --initial-branch main
git add CHANGELOG.md; ${commit} 1
git clone --quiet --bare . '${base}/origin'
git clone --quiet '${base}/origin' '${base}/other'
git remote add origin '${base}/origin'
git fetch --quiet; git branch --quiet --set-upstream-to origin/main
(cd '${base}/other'; echo 2 > CHANGELOG.md; ${commit} 2; git push --quiet)`;

/** In an order in which each finds what it needs. The last one leaves the private database with a password that the server does not know. */
const story = [
  ...[demo, operating("install"), operating("first-settings"), operating("several-nodes")],
  ...[redis, operating("redis"), operating("load-tests"), operating("alerts")],
  operating("database-elsewhere"),
  ...[toService, operating("systemd"), certificate, operating("behind-a-proxy"), ofService, operating("cdn")],
  ...[operating("backup"), broughtBackup, operating("move-to-another-machine"), operating("troubleshooting")],
  ...[newVersion, operating("upgrade"), ofService],
  operating("secrets"),
];

t.test("an installation is set up, secured and moved as the pages tell", async (t) => {
  if (hindrance === "") return t.equal(complaint(story), "");
  t.pass("", { skip: `no machine can be made here that is thrown away: ${hindrance.slice(0, 200)}` });
});

const commands = [...pages.values()].flatMap((page) =>
  blocksOf(page.markdown)
    .filter(({ language, words }) => language === "sh" && words.includes("machine"))
    .flatMap(({ code }) => examplesOf(code).map(({ command }) => ({ page, command }))),
);

t.test("each page with commands of a machine has its place there", async (t) => {
  const without = new Set(commands.filter(({ page }) => !story.includes(page)).map(({ page }) => page.path));
  t.same([...without], []);
});

t.test("nothing is left out without need", async (t) => {
  for (const [pattern, reason] of leftOut)
    t.ok(
      commands.some(({ command }) => pattern.test(command)),
      `${pattern}: ${reason}`,
    );
});
