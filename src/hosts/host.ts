import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { busy, type Failure } from "../errors.js";
import type { Log } from "../log.js";
import { clientOwners } from "../queues/clients.js";
import { FairQueue, type Owners } from "../queues/fair-queue.js";
import { type ProcessLimits, underLimits } from "./isolation.js";
import { Overruns } from "./overruns.js";
import { giveWay, residentBytes } from "./process-state.js";
import { WorkTime } from "./work-time.js";

/**
 * A supervised child process that runs native code for us.
 *
 * A child that dies or overruns a deadline is replaced at once; one that cannot be started, after a pause. What ran beside a
 * task that took too long is done by the next child; after a crash `RetryingHost` tries each task once more.
 */

/** kind → [request, response], both plain data. */
export type Messages = Record<string, [request: unknown, response: unknown]>;

type HostEnvironment = Readonly<Record<string, string>>;

/** A valid task got no result. */
export class HostError extends Error {
  constructor(
    /** `killed`: its process was ended from outside, and it is not known whether the task is to blame. */
    readonly reason: "died" | "killed" | "deadline" | "failed" | "stopped",
    message: string,
    /** It was not to blame, and perhaps never begun: something else about the same took too long. */
    readonly isRefused = false,
    /** The process ended over a task beside it, or from outside. */
    readonly mayBeInnocent = false,
  ) {
    super(message);
    this.name = "HostError";
  }
}

export interface HostOptions {
  readonly name: string;
  /** Which worker the child runs: a folder of workers/. */
  readonly worker: "render" | "transfer" | "image";
  /** Of its processes; a function is called for each. */
  readonly environment: HostEnvironment | (() => HostEnvironment);
  /** Whether the child has a folder for sockets, MAPWRIGHT_SOCKETS, that no other account can look into. */
  readonly hasSockets?: boolean;
  /** Tasks that the child is given at once. */
  readonly concurrency: number;
  /** How many of them may be of one owner; absent = all. */
  readonly mostOfOwner?: number;
  /** Tasks that may wait; beyond that those of the client with most are refused as busy. */
  readonly queueLength: number;
  /** A task that has waited for longer is refused as busy. */
  readonly maxWaitMs: number;
  /** A child that holds more resident memory than this is replaced. */
  readonly memoryBytes: number;
  /** Limits by the kernel; absent = none. */
  readonly limits?: ProcessLimits;
  /** The child is replaced after that many tasks; absent = never. */
  readonly jobsPerChild?: number;
  /** What took too long; absent = of this host alone. */
  readonly overruns?: Overruns;
  readonly log: Log;
}

export interface CallOptions {
  /** For the work itself, milliseconds: waiting does not count, as `WorkTime` says. */
  readonly deadlineMs: number;
  /** Takes a task that does not run, be it before its first process or between two, out of those that wait. */
  readonly signal?: AbortSignal;
  /** Aborting `signal` also ends a task that runs, with its child; tasks that run beside it are tried again. */
  readonly endsChild?: boolean;
  /** For whom the task is: clients take turns. */
  readonly client?: string;
  /** Whose task it is: the owners of what a client asks for take turns. */
  readonly owner?: string;
  /** What it is about: when such a task has overrun its deadline, others are refused at once for a while, as `Overruns` says. */
  readonly about?: string;
  /** It was admitted before: that others about the same took too long meanwhile does not refuse it. */
  readonly isAgain?: boolean;
  /** Receives what the worker tells while it runs the task. */
  readonly onProgress?: (progress: unknown) => void;
}

