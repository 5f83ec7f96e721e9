/** What an editor meant with an object, and has seen of it. */

/** A value as a text: the same for the same, in whatever order members are. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return "null";
  if (Array.isArray(value)) return `[${value.map(textOf)}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, one]) => one !== null && one !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, one]) => `${JSON.stringify(name)}:${textOf(one)}`);
  return members.length === 0 ? "null" : `{${members}}`;
}

/** What is written and not saved. All values as texts. */
interface Pending {
  value: string;
  /** What was shown when it was written, or what was decided against. */
  of: string;
}
export interface Asked {
  readonly field: string;
  readonly mine: string;
  readonly theirs: string;
  readonly decision: "mine" | "theirs" | undefined;
}

/** Fields are column codes, and `geom`. */
export class Memory {
  readonly pending = new Map<string, Pending>();
  /** All that was shown. */
  readonly seen = new Map<string, Set<string>>();
  /** All that was written, in its order. */
  readonly written = new Map<string, string[]>();
  /** What the server is said to have. */
  readonly acknowledged: { readonly field: string; readonly value: string }[] = [];
  readonly asked: Asked[] = [];

  constructor(
    public id: number | undefined,
    /** The value by which a new one is known. */
    public mark: string | undefined,
  ) {}

  /** @param shown what the form has in place of it */
  write(field: string, value: string, shown: string): void {
    const of = this.pending.get(field)?.of ?? shown;
    this.pending.set(field, { value, of });
    this.written.set(field, [...(this.written.get(field) ?? []), value]);
  }

  hasWritten(field: string, value: string): boolean {
    return this.written.get(field)?.includes(value) ?? false;
  }

  show(field: string, value: string): void {
    const seen = this.seen.get(field) ?? new Set();
    this.seen.set(field, seen.add(value));
  }

  hasSeen(field: string, value: string): boolean {
    return this.seen.get(field)?.has(value) ?? false;
  }

  /**
   * What is not a change any more the server has; of what is not made yet, it was nothing that it could have.
   * @param isChange whether it is one
   */
  settle(isChange: (field: string) => boolean): void {
    for (const [field, { value }] of [...this.pending])
      if (!isChange(field)) {
        if (this.id !== undefined) this.acknowledged.push({ field, value });
        this.pending.delete(field);
      }
  }
}
