/**
 * The oracle's model: for everything that can be changed, its values in commit order, and the oldest value that a request
 * may still return.
 */

/** A committed value. */
export interface Entry<T> {
  readonly value: T;
}

/** A value that was lost when the database was replaced. */
interface Lost<T> {
  readonly value: T;
  /** Time of the loss; requests sent before may return the value. */
  readonly at: number;
  /** Requests sent before this time may return it too, if no newer value was acknowledged to an editor. */
  readonly until: number;
  /** Number of values that were not lost. */
  readonly left: number;
}

export class Fact<T> {
  private readonly entries: Entry<T>[];
  private readonly lost: Lost<T>[] = [];
  /** Times of losses, with the number of values that were not lost. */
  private readonly rewinds: { readonly at: number; readonly left: number }[] = [];
  /** Index of the last value whose write was answered. */
  private answered = 0;
  /** The same, at the times when it became greater. */
  private readonly answers: { readonly at: number; readonly index: number }[] = [];

  constructor(first: T) {
    this.entries = [{ value: first }];
  }

  get last(): T {
    return this.entries[this.entries.length - 1]!.value;
  }

  /** Whether it has or had the value. */
  everHad(value: unknown): boolean {
    return [...this.entries, ...this.lost].some((known) => known.value === value);
  }

  /** Number of values, to be restored by `rewind` if the database is replaced by a copy of now. */
  get length(): number {
    return this.entries.length;
  }

  /** The value was committed. */
  committed(value: T): Entry<T> {
    const entry = { value };
    this.entries.push(entry);
    return entry;
  }

  /** The write was answered: later requests must return its value, or a newer one. */
  wasAnswered(entry: Entry<T>, at: number): void {
    this.answered = Math.max(this.answered, this.entries.indexOf(entry));
    this.answers.push({ at, index: this.answered });
  }

  /** Later requests must return the last value. */
  lastWasAnswered(): void {
    this.answered = this.entries.length - 1;
  }

  /** The oldest value that a request sent now may return, for `allows`. */
  mark(): number {
    return this.answered;
  }

  /** As `mark`, at a time that is gone. */
  markAt(at: number): number {
    return this.answers.filter((answer) => answer.at <= at).at(-1)?.index ?? 0;
  }

  /** The database was replaced by one that has only the first `length` values. */
  rewind(length: number, at: number, until: number): void {
    for (const { value } of this.entries.splice(length)) this.lost.push({ value, at, until, left: length });
    this.rewinds.push({ at, left: length });
    this.answered = Math.min(this.answered, this.entries.length - 1);
  }

  /** Whether a request may return the value now. @param mark of the time `askedAt` when it was sent */
  allows(value: T, mark: number, askedAt: number): boolean {
    let first = mark;
    // A request from before the loss may have a mark at a lost value.
    for (const { at, left } of this.rewinds) if (askedAt <= at) first = Math.min(first, left - 1);
    for (let index = first; index < this.entries.length; index++)
      if (this.entries[index]!.value === value) return true;
    return this.lost.some(
      (lost) => lost.value === value && (askedAt <= lost.at || (askedAt < lost.until && mark < lost.left)),
    );
  }
}
