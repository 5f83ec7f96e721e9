import { type ChildProcess, fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { busy, type Failure } from "../errors.js";
import type { Log } from "../log.js";

/**
 * A supervised child process that runs native code for us.
 *
 * One that dies or overruns a deadline is replaced at once, one that cannot be started after a pause. Its other tasks
 * are tried once more, one at a time, so that a task which kills its host is told from tasks that only stood beside
 * it; it is not tried again.
 */

/** kind → [request, response], both plain data. */
export type Messages = Record<string, [request: unknown, response: unknown]>;

/** Why a task has no result although it was asked rightly. */
export class HostError extends Error {
  constructor(
    readonly reason: "died" | "deadline" | "failed" | "stopped",
    message: string,
  ) {
    super(message);
    this.name = "HostError";
  }
}

export interface HostOptions {
  readonly name: string;
  /** Which worker the child runs: a folder of workers/. */
  readonly worker: "render" | "transfer" | "image";
  readonly environment: Readonly<Record<string, string>>;
  /** Tasks that the child is given at once. */
  readonly concurrency: number;
  /** Tasks that may wait here; beyond it a call is refused as busy. */
  readonly queueLength: number;
  /** A task that has waited here for longer is refused as busy. */
  readonly patienceMs: number;
  /** A child that holds more resident memory than this is replaced. */
  readonly memoryBytes: number;
  /** The child is replaced after that many tasks; absent = never. */
  readonly jobsPerChild?: number;
  /** Whether a task whose child ended through no fault of its own is tried once more. */
  readonly retry: boolean;
  readonly log: Log;
}

export interface CallOptions {
  /** From the moment the child gets the task, milliseconds. */
  readonly deadlineMs: number;
  /** Takes a task that has not started out of the queue. */
  readonly signal?: AbortSignal;
}

interface Task {
  readonly id: number;
  readonly kind: string;
  readonly request: unknown;
  readonly deadlineMs: number;
  readonly resolve: (response: unknown) => void;
  readonly reject: (error: Error) => void;
  timer: NodeJS.Timeout | undefined;
  tries: number;
  /** Since when it waits for a child, milliseconds of a steady clock. */
  waitsSince: number;
}

type Answer = { id: number; ok: true; response: unknown } | { id: number; ok: false; error: string };

interface Child {
  readonly process: ChildProcess;
  readonly running: Map<number, Task>;
  ready: boolean;
  done: number;
  /** Gets no more tasks and ends when its last one is answered. */
  retiring: boolean;
  /** Tasks that overran here: they are answered already. */
  killedBy: Task | undefined;
}

/** A child that cannot take tasks by then hangs, and is replaced. */
const startupMs = 30_000;
/** How often tasks that waited too long, and a child that grew too large, are looked for. */
const watchMs = 1_000;

export interface HostCounts {
  readonly waiting: number;
  readonly running: number;
  readonly restarts: number;
}

export class WorkerHost<M extends Messages> {
  private child: Child | undefined;
  private readonly queue: Task[] = [];
  /** Tasks whose child died: each runs alone. */
  private readonly suspects: Task[] = [];
  private nextId = 1;
  private restarts = 0;
  private quickDeaths = 0;
  private stopped = false;
  /** Since when no child takes tasks, of a steady clock. */
  private awaySince: number | undefined = performance.now();
  private respawn: NodeJS.Timeout | undefined;
  private readonly watch: NodeJS.Timeout;
  private readonly readyWaiters: (() => void)[] = [];

  constructor(private readonly options: HostOptions) {
    this.watch = setInterval(() => {
      this.checkMemory();
      this.checkPatience();
    }, watchMs);
    this.watch.unref();
    this.spawn();
  }

  /**
   * Runs one task in the host.
   * @throws HostError when the host died over it, it overran its deadline or failed
   * @throws Failure busy when too many tasks wait, or this one waited too long
   */
  call<K extends keyof M & string>(kind: K, request: M[K][0], options: CallOptions): Promise<M[K][1]> {
    if (this.stopped)
      return Promise.reject(new HostError("stopped", `The ${this.options.name} host is stopped.`));
    if (options.signal?.aborted) return Promise.reject(options.signal.reason as Error);
    if (this.queue.length >= this.options.queueLength) return Promise.reject(this.tooMuch());
    return new Promise<M[K][1]>((resolve, reject) => {
      const task: Task = {
        id: this.nextId++,
        kind,
        request,
        deadlineMs: options.deadlineMs,
        resolve: resolve as (response: unknown) => void,
        reject,
        timer: undefined,
        tries: 0,
        waitsSince: performance.now(),
      };
      options.signal?.addEventListener(
        "abort",
        () => {
          const place = this.queue.indexOf(task);
          if (place < 0) return;
          this.queue.splice(place, 1);
          reject(options.signal?.reason as Error);
        },
        { once: true },
      );
      this.queue.push(task);
      this.dispatch();
    });
  }

  counts(): HostCounts {
    return {
      waiting: this.queue.length + this.suspects.length,
      running: this.child?.running.size ?? 0,
      restarts: this.restarts,
    };
  }

  /** Process id of the child that takes tasks now. */
  get pid(): number | undefined {
    return this.child?.process.pid;
  }

  get ready(): boolean {
    return this.child?.ready ?? false;
  }

  /** Resolves when a child can take tasks. */
  whenReady(): Promise<void> {
    if (this.ready) return Promise.resolve();
    return new Promise((resolve) => this.readyWaiters.push(resolve));
  }

  /** Takes another child for the tasks that come from now on; the present one is ended, and its tasks tried again. */
  renew(): void {
    this.child?.process.kill("SIGKILL");
  }

  /** Ends the child; tasks that wait or run are refused. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearInterval(this.watch);
    clearTimeout(this.respawn);
    const child = this.child;
    this.child = undefined;
    const ended = new HostError("stopped", `The ${this.options.name} host is stopped.`);
    for (const task of [
      ...this.queue.splice(0),
      ...this.suspects.splice(0),
      ...(child?.running.values() ?? []),
    ]) {
      clearTimeout(task.timer);
      task.reject(ended);
    }
    child?.running.clear();
    // Of a process that was not made, which has no id, no exit is told.
    const made = child?.process.pid !== undefined;
    if (child && made && child.process.exitCode === null && child.process.signalCode === null) {
      const gone = new Promise((resolve) => child.process.once("exit", resolve));
      child.process.kill("SIGKILL");
      await gone;
    }
  }

  private spawn(): void {
    if (this.stopped) return;
    const started = performance.now();
    let process_: ChildProcess;
    try {
      process_ = this.fork();
    } catch (error) {
      // Most reasons why no process can be made are told by an event; some, such as a lack of memory, are thrown.
      this.options.log.error({ err: error, host: this.options.name }, "a host could not be started");
      this.restarts++;
      this.replace(false);
      return;
    }
    const child: Child = {
      process: process_,
      running: new Map(),
      ready: false,
      done: 0,
      retiring: false,
      killedBy: undefined,
    };
    this.child = child;
    const startup = setTimeout(() => process_.kill("SIGKILL"), startupMs);
    startup.unref();
    const ended = (code: number | null, signal: NodeJS.Signals | null) => {
      clearTimeout(startup);
      this.exited(child, code, signal);
    };
    process_.on("message", (message: Answer | "ready") => {
      if (message === "ready") {
        clearTimeout(startup);
        child.ready = true;
        this.awaySince = undefined;
        this.options.log.debug(
          { host: this.options.name, pid: process_.pid, ms: Math.round(performance.now() - started) },
          "host ready",
        );
        for (const waiter of this.readyWaiters.splice(0)) waiter();
        this.dispatch();
      } else this.answered(child, message);
    });
    process_.on("error", (error) => {
      this.options.log.error({ err: error, host: this.options.name }, "host process");
      if (process_.pid === undefined) ended(null, null);
    });
    process_.on("exit", ended);
  }

  private fork(): ChildProcess {
    const entry = fileURLToPath(new URL("../../workers/host.js", import.meta.url));
    return fork(entry, [this.options.worker, String(this.options.concurrency)], {
      serialization: "advanced",
      env: { ...this.options.environment },
      // Not the front's standard output: that belongs to commands.
      stdio: ["ignore", 2, 2, "ipc"],
      execArgv: [],
    });
  }

  private dispatch(): void {
    const child = this.child;
    if (!child?.ready || child.retiring) return;
    if (this.suspects.length > 0) {
      // A suspect runs alone; the others wait for that moment.
      if (child.running.size === 0) this.give(child, this.suspects.shift()!);
      return;
    }
    if (child.running.size === 1 && [...child.running.values()][0]!.tries > 1) return;
    while (child.running.size < this.options.concurrency && this.queue.length > 0) {
      this.give(child, this.queue.shift()!);
    }
  }

  private give(child: Child, task: Task): void {
    task.tries++;
    child.running.set(task.id, task);
    task.timer = setTimeout(() => this.overran(child, task), task.deadlineMs);
    child.process.send({ id: task.id, kind: task.kind, request: task.request }, (error) => {
      // The channel closes when the child dies; its exit event does the rest.
      if (error) child.process.kill("SIGKILL");
    });
  }

  private answered(child: Child, answer: Answer): void {
    const task = child.running.get(answer.id);
    if (!task) return;
    child.running.delete(answer.id);
    clearTimeout(task.timer);
    child.done++;
    this.quickDeaths = 0;
    if (answer.ok) task.resolve(answer.response);
    else task.reject(new HostError("failed", answer.error));
    if (this.options.jobsPerChild !== undefined && child.done >= this.options.jobsPerChild)
      child.retiring = true;
    if (child.retiring && child.running.size === 0) child.process.kill("SIGTERM");
    this.dispatch();
  }

  private overran(child: Child, task: Task): void {
    this.options.log.warn(
      { host: this.options.name, kind: task.kind, ms: task.deadlineMs },
      "a task overran its deadline",
    );
    child.running.delete(task.id);
    child.killedBy = task;
    task.reject(new HostError("deadline", `The ${task.kind} task took longer than ${task.deadlineMs} ms.`));
    child.process.kill("SIGKILL");
  }

  private exited(child: Child, code: number | null, signal: NodeJS.Signals | null): void {
    const orphans = [...child.running.values()];
    child.running.clear();
    for (const task of orphans) clearTimeout(task.timer);
    if (this.child !== child || this.stopped) return;
    this.child = undefined;
    if (!child.retiring) {
      this.restarts++;
      this.options.log.warn(
        { host: this.options.name, code, signal, tasks: orphans.length },
        "a host ended; starting another",
      );
    }
    // Killed from outside (SIGKILL) says nothing about its tasks; a crash with one task running says it all.
    const crashed = signal !== "SIGKILL" && !child.retiring;
    for (const task of orphans) {
      const culprit = child.killedBy === undefined && (task.tries > 1 || (crashed && orphans.length === 1));
      if (culprit || !this.options.retry)
        task.reject(new HostError("died", `The ${this.options.name} host died over this task.`));
      else {
        task.waitsSince = performance.now();
        this.suspects.push(task);
      }
    }
    this.replace(child.ready);
  }

  /** Starts another child: at once when the last one was ready, else after a pause, so as not to try in a tight loop. */
  private replace(wasReady: boolean): void {
    this.awaySince ??= performance.now();
    this.quickDeaths = wasReady ? 0 : this.quickDeaths + 1;
    if (wasReady) this.spawn();
    else this.respawn = setTimeout(() => this.spawn(), Math.min(100 * 2 ** this.quickDeaths, 5_000));
  }

  private tooMuch(): Failure {
    return busy(`Too much work waits for the ${this.options.name} host.`);
  }

  /** Refuses tasks that waited too long, and all while no child came for as long as one may take to start. */
  private checkPatience(): void {
    const now = performance.now();
    const away = this.awaySince !== undefined && now - this.awaySince > startupMs;
    for (const line of [this.queue, this.suspects]) {
      const tired = line.filter((task) => away || now - task.waitsSince > this.options.patienceMs);
      for (const task of tired) {
        line.splice(line.indexOf(task), 1);
        task.reject(this.tooMuch());
      }
    }
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
      child.process.kill("SIGKILL");
    }
  }
}

/** Resident memory of a process in bytes; 0 where the system does not tell. */
export function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * 4096;
  } catch {
    return 0;
  }
}
