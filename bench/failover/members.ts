import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { parse, stringify } from "yaml";
import { handOver, serviceAccount, spawnOptions } from "../../src/local-services/account.js";
import { programsFor } from "../../src/local-services/cluster.js";
import { freePort } from "../caches.js";

/** PostgreSQL with three Patroni members by the shipped file, etcd, and HAProxy that asks each member every second. */

export interface Timing {
  readonly ttl: number;
  readonly loopWait: number;
  readonly retryTimeout: number;
}

interface Member {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  process: ChildProcess | undefined;
}

const user = "mapwright";

export class Members {
  readonly members: readonly Member[];
  private readonly account = serviceAccount(["postgres"]);
  private readonly others: ChildProcess[] = [];

  private constructor(
    private readonly folder: string,
    private readonly etcdPort: number,
    private readonly timing: Timing,
    ports: readonly (readonly [number, number])[],
    readonly proxyPort: number,
  ) {
    this.members = ports.map(([port, restPort], index) => ({
      ...{ name: `pg${index + 1}`, port, restPort },
      process: undefined,
    }));
  }

  static async start(timing: Timing): Promise<Members> {
    const folder = mkdtempSync(join(tmpdir(), "mapwright-failover-"));
    const ports: [number, number][] = [];
    for (let n = 0; n < 3; n++) ports.push([await freePort(), await freePort()]);
    const all = new Members(folder, await freePort(), timing, ports, await freePort());
    handOver(folder, all.account);
    await all.startEtcd();
    for (const member of all.members) all.configure(member);
    all.startMember(all.members[0]!);
    await all.leader();
    for (const member of all.members.slice(1)) all.startMember(member);
    await all.whole();
    all.startProxy();
    await all.makeDatabase();
    return all;
  }

  /** Of all members, and by the proxy. */
  get urls(): { readonly hosts: string; readonly proxy: string } {
    const hosts = this.members.map(({ port }) => `127.0.0.1:${port}`).join();
    return {
      hosts: `postgresql://${user}@${hosts}/${user}?target_session_attrs=read-write`,
      proxy: `postgresql://${user}@127.0.0.1:${this.proxyPort}/${user}`,
    };
  }

  /** Waits for it. */
  async leader(): Promise<Member> {
    for (;;) {
      const are = await Promise.all(this.members.map((member) => this.is(member, "primary")));
      const leader = this.members[are.indexOf(true)];
      if (leader) return leader;
      await sleep(50);
    }
  }

  /** Waits for another one. */
  async leaderAfter(before: Member): Promise<Member> {
    for (;;) {
      const leader = await this.leader();
      if (leader !== before) return leader;
      await sleep(50);
    }
  }

  /** Waits until there are a leader, a synchronous standby and another one. */
  async whole(): Promise<void> {
    for (;;) {
      const states = await Promise.all(
        this.members.map(async (member) => [
          await this.is(member, "primary"),
          await this.is(member, "synchronous"),
          await this.is(member, "replica"),
        ]),
      );
      const has = (at: number) => states.filter((state) => state[at]).length;
      if (has(0) === 1 && has(1) === 1 && has(2) === 2) return;
      await sleep(200);
    }
  }

  async switchOver(): Promise<void> {
    const leader = await this.leader();
    const candidate = await this.synchronous();
    const answer = await fetch(`http://127.0.0.1:${leader.restPort}/switchover`, {
      method: "POST",
      body: JSON.stringify({ leader: leader.name, candidate: candidate.name }),
    });
    if (answer.status !== 200) throw new Error(`switchover: ${answer.status} ${await answer.text()}`);
  }

  /** Kills all processes of its PostgreSQL; Patroni lives. */
  killPostgres({ name }: Member): void {
    const [pid = ""] = readFileSync(join(this.folder, name, "postmaster.pid"), "utf8").split("\n");
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
    for (const one of [pid, ...children]) kill(Number(one));
  }

  /** Kills all of a member, as when its machine is lost. */
  killHost(member: Member): void {
    const { pid } = member.process!;
    member.process = undefined;
    kill(pid!);
    this.killPostgres(member);
  }

