import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { loadPages } from "../../src/docs/pages.js";
import { saveAddresses } from "../../src/local-services/data-files.js";
import { startServer } from "../support/server.js";
import { complaintOf, type MachineOptions } from "./machine-run.support.js";

/** The commands that set up a machine, run on one that is thrown away. */

t.setTimeout(600_000);
const base = mkdtempSync(join(tmpdir(), "mapwright-machine-"));
t.teardown(() => rmSync(base, { recursive: true, force: true }));
const pages = new Map(loadPages().map((page) => [page.path, page]));
const { PATH } = process.env;
const environment = { PATH, HOME: base, LANG: "C.UTF-8" };

let runs = 0;
function complaint(paths: readonly string[], options: Omit<MachineOptions, "environment">): string {
  const folder = join(base, String(runs++));
  mkdirSync(folder);
  return complaintOf(
    paths.map((path) => pages.get(path)!),
    folder,
    { environment, ...options },
  );
}

/** Without pages nothing is run but what makes the machine: namespaces and file systems need rights that a container may lack. */
const hindrance = complaint([], { before: "", ownNetwork: true });
const test = (name: string, work: (t: Test) => void | Promise<void>) =>
  t.test(name, async (t) => {
    if (hindrance === "") return work(t);
    t.pass("", { skip: `no machine can be made here that is thrown away: ${hindrance.slice(0, 200)}` });
  });

test("systemd takes the service, and proxies their configuration, where the pages put them", async (t) => {
  // As Certbot would bring it.
  const certificate = `at=/etc/letsencrypt/live/maps.example.org
mkdir -p $at /etc/letsencrypt/renewal-hooks/deploy
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=maps.example.org \\
  -keyout $at/privkey.pem -out $at/fullchain.pem 2>/dev/null`;
  t.equal(
    complaint(["operating/systemd", "operating/behind-a-proxy", "operating/cdn"], {
      before: certificate,
      ownNetwork: true,
    }),
    "",
  );
});

test("the script of every night makes a backup", async (t) => {
  const server = await startServer();
  t.teardown(() => server.stop());
  const { config } = server.nodes[0]!.services;
  const data = join(base, "data");
  mkdirSync(join(data, "files"), { recursive: true });
  saveAddresses(data, {
    databaseUrl: config.databaseUrl,
    superuserUrl: process.env.MAPWRIGHT_TEST_DATABASE_URL!,
    redisUrl: config.redisUrl,
    serverUrl: server.url,
  });
  const before = `mkdir -p /var/lib/mapwright; cp -a '${data}/.' /var/lib/mapwright/`;
  t.equal(complaint(["operating/systemd", "operating/backup"], { before }), "");
});

test("a checkout goes to the new version, and back", async (t) => {
  const commit = "git -c user.name=a -c user.email=a@example.org commit --quiet --all --message";
  const before = `git init --quiet --initial-branch main '${base}/origin'
cd '${base}/origin'
echo 1 > CHANGELOG.md; git add .; ${commit} 1
umount /opt/mapwright; rmdir /opt/mapwright
git clone --quiet '${base}/origin' /opt/mapwright
echo 2 > CHANGELOG.md; ${commit} 2
cd /opt/mapwright
mkdir -p backup data/postgresql`;
  t.equal(complaint(["operating/systemd", "operating/upgrade"], { before }), "");
});
