import { createHook } from "node:async_hooks";
import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { LoginThrottle, type ThrottleLimits } from "../../src/access/login-throttle.js";
import { hashingGate, Logins } from "../../src/access/logins.js";
import { hashPassword, verifyPassword } from "../../src/access/passwords.js";
import { createProject } from "../../src/catalog/projects.js";
import { networkOf } from "../../src/queues/clients.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { openRedis } from "../../src/storage/redis.js";
import { freshDatabase } from "../support/database.js";
import { failure } from "../support/failure.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";
import { waitFor } from "../support/server.js";

const redis = openRedis(testRedisUrl(), quietLog);
await redis.connect();
const database = await freshDatabase();
const db = openDatabase({ ...database.at, connections: 4, statementTimeoutMs: 10_000, log: quietLog });
t.teardown(async () => {
  redis.disconnect();
  await db.close();
  await database.drop();
});

const limits: ThrottleLimits = {
  windowSeconds: 300,
  failuresPerLoginAndAddress: 3,
  failuresPerAddress: 6,
  failuresPerLogin: 5,
};
const prefix = freshPrefix();
let made = 0;
/** A throttle with counters of its own. */
function fresh(more: Partial<ThrottleLimits> = {}): { throttle: LoginThrottle; own: string } {
  const own = `${prefix}${++made}:`;
  return { throttle: new LoginThrottle(redis, own, { ...limits, ...more }), own };
}

const from = (login: string, address = "192.0.2.1") => ({ login, address });
async function fail(throttle: LoginThrottle, times: number, login: string, address?: string): Promise<void> {
  for (let i = 0; i < times; i++) await throttle.failed(from(login, address));
}
const admitted = (throttle: LoginThrottle, login: string, address?: string): Promise<boolean> =>
  throttle.admit(from(login, address)).then(
    () => true,
    () => false,
  );

t.test("a login that failed too often from an address is refused there, and nowhere else", async (t) => {
  const { throttle } = fresh();
  await fail(throttle, 2, "anna");
  t.ok(await admitted(throttle, "anna"));
  await fail(throttle, 1, "anna");
  await t.rejects(throttle.admit(from("anna")), failure("forbidden"));
  t.ok(await admitted(throttle, "anna", "192.0.2.2"));
  t.ok(await admitted(throttle, "boris"));
  t.ok(await admitted(throttle, "anna\0"), "logins are told apart exactly");
});

t.test("a refusal says when to come back", async (t) => {
  const { throttle } = fresh();
  await fail(throttle, 3, "anna");
  const refusal = (await throttle.admit(from("anna")).catch((error: unknown) => error)) as {
    data: { retryAfterSeconds: number };
  };
  const { retryAfterSeconds } = refusal.data;
  t.ok(Number.isInteger(retryAfterSeconds) && retryAfterSeconds >= 1 && retryAfterSeconds <= 600);
});

t.test("an address that failed with many logins is refused with all of them", async (t) => {
  const { throttle } = fresh();
  for (let i = 0; i < 6; i++) await fail(throttle, 1, `user${i}`);
  t.notOk(await admitted(throttle, "anna"));
  t.ok(await admitted(throttle, "anna", "192.0.2.2"));
});

t.test("a right password clears the login at its address, and nothing else", async (t) => {
  const { throttle } = fresh();
  await fail(throttle, 3, "anna");
  await throttle.succeeded(from("anna"));
  t.ok(await admitted(throttle, "anna"));
  await fail(throttle, 3, "boris");
  t.notOk(await admitted(throttle, "carl"), "the address has its six failures still");
  t.ok(await admitted(throttle, "anna"), "which do not concern who came in there before");
});

t.test(
  "guesses from many addresses are refused from new ones, but never where the user is known",
  async (t) => {
    const { throttle } = fresh();
    await throttle.succeeded(from("anna", "198.51.100.7"));
    for (let i = 0; i < 5; i++) await fail(throttle, 1, "anna", `203.0.113.${i}`);
    t.notOk(await admitted(throttle, "anna", "203.0.113.99"));
    t.ok(await admitted(throttle, "anna", "198.51.100.7"));
    t.ok(await admitted(throttle, "boris", "203.0.113.99"));
    await fail(throttle, 3, "anna", "198.51.100.7");
    t.notOk(await admitted(throttle, "anna", "198.51.100.7"), "its own failures count there too");
  },
);

