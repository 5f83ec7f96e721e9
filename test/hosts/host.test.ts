import { getEventListeners } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import t, { type Test } from "tap";
import { type HostOptions, WorkerHost } from "../../src/hosts/host.js";
import type { ImageMessages } from "../../src/hosts/messages.js";
import { Overruns } from "../../src/hosts/overruns.js";
import { RetryingHost } from "../../src/hosts/retrying-host.js";
import { failure } from "../support/failure.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** Hosts whose process cannot be made for a while: the machine has no more processes, files or memory. */

type Messages = ImageMessages & Record<string, [unknown, unknown]>;
type Host = RetryingHost<Messages>;
const deadlineMs = 10_000;
const environment = { PATH: "/usr/local/bin:/usr/bin:/bin" };

const options: HostOptions = {
  name: "image",
  worker: "image",
  environment,
  concurrency: 1,
  queueLength: 4,
  maxWaitMs: 30_000,
  memoryBytes: 1024 ** 3,
  log: quietLog,
};

function open(t: Test, own: Partial<HostOptions> = {}): Host {
  const host: Host = new RetryingHost({ ...options, ...own });
  t.teardown(() => host.stop());
  return host;
}

/** Until it is called back no process can be made: told by an event, and with no exit. */
function noProcesses(t: Test): () => void {
  const { execPath } = process;
  process.execPath = "/nonexistent/node";
  const again = () => {
    process.execPath = execPath;
  };
  t.teardown(again);
  return again;
}

t.test("what waits for a process that cannot be made is done when one can", async (t) => {
  const again = noProcesses(t);
  const host = open(t);
  const waiting = host.call("ping", null, { deadlineMs });
  await waitFor(() => host.counts().restarts > 1);
  t.notOk(host.ready);
  again();
  t.equal(await waiting, "pong");
});

t.test("a signal that outlives many tasks keeps nothing of them", async (t) => {
  const host = open(t);
  const { signal } = new AbortController();
  for (let n = 0; n < 3; n++) t.equal(await host.call("ping", null, { deadlineMs, signal }), "pong");
  t.same(getEventListeners(signal, "abort"), []);
});

t.test("a process that cannot be made for a reason that is thrown is made when it can", async (t) => {
  // The kernel takes no variable of that length.
  const ours: Record<string, string> = { ...environment, LONG: "x".repeat(200_000) };
  const host = open(t, { environment: ours });
  const waiting = host.call("ping", null, { deadlineMs });
  await waitFor(() => host.counts().restarts > 1);
  delete ours.LONG;
  t.equal(await waiting, "pong");
});

t.test("who waits for a host that is stopped learns it, then and later", async (t) => {
  noProcesses(t);
  const host = open(t);
  const waiting = t.rejects(host.whenReady(), { message: "The image host is stopped." });
  await host.stop();
  await waiting;
  await t.rejects(host.whenReady(), { message: "The image host is stopped." });
});

t.test("a host that ends while no other can be made comes back", async (t) => {
  const host = open(t);
  await host.whenReady();
  const again = noProcesses(t);
  host.renew();
  await waitFor(() => host.counts().restarts > 1);
  again();
  t.equal(await host.call("ping", null, { deadlineMs }), "pong");
});

t.test("a task that waits for longer than the host's patience is refused as busy", async (t) => {
  const again = noProcesses(t);
  const host = open(t, { maxWaitMs: 100 });
  const waiting = Array.from({ length: 4 }, () => host.call("ping", null, { deadlineMs }));
  await Promise.all(waiting.map((task) => t.rejects(task, failure("busy"))));
  t.equal(host.counts().waiting, 0, "and leaves its place");
  again();
  await host.whenReady();
  t.equal(await host.call("ping", null, { deadlineMs }), "pong");
});

t.test("a task that was tried before is refused as busy as well", async (t) => {
  const host = open(t, { maxWaitMs: 100 });
  await host.whenReady();
  // It gets the task and does not come to it.
  process.kill(host.pid!, "SIGSTOP");
  const task = host.call("ping", null, { deadlineMs });
  t.equal(host.counts().running, 1);
  noProcesses(t);
  host.renew();
  await t.rejects(task, failure("busy"));
});

