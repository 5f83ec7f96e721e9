/** A statement that finds rows by their keys: `$1` is an array of them, and each row has its key as `k`. */
export interface Lookup {
  readonly text: string;
  /** Values for `$2` and on. */
  readonly values: readonly unknown[];
}

/** Keys of one statement: a long one would keep those waiting who asked first. */
const keysAtOnce = 32;

interface PendingLookup {
  readonly key: number;
  readonly resolve: (row: object | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Rows by their keys: all those of one lookup and one turn of the event loop are read by one statement. A statement of
 * its own for each costs two system calls and the server's way to and from it, more than the rest of its request.
 */
export class Lookups {
  private readonly waiting = new Map<Lookup, PendingLookup[]>();

  constructor(private readonly query: (text: string, values: readonly unknown[]) => Promise<object[]>) {}

  /** The row with that key, as it is after this call; the same object as `lookup` makes the same statement. */
  find(lookup: Lookup, key: number): Promise<object | undefined> {
    return new Promise((resolve, reject) => {
      // Runs when the sockets that had something to read have been served.
      if (this.waiting.size === 0) setImmediate(() => this.sendAll());
      const wish: PendingLookup = { key, resolve, reject };
      const wishes = this.waiting.get(lookup);
      if (!wishes) this.waiting.set(lookup, [wish]);
      else if (wishes.push(wish) >= keysAtOnce) {
        this.waiting.set(lookup, []);
        void this.send(lookup, wishes);
      }
    });
  }

  private sendAll(): void {
    const all = [...this.waiting];
    this.waiting.clear();
    for (const [lookup, wishes] of all) if (wishes.length > 0) void this.send(lookup, wishes);
  }

  private async send(lookup: Lookup, wishes: readonly PendingLookup[]): Promise<void> {
    try {
      const found = await this.query(lookup.text, [wishes.map(({ key }) => key), ...lookup.values]);
      const rows = new Map((found as { k: number }[]).map((row) => [row.k, row]));
      for (const { key, resolve } of wishes) resolve(rows.get(key));
    } catch (error) {
      // One row that cannot be read is nobody else's matter. But what takes too long would take a connection for each.
      const { code } = error as { code?: unknown };
      if (wishes.length === 1 || code === "57014" || code === "busy")
        for (const { reject } of wishes) reject(error);
      else for (const wish of wishes) void this.send(lookup, [wish]);
    }
  }
}