  startMember(member: Member): void {
    member.process = this.spawn("patroni", [join(this.folder, `${member.name}.yml`)], `${member.name}.log`);
  }

  async sql<Row extends object>(database: string, text: string): Promise<Row[]> {
    const { port } = await this.leader();
    const client = new pg.Client({ connectionString: `postgresql://postgres@127.0.0.1:${port}/${database}` });
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  async stop(): Promise<void> {
    for (const member of this.members) if (member.process) this.killHost(member);
    for (const child of this.others) child.kill("SIGKILL");
    await sleep(500);
    await rm(this.folder, { recursive: true, force: true });
  }

  private async synchronous(): Promise<Member> {
    for (;;) {
      for (const member of this.members) if (await this.is(member, "synchronous")) return member;
      await sleep(100);
    }
  }

  private async is({ restPort }: Member, role: string): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(1_000);
      return (await fetch(`http://127.0.0.1:${restPort}/${role}`, { signal })).status === 200;
    } catch {
      return false;
    }
  }

  private spawn(program: string, args: readonly string[], log: string): ChildProcess {
    const file = openSync(join(this.folder, log), "a");
    const child = spawn(program, args, { ...spawnOptions(this.account), stdio: ["ignore", file, file] });
    closeSync(file);
    return child;
  }

  private async startEtcd(): Promise<void> {
    const client = `http://127.0.0.1:${this.etcdPort}`;
    const peer = `http://127.0.0.1:${await freePort()}`;
    const data = join(this.folder, "etcd");
    mkdirSync(data, { mode: 0o700 });
    handOver(data, this.account);
    this.others.push(
      this.spawn(
        "etcd",
        [
          ...["--name", "one", "--data-dir", data, "--initial-cluster", `one=${peer}`],
          ...["--listen-client-urls", client, "--advertise-client-urls", client],
          ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer],
        ],
        "etcd.log",
      ),
    );
    for (;;) {
      const answer = await fetch(`${client}/health`).catch(() => undefined);
      if (answer?.ok) return;
      await sleep(100);
    }
  }

  private configure({ name, port, restPort }: Member): void {
    const { ttl, loopWait, retryTimeout } = this.timing;
    const file = join(this.folder, `${name}.yml`);
    const settings = parse(readFileSync("config/patroni/patroni.yml", "utf8"));
    const place = (at: number) => ({
      listen: `127.0.0.1:${at}`,
      connect_address: `127.0.0.1:${at}`,
    });
    settings.name = name;
    settings.restapi = place(restPort);
    settings.etcd3 = { hosts: [`127.0.0.1:${this.etcdPort}`] };
    Object.assign(settings.bootstrap.dcs, { ttl, loop_wait: loopWait, retry_timeout: retryTimeout });
    settings.bootstrap.initdb = [{ encoding: "UTF8" }, { locale: "C.UTF-8" }, { auth: "trust" }];
    Object.assign(settings.postgresql, {
      ...place(port),
      data_dir: join(this.folder, name),
      bin_dir: programsFor(this.folder),
      use_unix_socket: false,
      pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
      parameters: { unix_socket_directories: "", shared_buffers: "128MB" },
    });
    writeFileSync(file, stringify(settings));
    handOver(file, this.account);
  }

  private startProxy(): void {
    const file = join(this.folder, "haproxy.cfg");
    const text = readFileSync("config/haproxy/postgresql.cfg", "utf8")
      .replace("127.0.0.1:5000", `127.0.0.1:${this.proxyPort}`)
      .replaceAll(/10\.0\.0\.2(\d):5432 check port 8008/g, (_, number: string) => {
        const { port, restPort } = this.members[Number(number) - 1]!;
        return `127.0.0.1:${port} check port ${restPort}`;
      });
    writeFileSync(file, text);
    handOver(file, this.account);
    this.others.push(this.spawn("haproxy", ["-f", file, "-db"], "haproxy.log"));
  }

  private async makeDatabase(): Promise<void> {
    await this.sql("postgres", `create role ${user} login`);
    await this.sql("postgres", `create database ${user} owner ${user}`);
    for (const extension of ["postgis", "pg_trgm", "unaccent"])
      await this.sql(user, `create extension ${extension}`);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