t.test("a task that an abort took out of the queue is done with", async (t) => {
  noProcesses(t);
  const host = open(t, { maxWaitMs: 100 });
  const leaving = new AbortController();
  const task = host.call("ping", null, { deadlineMs, signal: leaving.signal });
  leaving.abort(new Error("left"));
  await t.rejects(task, { message: "left" });
  t.equal(host.counts().waiting, 0);
});

t.test("an abort ends a task that runs with its process, if the caller says so", async (t) => {
  const host = open(t);
  await host.whenReady();
  const { pid } = host;
  // It gets the tasks and does not come to them.
  process.kill(pid!, "SIGSTOP");
  const [leaving, staying] = [new AbortController(), new AbortController()];
  const ended = host.call("ping", null, { deadlineMs, signal: leaving.signal, endsChild: true });
  t.equal(host.counts().running, 1);
  leaving.abort(new Error("left"));
  await t.rejects(ended, { message: "left" });
  await waitFor(() => host.ready && host.pid !== pid);
  t.equal(host.counts().restarts, 0, "that was no failure of the host");
  t.equal(await host.call("ping", null, { deadlineMs, signal: staying.signal, endsChild: true }), "pong");
  staying.abort();
  t.equal(await host.call("ping", null, { deadlineMs }), "pong", "an abort afterwards changes nothing");
});

t.test("those whose tasks wait take turns", async (t) => {
  const again = noProcesses(t);
  const host = open(t, { queueLength: 16 });
  const done: string[] = [];
  const call = async (owner: string) => {
    await host.call("ping", null, { deadlineMs, owner });
    done.push(owner);
  };
  const all = ["a", "a", "a", "b", "b", "c"].map(call);
  again();
  await Promise.all(all);
  t.same(done.slice(0, 3).sort(), ["a", "b", "c"]);
});

t.test("clients take turns, and who brings too much is the one who is refused", async (t) => {
  const again = noProcesses(t);
  const host = open(t, { queueLength: 6 });
  const done: string[] = [];
  const refused: string[] = [];
  const call = (client: string, owner: string) =>
    host.call("ping", null, { deadlineMs, client, owner }).then(
      () => done.push(client),
      () => refused.push(client),
    );
  // One asks for much of many maps, then another comes.
  const all = Array.from({ length: 9 }, (_, index) => call("flood", `p${index}`));
  await Promise.all(all.slice(6));
  t.same(refused, ["flood", "flood", "flood"]);
  all.push(call("other", "p1"), call("other", "p1"));
  t.equal(host.counts().waiting, 6);
  again();
  await Promise.all(all);
  t.equal(refused.length, 5);
  t.notOk(refused.includes("other"));
  t.ok(done.slice(0, 2).includes("other"), done.join(" "));
});

t.test("what was to be done by the next process is not, when nobody waits for it any more", async (t) => {
  const host = open(t, { concurrency: 3 });
  await host.whenReady();
  // It gets the tasks and does not come to them.
  process.kill(host.pid!, "SIGSTOP");
  const [before, after] = [new AbortController(), new AbortController()];
  const late = host.call("ping", null, { deadlineMs: 50 });
  const left = [before, after].map(({ signal }) => host.call("ping", null, { deadlineMs, signal }));
  t.match(host.counts(), { running: 3 });
  // Tasks that run go on, as their process would do others'.
  before.abort(new Error("left"));
  t.match(host.counts(), { running: 3 });
  const again = noProcesses(t);
  await t.rejects(late, { name: "HostError", reason: "deadline" });
  await t.rejects(left[0]!, { message: "left" });
  t.match(host.counts(), { running: 0, waiting: 1 });
  after.abort(new Error("left"));
  await t.rejects(left[1]!, { message: "left" });
  t.match(host.counts(), { running: 0, waiting: 0 });
  again();
  t.equal(await host.call("ping", null, { deadlineMs }), "pong");
});

