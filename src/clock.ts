/** Time and timers, as an interface so that a simulation can control them. */
export interface Clock {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Milliseconds of the clock on the wall, which goes on while the machine is suspended, and which may be set. */
  wall(): number;
  /** Calls `work` once after `ms` milliseconds. @returns a function that cancels the timer */
  after(ms: number, work: () => void): () => void;
  /** Resolves in the next turn of the event loop, after all pending I/O callbacks (as `setImmediate`). */
  turn(): Promise<void>;
}

/** The clock of Node. Its timers do not keep a process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
  turn: () => new Promise((resolve) => setImmediate(resolve)),
};

/** Resolves after `ms` milliseconds. */
export const delay = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => {
    clock.after(ms, resolve);
  });