interface Task {
  readonly id: number;
  readonly kind: string;
  readonly request: unknown;
  /** Client and owner. */
  readonly owners: Owners;
  readonly about: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** When it was begun, by `performance.now()`. */
  begunAt: number;
  /** undefined = it was not begun. */
  work: WorkTime | undefined;
  /** It waits in the child. */
  isWaiting: boolean;
  /** It waited there for too long. Its caller has been answered. */
  isRefused: boolean;
  readonly deadlineMs: number;
  readonly resolve: (response: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: ((progress: unknown) => void) | undefined;
  /** Ends its wait in the child. */
  waitTimer: NodeJS.Timeout | undefined;
  /** When it was queued, by `performance.now()`. */
  queuedAt: number;
}

type Answer = { id: number; ok: true; response: unknown } | { id: number; ok: false; error: string };
interface Progress {
  readonly id: number;
  readonly progress: unknown;
}
/** A task begins or ends to wait in the child, such as for a thread. */
interface Wait {
  readonly id: number;
  readonly waits: boolean;
}

interface Child {
  readonly process: ChildProcess;
  readonly running: Map<number, Task>;
  ready: boolean;
  done: number;
  /** Gets no more tasks and ends when its last one is answered. */
  retiring: boolean;
  /** The task over whose deadline, or end, the child was killed. Its caller has been answered. */
  killedBy: Task | undefined;
  /** It was killed over its memory. */
  holdsTooMuch: boolean;
  /** It was ended by `renew`. */
  isRenewed: boolean;
}

/** A child that is not ready by then is replaced. */
const startupMs = 30_000;
/** How often waiting times and the memory of the child are checked. */
const checkIntervalMs = 1_000;
/** Each task counts at least this much. */
const leastMs = 1;

export interface HostCounts {
  readonly waiting: number;
  readonly running: number;
  readonly restarts: number;
  /** Tasks that were refused at once, as others about the same took too long. */
  readonly refused: number;
}

export class WorkerHost<M extends Messages> {
  private child: Child | undefined;
  private readonly queue: FairQueue<Task>;
  /** Tasks whose child was ended over another task. */
  private readonly resumed: Task[] = [];
  private readonly overruns: Overruns;
  private refused = 0;
  private nextId = 1;
  private restarts = 0;
  private failedStarts = 0;
  private stopped = false;
  /** Since when no child takes tasks, by `performance.now()`. */
  private unavailableSince: number | undefined = performance.now();
  private respawn: NodeJS.Timeout | undefined;
  private readonly watch: NodeJS.Timeout;
  private readonly readyWaiters: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] =
    [];
  /** Its path is short: names of sockets may have no more than some 100 characters. */
  private readonly sockets: string | undefined;

  constructor(private readonly options: HostOptions) {
    this.queue = new FairQueue({ mostWaiting: options.queueLength });
    this.overruns = options.overruns ?? new Overruns();
    if (options.hasSockets) this.sockets = mkdtempSync(join(tmpdir(), "mapwright-"));
    this.watch = setInterval(() => {
      this.checkMemory();
      this.refuseOverdue();
    }, checkIntervalMs);
    this.watch.unref();
    this.spawn();
  }

  /**
   * Runs one task in the host.
   * @throws HostError when it crashed the host, overran its deadline or failed
   * @throws Failure busy when too many tasks wait, or this one waited too long
   */
  call<K extends keyof M & string>(kind: K, request: M[K][0], options: CallOptions): Promise<M[K][1]> {
    if (this.stopped) return Promise.reject(this.stoppedError());
    if (options.signal?.aborted) return Promise.reject(options.signal.reason as Error);
    if (options.about !== undefined && !options.isAgain && !this.overruns.admits(options.about)) {
      this.refused++;
      return Promise.reject(tooSlow(kind, true));
    }
    const { signal } = options;
    let abort = (): void => undefined;
    const answer = new Promise<M[K][1]>((resolve, reject) => {
      const task: Task = {
        id: this.nextId++,
        kind,
        request,
        deadlineMs: options.deadlineMs,
        begunAt: 0,
        work: undefined,
        isWaiting: false,
        isRefused: false,
        owners: [...clientOwners(options.client ?? ""), options.owner ?? ""],
        about: options.about,
        signal,
        resolve: resolve as (response: unknown) => void,
        reject,
        onProgress: options.onProgress,
        waitTimer: undefined,
        queuedAt: performance.now(),
      };
      abort = () => {
        const waited = this.withdraw(task);
        if (!waited && !(options.endsChild && this.abandon(task))) return;
        if (waited) this.refuseWaiting(task, signal?.reason as Error);
        else reject(signal?.reason as Error);
      };
      signal?.addEventListener("abort", abort, { once: true });
      const refused = this.queue.add(task.owners, task);
      if (refused) this.refuseWaiting(refused, this.overloaded());
      this.dispatch();
    });
    // A signal may outlive the task by far, and would keep what it was about.
    return signal ? answer.finally(() => signal.removeEventListener("abort", abort)) : answer;
  }

