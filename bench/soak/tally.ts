/** What the well-behaved clients of a run met, by class of request. */

export interface ClassFigures {
  readonly name: string;
  readonly requests: number;
  /** Attempts that were answered 503, got no answer, or needed a new session. */
  readonly retries: number;
  readonly lost: number;
  /** Of requests with all their attempts and waits, in ms. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** So many times are kept of a class: those of hours are thinned to every second, fourth, … one. */
const mostTimes = 100_000;
/** Of more lost requests than this the first tell enough. */
const mostReasons = 20;

interface Class {
  requests: number;
  retries: number;
  lost: number;
  times: number[];
  /** Every so many requests one is kept. */
  step: number;
}

export class Tally {
  private readonly classes = new Map<string, Class>();
  /** Why requests were lost. */
  readonly reasons: string[] = [];

  done(name: string, milliseconds: number, retries: number): void {
    const found = this.of(name);
    if (found.requests++ % found.step === 0) found.times.push(milliseconds);
    found.retries += retries;
    if (found.times.length < mostTimes) return;
    found.times = found.times.filter((_, index) => index % 2 === 0);
    found.step *= 2;
  }

  lost(name: string, reason: string): void {
    const found = this.of(name);
    found.requests++;
    found.lost++;
    if (this.reasons.length < mostReasons) this.reasons.push(`${name}: ${reason}`);
  }

  figures(): ClassFigures[] {
    return [...this.classes]
      .map(([name, { times, requests, retries, lost }]) => {
        const sorted = times.toSorted((one, other) => one - other);
        const [p50, p95, p99] = [at(sorted, 0.5), at(sorted, 0.95), at(sorted, 0.99)];
        return { name, requests, retries, lost, p50, p95, p99 };
      })
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  private of(name: string): Class {
    const found = this.classes.get(name);
    if (found) return found;
    const made: Class = { requests: 0, retries: 0, lost: 0, times: [], step: 1 };
    this.classes.set(name, made);
    return made;
  }
}

/** NaN of none. */
const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
