/** Work in progress, shared by all who wait for the same result. When the last of them leaves, it is aborted. */

interface Flight<Result> {
  readonly result: Promise<Result>;
  readonly versions: readonly number[];
  readonly abort: AbortController;
  waiters: number;
}

export interface Join<Result> {
  /** Of this waiter. When the signals of all waiters have aborted, the work is aborted. */
  readonly signal: AbortSignal;
  /** Versions of the data that work started now would use; absent = it has none. */
  readonly versions?: readonly number[];
  /** Whether work on these earlier versions is still current for this waiter; absent = it always is. */
  readonly usable?: (versions: readonly number[]) => boolean;
  readonly start: (signal: AbortSignal) => Promise<Result>;
}

export class InFlight<Result> {
  private readonly flights = new Map<string, Flight<Result>>();

  get size(): number {
    return this.flights.size;
  }

  has(key: string, usable: (versions: readonly number[]) => boolean): boolean {
    const flight = this.flights.get(key);
    return flight !== undefined && !flight.abort.signal.aborted && usable(flight.versions);
  }

  /** Joins the work under `key` if it is usable, else starts it. */
  join(key: string, options: Join<Result>): Promise<Result> {
    if (options.signal.aborted) return Promise.reject(options.signal.reason as Error);
    let flight = this.flights.get(key);
    if (!flight || flight.abort.signal.aborted || options.usable?.(flight.versions) === false)
      flight = this.begin(key, options);
    return this.wait(flight, options.signal);
  }

  private begin(key: string, options: Join<Result>): Flight<Result> {
    const abort = new AbortController();
    const flight: Flight<Result> = {
      result: options.start(abort.signal),
      versions: options.versions ?? [],
      abort,
      waiters: 0,
    };
    this.flights.set(key, flight);
    const end = () => {
      if (this.flights.get(key) === flight) this.flights.delete(key);
    };
    flight.result.then(end, end);
    return flight;
  }

  private wait(flight: Flight<Result>, signal: AbortSignal): Promise<Result> {
    flight.waiters++;
    return new Promise<Result>((resolve, reject) => {
      const leave = () => {
        reject(signal.reason as Error);
        if (--flight.waiters === 0) flight.abort.abort(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      flight.result.then(
        (result) => {
          signal.removeEventListener("abort", leave);
          resolve(result);
        },
        (error: Error) => {
          signal.removeEventListener("abort", leave);
          reject(error);
        },
      );
    });
  }
}