  counts(): HostCounts {
    return {
      waiting: this.queue.length + this.resumed.length,
      running: this.child?.running.size ?? 0,
      restarts: this.restarts,
      refused: this.refused,
    };
  }

  /** Process id of the child that takes tasks now. */
  get pid(): number | undefined {
    return this.child?.process.pid;
  }

  get ready(): boolean {
    return this.child?.ready ?? false;
  }

  /** Resolves when a child can take tasks. @throws HostError when the host is stopped */
  whenReady(): Promise<void> {
    if (this.ready) return Promise.resolve();
    if (this.stopped) return Promise.reject(this.stoppedError());
    return new Promise((resolve, reject) => this.readyWaiters.push({ resolve, reject }));
  }

  private stoppedError(): HostError {
    return new HostError("stopped", `The ${this.options.name} host is stopped.`);
  }

  /** Replaces the child. The next one does its tasks. */
  renew(): void {
    if (!this.child) return;
    this.child.isRenewed = true;
    this.child.process.kill("SIGKILL");
  }

  /** Ends the child; tasks that wait or run are refused. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearInterval(this.watch);
    clearTimeout(this.respawn);
    const child = this.child;
    this.child = undefined;
    const ended = this.stoppedError();
    for (const waiter of this.readyWaiters.splice(0)) waiter.reject(ended);
    for (const task of [...this.takeWaiting(() => true), ...(child?.running.values() ?? [])]) {
      stopTimers(task);
      task.reject(ended);
    }
    child?.running.clear();
    // A process that could not be started has no id, and no exit event.
    const wasStarted = child?.process.pid !== undefined;
    if (child && wasStarted && child.process.exitCode === null && child.process.signalCode === null) {
      const gone = new Promise((resolve) => child.process.once("exit", resolve));
      child.process.kill("SIGKILL");
      await gone;
    }
    if (this.sockets !== undefined) rmSync(this.sockets, { recursive: true, force: true });
  }

  private spawn(): void {
    if (this.stopped) return;
    const started = performance.now();
    let childProcess: ChildProcess;
    try {
      childProcess = this.fork();
    } catch (error) {
      // Most errors of fork come as an event; some, such as a lack of memory, are thrown.
      this.options.log.error({ err: error, host: this.options.name }, "a host could not be started");
      this.restarts++;
      this.replace(false);
      return;
    }
    const child: Child = {
      process: childProcess,
      running: new Map(),
      ready: false,
      done: 0,
      retiring: false,
      killedBy: undefined,
      holdsTooMuch: false,
      isRenewed: false,
    };
    this.child = child;
    giveWay(childProcess.pid);
    const startup = setTimeout(() => childProcess.kill("SIGKILL"), startupMs);
    startup.unref();
    const ended = (code: number | null, signal: NodeJS.Signals | null) => {
      clearTimeout(startup);
      this.exited(child, code, signal);
    };
    childProcess.on("message", (message: Answer | Progress | Wait | "ready") => {
      if (message === "ready") {
        clearTimeout(startup);
        child.ready = true;
        this.unavailableSince = undefined;
        this.options.log.debug(
          { host: this.options.name, pid: childProcess.pid, ms: Math.round(performance.now() - started) },
          "host ready",
        );
        for (const waiter of this.readyWaiters.splice(0)) waiter.resolve();
        this.dispatch();
      } else if ("progress" in message) child.running.get(message.id)?.onProgress?.(message.progress);
      else if ("waits" in message) this.waits(child, message);
      else this.answered(child, message);
    });
    childProcess.on("error", (error) => {
      this.options.log.error({ err: error, host: this.options.name }, "host process");
      if (childProcess.pid === undefined) ended(null, null);
    });
    childProcess.on("exit", ended);
  }

  private fork(): ChildProcess {
    const entry = fileURLToPath(new URL("../../workers/host.js", import.meta.url));
    const { limits, environment } = this.options;
    return fork(entry, [this.options.worker, String(this.options.concurrency)], {
      serialization: "advanced",
      env: {
        ...(typeof environment === "function" ? environment() : environment),
        ...(this.sockets !== undefined && { MAPWRIGHT_SOCKETS: this.sockets }),
      },
      // Not the server's standard output, which commands write to.
      stdio: ["ignore", 2, 2, "ipc"],
      execArgv: [],
      ...(limits && underLimits(limits)),
    });
  }

  private dispatch(): void {
    const child = this.child;
    if (!child?.ready || child.retiring || child.killedBy || child.holdsTooMuch || child.isRenewed) return;
    const { concurrency, mostOfOwner = concurrency } = this.options;
    while (child.running.size < concurrency) {
      const resumed = this.resumed.shift();
      if (resumed) this.assign(child, resumed);
      else {
        const next = this.queue.take(undefined, (owner) => runningOf(child, owner) < mostOfOwner);
        if (!next) return;
        this.run(child, next.task);
      }
    }
  }

  /** Runs a task that does not come from the queue. */
  private assign(child: Child, task: Task): void {
    this.queue.enter(task.owners);
    this.run(child, task);
  }