t.test("what is about something that took too long is refused at once, and nothing else", async (t) => {
  const host = open(t, { concurrency: 2 });
  await host.whenReady();
  const { pid } = host;
  // It gets the tasks and does not come to them.
  process.kill(pid!, "SIGSTOP");
  const late = host.call("ping", null, { deadlineMs: 50, about: "slow" });
  const beside = host.call("ping", null, { deadlineMs, about: "other" });
  const queued = host.call("ping", null, { deadlineMs, about: "slow" });
  const waiting = host.call("ping", null, { deadlineMs, about: "third" });
  t.match(host.counts(), { running: 2, waiting: 2 });
  const slow = { name: "HostError", reason: "deadline" };
  await Promise.all([
    t.rejects(late, { ...slow, isRefused: false }),
    t.rejects(queued, { ...slow, isRefused: true }),
  ]);
  t.same(await Promise.all([beside, waiting]), ["pong", "pong"], "the next host does the others");
  await t.rejects(host.call("ping", null, { deadlineMs, about: "slow" }), { ...slow, isRefused: true });
  t.match(host.counts(), { refused: 2, restarts: 1, running: 0, waiting: 0 });
  t.equal(await host.call("ping", null, { deadlineMs, about: "other" }), "pong");
});

t.test("who leaves before something is tried again does not keep it from others", async (t) => {
  const clock = { ms: 0, now: () => clock.ms };
  const overruns = new Overruns(clock);
  noProcesses(t);
  const host = new WorkerHost<Messages>({ ...options, overruns, queueLength: 1, maxWaitMs: 200 });
  t.teardown(() => host.stop());
  overruns.note("slow");
  clock.ms = 30_000;
  const leaving = new AbortController();
  const left = host.call("ping", null, { deadlineMs, about: "slow", signal: leaving.signal });
  leaving.abort(new Error("left"));
  await t.rejects(left, { message: "left" });
  const first = host.call("ping", null, { deadlineMs, about: "other" });
  await t.rejects(
    host.call("ping", null, { deadlineMs, about: "slow" }),
    failure("busy"),
    "the queue is full",
  );
  await t.rejects(first, failure("busy"));
  await t.rejects(
    host.call("ping", null, { deadlineMs, about: "slow" }),
    failure("busy"),
    "it waited too long",
  );
  t.ok(overruns.admits("slow"));
});

t.test("a pause of this process is nobody's overrun", async (t) => {
  const host = open(t, { concurrency: 2 });
  await host.whenReady();
  const { pid } = host;
  for (const deadlineMs of [100, 600]) {
    const task = host.call("ping", null, { deadlineMs, about: "paused" });
    const other = host.call("ping", null, { deadlineMs, about: "other" });
    // The message goes out.
    await new Promise((sent) => setImmediate(sent));
    const until = performance.now() + 1_500;
    while (performance.now() < until);
    t.same(await Promise.all([task, other]), ["pong", "pong"], `${deadlineMs} ms`);
  }
  t.equal(host.pid, pid, "the host goes on");
  t.match(host.counts(), { refused: 0, restarts: 0, running: 0 });
  t.equal(await host.call("ping", null, { deadlineMs, about: "paused" }), "pong");
});

t.test("what works on after a pause of this process still has its deadline", async (t) => {
  const host = open(t);
  await host.whenReady();
  process.kill(host.pid!, "SIGSTOP");
  const task = host.call("ping", null, { deadlineMs: 600, about: "slow" });
  const until = performance.now() + 1_500;
  while (performance.now() < until);
  await t.rejects(task, { name: "HostError", reason: "deadline" });
  await waitFor(() => host.counts().restarts === 1);
});

t.test("a host stops while its process cannot be made", async (t) => {
  noProcesses(t);
  const host = open(t);
  const waiting = host.call("ping", null, { deadlineMs });
  await Promise.all([host.stop(), t.rejects(waiting, { name: "HostError", reason: "stopped" })]);
});

t.test("all threads of a host give way to the server", async (t) => {
  const host = open(t);
  await host.whenReady();
  const folder = `/proc/${host.pid}/task`;
  for (const thread of readdirSync(folder)) {
    const [, values = ""] = /\) (.*)/.exec(readFileSync(`${folder}/${thread}/stat`, "utf8")) ?? [];
    // The 19th value of the line; the name in brackets, which may hold blanks, is the second.
    t.equal(Number(values.split(" ")[16]), Math.min(19, getPriority() + 5), `thread ${thread}`);
  }
});
