/** Time as the program meets it. One interface, so that a simulation can decide when things happen. */
export interface Clock {
  /** Milliseconds of a steady clock. */
  now(): number;
  /** Calls back once after so many milliseconds, unless what it returns is called before. */
  after(ms: number, work: () => void): () => void;
  /** Ends when the sockets that had something to read have been served. */
  turn(): Promise<void>;
}

/** The machine's own time. Its timers do not keep a process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
  turn: () => new Promise((resolve) => setImmediate(resolve)),
};

/** Waits so long. */
export const delay = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => {
    clock.after(ms, resolve);
  });