  private run(child: Child, task: Task): void {
    child.running.set(task.id, task);
    task.begunAt = performance.now();
    task.isWaiting = false;
    task.work = new WorkTime(task.deadlineMs, child.process.pid, () => this.deadlinePassed(child, task));
    child.process.send({ id: task.id, kind: task.kind, request: task.request }, (error) => {
      // The channel closes when the child dies; its exit event does the rest.
      if (error) child.process.kill("SIGKILL");
    });
  }

  private waits(child: Child, { id, waits }: Wait): void {
    const task = child.running.get(id);
    if (!task) return;
    stopTimers(task);
    task.isWaiting = waits;
    if (!waits) {
      task.work?.goOn();
      return;
    }
    task.work?.pause();
    // The child gives it up, too. Should it begin it all the same, that is still under the deadline.
    task.waitTimer = setTimeout(() => {
      task.isRefused = true;
      this.refuseWaiting(task, this.overloaded());
    }, this.options.maxWaitMs);
  }

  /** The child is done with the task. @returns false when it was before */
  private ended(child: Child, task: Task): boolean {
    if (!child.running.delete(task.id)) return false;
    stopTimers(task);
    this.queue.leave(task.owners, Math.max(leastMs, task.work?.workedMs ?? 0));
    return true;
  }

  /** Takes a task out of those that wait. @returns whether it was there */
  private withdraw(task: Task): boolean {
    const index = this.resumed.indexOf(task);
    if (index < 0) return this.queue.remove(task.owners, task);
    this.resumed.splice(index, 1);
    return true;
  }

  /** Removes what waits. */
  private takeWaiting(which: (task: Task) => boolean): Task[] {
    const waiting = [...[...this.queue].map(({ task }) => task), ...this.resumed];
    return waiting.filter((task) => which(task) && this.withdraw(task));
  }

  private answered(child: Child, answer: Answer): void {
    const task = child.running.get(answer.id);
    if (!task) return;
    this.ended(child, task);
    child.done++;
    this.failedStarts = 0;
    if (answer.ok) {
      if (task.about !== undefined) this.overruns.done(task.about);
      task.resolve(answer.response);
    } else if (task.isWaiting) {
      if (!task.isRefused) this.refuseWaiting(task, this.overloaded());
    } else {
      // A statement has a part of the task's deadline. It may have waited for a lock.
      if (task.about !== undefined && statementTimeout.test(answer.error))
        this.overruns.suspect(task.about, task.begunAt);
      task.reject(new HostError("failed", answer.error));
    }
    if (this.options.jobsPerChild !== undefined && child.done >= this.options.jobsPerChild)
      child.retiring = true;
    if (child.retiring && child.running.size === 0) child.process.kill("SIGTERM");
    this.dispatch();
  }

  /** Ends the child that runs the task. @returns false when none does */
  private abandon(task: Task): boolean {
    const child = this.child;
    if (!child || !this.ended(child, task)) return false;
    child.killedBy = task;
    // The child was ended on purpose: no restart to count or warn of.
    child.retiring = true;
    child.process.kill("SIGKILL");
    return true;
  }

  private deadlinePassed(child: Child, task: Task): void {
    this.options.log.warn(
      { host: this.options.name, kind: task.kind, ms: task.deadlineMs },
      "a task overran its deadline",
    );
    this.ended(child, task);
    child.killedBy = task;
    // Before those that are refused for it, which look for what its caller does about it.
    task.reject(tooSlow(task.kind));
    this.overran(child, task);
    child.process.kill("SIGKILL");
  }

