/**
 * What the oracle knows: for each thing that can be changed, the values that it had in their order, and which of them
 * whoever asks now must at least see.
 */

/** One value that a thing had. */
export interface Entry<T> {
  readonly value: T;
}

/** A value that the database does not know any more. */
interface Lost<T> {
  readonly value: T;
  /** When it was lost; whoever asked before may be answered with it. */
  readonly at: number;
  /** Whoever asked before may be, too, as long as nobody was told of anything newer. */
  readonly until: number;
  /** Number of values that were left. */
  readonly left: number;
}

export class Fact<T> {
  private readonly entries: Entry<T>[];
  private readonly lost: Lost<T>[] = [];
  /** When values were lost, and how many were left. */
  private readonly rewinds: { readonly at: number; readonly left: number }[] = [];
  /** Index of the last value whose change was answered. */
  private answered = 0;

  constructor(first: T) {
    this.entries = [{ value: first }];
  }

  get last(): T {
    return this.entries[this.entries.length - 1]!.value;
  }

  /** Whether it is or was that. */
  everHad(value: unknown): boolean {
    return [...this.entries, ...this.lost].some((known) => known.value === value);
  }

  /** How many values there are: what a copy of the database that is made now knows of. */
  get length(): number {
    return this.entries.length;
  }

  /** The value is in the database from now on. */
  committed(value: T): Entry<T> {
    const entry = { value };
    this.entries.push(entry);
    return entry;
  }

  /** Whoever asks from now on sees that value, or a later one. */
  wasAnswered(entry: Entry<T>): void {
    this.answered = Math.max(this.answered, this.entries.indexOf(entry));
  }

  /** Whoever asks from now on sees the last value. */
  lastWasAnswered(): void {
    this.answered = this.entries.length - 1;
  }

  /** The least that an answer to a question of this moment may show. */
  mark(): number {
    return this.answered;
  }

  /** The database is one that knows only the first values. */
  rewind(length: number, at: number, until: number): void {
    for (const { value } of this.entries.splice(length)) this.lost.push({ value, at, until, left: length });
    this.rewinds.push({ at, left: length });
    this.answered = Math.min(this.answered, this.entries.length - 1);
  }

  /** Whether a value may be seen now by who asked at that moment, when `mark` was made. */
  allows(value: T, mark: number, askedAt: number): boolean {
    let first = mark;
    // What was asked before values were lost may have been promised one of those.
    for (const { at, left } of this.rewinds) if (askedAt <= at) first = Math.min(first, left - 1);
    for (let index = first; index < this.entries.length; index++)
      if (this.entries[index]!.value === value) return true;
    return this.lost.some(
      (lost) => lost.value === value && (askedAt <= lost.at || (askedAt < lost.until && mark < lost.left)),
    );
  }
}