t.test("the window slides: of the last one the share counts that it still covers", async (t) => {
  const { throttle, own } = fresh();
  await fail(throttle, 3, "anna");
  const shift = async (windows: number) => {
    for (const key of await redis.keys(`${own}*`)) await redis.hincrby(key, "w", -windows);
  };
  await shift(1);
  t.ok(await admitted(throttle, "anna"), "less than all of three");
  await fail(throttle, 3, "anna");
  t.notOk(await admitted(throttle, "anna"));
  await shift(2);
  t.ok(await admitted(throttle, "anna"));
  await fail(throttle, 2, "anna");
  t.ok(await admitted(throttle, "anna"), "what is older does not count at all");
});

t.test("a refusal ends by itself, and asking again meanwhile does not lengthen it", async (t) => {
  const { throttle, own } = fresh({ windowSeconds: 1 });
  await fail(throttle, 3, "anna");
  await waitFor(() => admitted(throttle, "anna"));
  await waitFor(async () => (await redis.keys(`${own}*`)).length === 0);
  t.pass("and Redis forgets the counters");
});

t.test("an IPv6 client is its network, an IPv4 client its address", async (t) => {
  t.equal(networkOf("192.0.2.1"), "192.0.2.1");
  t.equal(networkOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2");
  t.equal(networkOf("2001:db8:1:2::9"), "2001:db8:1:2");
  t.equal(networkOf("2001:db8::9"), "2001:db8:0:0");
  t.equal(networkOf("::1"), "0:0:0:0");
  t.equal(networkOf("::"), "0:0:0:0");
  t.equal(networkOf("2001:db8:1::"), "2001:db8:1:0");
  const { throttle } = fresh();
  await fail(throttle, 3, "anna", "2001:db8:1:2::9");
  t.notOk(await admitted(throttle, "anna", "2001:db8:1:2:ffff::1"));
  t.ok(await admitted(throttle, "anna", "2001:db8:1:3::9"));
});

t.test("an IPv6 site may fail sixteen times as often as each of its networks", async (t) => {
  const { throttle } = fresh();
  const at = (network: number) => ({
    login: `login-${network}`,
    address: `2001:db8:7:${network.toString(16)}::1`,
  });
  let network = 0;
  for (; network < 1_000; network++) {
    const admitted = await throttle.admit(at(network)).then(
      () => true,
      () => false,
    );
    if (!admitted) break;
    await throttle.failed(at(network));
  }
  t.equal(network, 16 * limits.failuresPerAddress, "each failed once");
  await t.rejects(throttle.admit(at(0xffff)), failure("forbidden"), "another network of it");
  await throttle.admit({ login: "x", address: "2001:db8:8:1::1" });
  await throttle.succeeded(at(5));
  await throttle.admit(at(5));
});

t.test("Redis learns neither logins nor addresses", async (t) => {
  const { throttle, own } = fresh();
  await fail(throttle, 1, "password-typed-as-login");
  await throttle.succeeded(from("password-typed-as-login"));
  const keys = await redis.keys(`${own}*`);
  t.equal(keys.length, 3);
  for (const key of keys) t.notMatch(key, /password|192/);
});

t.test("while Redis is away nobody is let in", async (t) => {
  const absent = openRedis("redis://127.0.0.1:1/0", quietLog);
  t.teardown(() => absent.disconnect());
  const throttle = new LoginThrottle(absent, "x:", limits);
  await t.rejects(throttle.admit(from("anna")), failure("busy"));
  await t.rejects(throttle.failed(from("anna")), failure("busy"));
  await t.rejects(throttle.succeeded(from("anna")), failure("busy"));
});

t.test("unknown logins and wrong passwords wait for the same turn and cost the same", async (t) => {
  const project = await createProject(db, { code: "p" });
  const anna = await addMember(db, { login: "anna", password: "right", projectId: project, role: "viewer" });
  const { throttle } = fresh({
    failuresPerLoginAndAddress: 100,
    failuresPerAddress: 100,
    failuresPerLogin: 100,
  });
  const gate = hashingGate(1, 50);
  const logins = new Logins(db, throttle, gate);
  const check = (login: string, password: string) => logins.check(project, { ...from(login), password });

  t.match(await check("anna", "right"), { id: anna.id, login: "anna" });
  const wrong = await check("anna", "wrong").catch((error: Error) => error);
  const unknown = await check("nobody", "wrong").catch((error: Error) => error);
  t.match(wrong, { kind: "forbidden" });
  t.same({ ...unknown, stack: "" }, { ...wrong, stack: "" }, "told the same");

  const leave = await gate.acquire({ owners: ["", "", ""] });
  for (const [login, password] of [
    ["anna", "right"],
    ["anna", "wrong"],
    ["nobody", "wrong"],
  ] as const) {
    await t.rejects(check(login, password), failure("busy"), `${login} waits for a place to hash`);
  }
  leave();

  const stored = await hashPassword("right");
  const known = await workOf(() => verifyPassword(stored, "wrong"));
  t.ok(known.size > 0);
  t.same(await workOf(() => verifyPassword(undefined, "wrong")), known, "the same work for the thread pool");
  t.same(await workOf(() => verifyPassword(stored, "x".repeat(5_000))), known);
});

/** What the work starts beside promises, by kind. */
async function workOf(work: () => Promise<unknown>): Promise<Map<string, number>> {
  const started = new Map<string, number>();
  const hook = createHook({
    init: (_id, kind) => {
      if (kind !== "PROMISE") started.set(kind, (started.get(kind) ?? 0) + 1);
    },
  });
  hook.enable();
  try {
    await work();
  } finally {
    hook.disable();
  }
  return started;
}

t.test("many right logins at once are all right, and many wrong ones are few guesses", async (t) => {
  const project = await createProject(db, { code: "q" });
  await addMember(db, { login: "carl", password: "right", projectId: project, role: "viewer" });
  const { throttle, own } = fresh();
  const logins = new Logins(db, throttle, hashingGate(2));
  const many = (password: string) =>
    Promise.allSettled(
      Array.from({ length: 20 }, () => logins.check(project, { ...from("carl"), password })),
    );
  t.ok((await many("right")).every(({ status }) => status === "fulfilled"));
  t.ok((await many("wrong")).every(({ status }) => status === "rejected"));
  const counts = await Promise.all(
    (await redis.keys(`${own}*`)).map(async (key) =>
      (await redis.type(key)) === "hash" ? Number(await redis.hget(key, "c")) : 0,
    ),
  );
  t.ok(Math.max(...counts) <= 4, "three, and the one that was hashed beside the third");
});

t.test("hundreds of right logins of one client keep nobody else waiting", async (t) => {
  const project = await createProject(db, { code: "turns" });
  await addMember(db, { login: "dora", password: "right", projectId: project, role: "viewer" });
  await addMember(db, { login: "emil", password: "right", projectId: project, role: "viewer" });
  const { throttle } = fresh();
  const logins = new Logins(db, throttle, hashingGate(1, 60_000));
  const check = (login: string, address: string) =>
    logins.check(project, { login, password: "right", address });
  for (const [login, own, other] of [
    ["emil", "203.0.113.1", "198.51.100.2"],
    ["emil", "203.0.113.3", "203.0.113.3"],
    ["dora", "2001:db8:7:1::1", "2001:db8:8:1::1"],
  ] as const) {
    const leaving = new AbortController();
    let done = 0;
    const flood = Array.from({ length: 100 }, (_, index) => {
      // All networks of a site are one client beside others.
      const address = own.includes(":") ? `2001:db8:7:${index}::1` : own;
      return logins
        .check(project, { login: "dora", password: "right", address }, leaving.signal)
        .then(() => done++)
        .catch(() => undefined);
    });
    await waitFor(() => done > 0);
    const before = done;
    await check(login, other);
    t.ok(done - before < 20, `${login} from ${other} waited for ${done - before} of them`);
    leaving.abort();
    await Promise.all(flood);
  }
});