  /** Remembers what took too long, and refuses what else is to be done about it. */
  private overran(child: Child, { about }: Task): void {
    if (about === undefined) return;
    this.overruns.note(about);
    const others = this.takeWaiting((task) => task.about === about);
    // Those that run go on if their child does.
    if (child.killedBy)
      others.push(...[...child.running.values()].filter((task) => task.about === about && !task.isRefused));
    for (const task of others) {
      this.ended(child, task);
      this.refused++;
      task.reject(tooSlow(task.kind, true));
    }
  }

  private exited(child: Child, code: number | null, signal: NodeJS.Signals | null): void {
    const orphans = [...child.running.values()];
    for (const task of orphans) this.ended(child, task);
    if (this.child !== child || this.stopped) return;
    this.child = undefined;
    if (!child.retiring) {
      this.restarts++;
      this.options.log.warn(
        { host: this.options.name, code, signal, tasks: orphans.length },
        "a host ended; starting another",
      );
    }
    // SIGKILL comes from outside and is no fault of the tasks. After a crash with a single task, that task caused it.
    const crashed = signal !== "SIGKILL" && !child.retiring;
    for (const task of orphans) {
      if (task.isRefused) continue;
      if (!child.killedBy && !child.isRenewed)
        task.reject(this.diedOver(child, { crashed, alone: orphans.length === 1 }));
      else if (task.signal?.aborted) this.refuseWaiting(task, task.signal.reason as Error);
      else {
        task.queuedAt = performance.now();
        this.resumed.push(task);
      }
    }
    this.replace(child.ready);
  }

  private diedOver(child: Child, { crashed, alone }: { crashed: boolean; alone: boolean }): HostError {
    const { name } = this.options;
    const mayBeInnocent = !crashed || !alone;
    return crashed || child.holdsTooMuch
      ? new HostError("died", `The ${name} host died over this task.`, false, mayBeInnocent)
      : new HostError("killed", `The ${name} host was killed during this task.`, false, mayBeInnocent);
  }

  /** Starts another child: at once when the last one had been ready, else after a pause that grows. */
  private replace(wasReady: boolean): void {
    this.unavailableSince ??= performance.now();
    this.failedStarts = wasReady ? 0 : this.failedStarts + 1;
    if (wasReady) this.spawn();
    else this.respawn = setTimeout(() => this.spawn(), Math.min(100 * 2 ** this.failedStarts, 5_000));
  }

  /** Another may be tried in the place of a task that was not begun. */
  private refuseWaiting(task: Task, reason: Error): void {
    if (task.about !== undefined) this.overruns.untried(task.about);
    task.reject(reason);
  }

  private overloaded(): Failure {
    return busy(`Too much work waits for the ${this.options.name} host.`);
  }

  /** Refuses tasks that waited too long, and all of them when no child has become ready for `startupMs`. */
  private refuseOverdue(): void {
    const now = performance.now();
    const unavailable = this.unavailableSince !== undefined && now - this.unavailableSince > startupMs;
    const overdue = this.takeWaiting((task) => unavailable || now - task.queuedAt > this.options.maxWaitMs);
    for (const task of overdue) this.refuseWaiting(task, this.overloaded());
  }

  private checkMemory(): void {
    const child = this.child;
    if (child?.process.pid === undefined) return;
    const resident = residentBytes(child.process.pid);
    if (resident > this.options.memoryBytes) {
      this.options.log.warn(
        { host: this.options.name, resident },
        "a host holds too much memory; replacing it",
      );
      child.holdsTooMuch = true;
      child.process.kill("SIGKILL");
    }
  }
}

function stopTimers({ work, waitTimer }: Task): void {
  work?.stop();
  clearTimeout(waitTimer);
}

function runningOf(child: Child, owner: string): number {
  let count = 0;
  for (const task of child.running.values()) if (task.owners[2] === owner) count++;
  return count;
}

const tooSlow = (kind: string, isRefused = false): HostError =>
  new HostError("deadline", `A ${kind} task took longer than it may.`, isRefused);

/** What PostgreSQL says. */
const statementTimeout = /statement timeout/;
