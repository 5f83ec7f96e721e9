import { spawn, spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import t from "tap";
import { parse } from "yaml";
import { freePort } from "../../bench/caches.js";
import { handOver, inheritedFolder, serviceAccount, spawnOptions } from "../../src/local-services/account.js";
import { programsFor } from "../../src/local-services/cluster.js";

/** Settings of PostgreSQL, Redis, Sentinel, Patroni and etcd (that of PgBouncer: robustness/poolers): each file is read by the program that it is for. */

const folder = mkdtempSync(join(tmpdir(), "mapwright-settings-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const account = serviceAccount(["postgres"]);
handOver(folder, account);

/** `name = value` and `name value` of a file, comments left out. */
const settingsOf = (file: string): [string, string][] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => /^\w/.test(line))
    .map((line) => {
      const [, name = "", value = ""] = /^([\w.-]+)\s*(?:=\s*|\s)(.*)$/.exec(line)!;
      return [name, value];
    });

const inBytes = (text: string): string => {
  const [, number, unit] = /^(\d+)(mb|gb)$/i.exec(text) ?? [];
  return unit === undefined ? text : String(Number(number) * (/g/i.test(unit) ? 1024 ** 3 : 1024 ** 2));
};

t.test("PostgreSQL knows each setting for machines of each size", async (t) => {
  copyFileSync("config/postgresql/maps.conf", join(folder, "maps.conf"));
  for (const size of ["4gb", "16gb", "64gb"]) {
    copyFileSync(`config/postgresql/${size}.conf`, join(folder, `${size}.conf`));
    writeFileSync(join(folder, "postgresql.conf"), `include 'maps.conf'\ninclude '${size}.conf'\n`);
    // What this prints is the value that would be used; the first wrong line of any file ends it.
    for (const name of size === "4gb" ? ["shared_buffers", "jit"] : ["shared_buffers"]) {
      const args = ["-C", name, `--config_file=${inheritedFolder}/postgresql.conf`, "-D", inheritedFolder];
      const { status, stdout, stderr } = spawnSync(join(programsFor(folder), "postgres"), args, {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe", openSync(folder, "r")],
        ...spawnOptions(account),
      });
      t.equal(status, 0, `${size}: ${stderr}`);
      if (name === "jit") t.equal(stdout.trim(), "off");
      else {
        const [, value = ""] = settingsOf(join(folder, `${size}.conf`)).find(([key]) => key === name)!;
        t.equal(Number(stdout) * 8192, Number(inBytes(value)), "in pages of 8 kB");
      }
    }
  }
});

/** A Redis, or a Sentinel, by a file. */
async function startRedis(file: string, text: string, ...options: readonly string[]): Promise<Redis> {
  const port = await freePort();
  const path = join(folder, file);
  writeFileSync(path, `${text}\nport ${port}\nbind 127.0.0.1\ndir ${folder}\n`);
  const child = spawn("redis-server", [path, ...options], { stdio: "ignore" });
  t.teardown(() => {
    child.kill("SIGKILL");
  });
  const password = /^requirepass (\S+)$/m.exec(text)?.[1];
  const redis = new Redis({
    ...{ port, retryStrategy: () => 50, maxRetriesPerRequest: null },
    ...(password !== undefined && { password }),
  });
  redis.on("error", () => undefined);
  t.teardown(() => redis.disconnect());
  return redis;
}

t.test("Redis starts with the settings for each size", async (t) => {
  for (const file of readdirSync("config/redis").filter((name) => name !== "redis.conf")) {
    const place = `config/redis/${file}`;
    const redis = await startRedis(file, `include ${join(process.cwd(), place)}`);
    for (const [name, value] of settingsOf(place)) {
      const [, is] = (await redis.config("GET", name)) as string[];
      t.equal(is, inBytes(value.replaceAll('"', "")), `${file}: ${name}`);
    }
  }
});

t.test("Sentinel watches the primary of its file", async (t) => {
  const text = readFileSync("config/sentinel/sentinel.conf", "utf8");
  const sentinel = await startRedis("sentinel.conf", text, "--sentinel");
  t.same(await sentinel.call("SENTINEL", "get-master-addr-by-name", "maps"), ["10.0.0.21", "6379"]);
  const told = (await sentinel.call("SENTINEL", "master", "maps")) as string[];
  const of = (name: string) => told[told.indexOf(name) + 1];
  t.equal(of("down-after-milliseconds"), "5000");
  t.equal(of("quorum"), "2");
});

t.test("Patroni takes its file", async (t) => {
  let text = readFileSync("config/patroni/patroni.yml", "utf8");
  for (const port of [8008, 5432])
    text = text.replace(`listen: 10.0.0.21:${port}`, `listen: 127.0.0.1:${await freePort()}`);
  const file = join(folder, "patroni.yml");
  writeFileSync(file, text);
  const { stdout, stderr } = spawnSync("patroni", ["--validate-config", file], { encoding: "utf8" });
  // etcd is not here. And it asks for `bootstrap.pg_hba`, though that below `postgresql` counts.
  const complaints = `${stdout}${stderr}`
    .split("\n")
    .filter((line) => line !== "" && !/^bootstrap\.pg_hba | is not reachable/.test(line));
  t.same(complaints, []);
  const { parameters } = parse(text).bootstrap.dcs.postgresql;
  const files = ["maps", "16gb"].flatMap((name) => settingsOf(`config/postgresql/${name}.conf`));
  t.same(
    Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)])),
    { wal_log_hints: "on", ...Object.fromEntries(files) },
    "what the files of PostgreSQL have",
  );
});

t.test("etcd listens where Patroni asks it, and its members know each other", async (t) => {
  const settings = Object.fromEntries(
    readFileSync("config/etcd/etcd", "utf8")
      .split("\n")
      .filter((line) => line.startsWith("ETCD_"))
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  const { name, etcd3 } = parse(readFileSync("config/patroni/patroni.yml", "utf8"));
  t.equal(settings.ETCD_NAME, name);
  t.equal(settings.ETCD_ADVERTISE_CLIENT_URLS, `http://${etcd3.hosts[0]}`);
  t.equal(settings.ETCD_LISTEN_CLIENT_URLS, settings.ETCD_ADVERTISE_CLIENT_URLS);
  t.equal(settings.ETCD_LISTEN_PEER_URLS, settings.ETCD_INITIAL_ADVERTISE_PEER_URLS);
  const members = settings.ETCD_INITIAL_CLUSTER!.split(",");
  t.equal(members[0], `${name}=${settings.ETCD_INITIAL_ADVERTISE_PEER_URLS}`);
  t.same(
    members.map((member) => new URL(member.slice(member.indexOf("=") + 1)).hostname),
    etcd3.hosts.map((host: string) => host.split(":")[0]),
  );
});
