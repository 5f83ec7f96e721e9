/** Drafts that the browser keeps: neither a closed tab nor an ended session loses them. Does not depend on the DOM. */

/** What of the browser's storage is used. */
export interface DraftStorage {
  readonly length: number;
  key(at: number): string | null;
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
  removeItem(name: string): void;
}

/** Whether a JSON value is an object with members. */
export const isMembers = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export interface DraftKind<Draft extends object> {
  /** Names of these drafts begin so. */
  readonly prefix: string;
  /** Whether something that is stored is one. */
  isDraft(stored: Partial<Draft>): boolean;
  /** What of a draft is stored; default: all of it. */
  lighter?(draft: Draft): Draft;
}

/** Nobody comes back to older ones, and browsers have little room. */
const longestMs = 90 * 86_400_000;

interface Kept<Draft> {
  readonly draft: Draft;
  /** As it should be stored. */
  readonly text: string;
}

export class KeptDrafts<Draft extends object> {
  /** By name, also what the browser has no room for. */
  private readonly kept = new Map<string, Kept<Draft>>();

  /** Reads what is stored; old drafts go. */
  constructor(
    private readonly kind: DraftKind<Draft>,
    private readonly storage: DraftStorage | undefined,
    /** Milliseconds since 1970. */
    private readonly time: () => number = Date.now,
  ) {
    const names = Array.from({ length: storage?.length ?? 0 }, (_, at) => storage?.key(at));
    for (const name of names) {
      if (!name?.startsWith(kind.prefix)) continue;
      const text = storage?.getItem(name);
      const stored = this.read(text);
      if (stored && stored.at < time() - longestMs) storage?.removeItem(name);
      else if (stored && text) this.kept.set(name, { draft: stored.draft, text });
    }
  }

  /** Whether some of them would be lost with the page: there is no room, or another tab has stored something else. */
  get isUnsafe(): boolean {
    return [...this.kept].some(([name, { text }]) => this.stored(name) !== text);
  }

  /** @param start of their names */
  all(start: string): readonly Draft[] {
    return [...this.kept].flatMap(([name, { draft }]) => (name.startsWith(start) ? [draft] : []));
  }

  of(name: string): Draft | undefined {
    return this.kept.get(name)?.draft;
  }

  /** @returns whether the browser keeps it: there may be no room */
  put(name: string, draft: Draft): boolean {
    const text = JSON.stringify({ at: this.time(), ...(this.kind.lighter?.(draft) ?? draft) });
    this.kept.set(name, { draft, text });
    try {
      this.storage?.setItem(name, text);
    } catch {
      // No room: what was stored before stays.
    }
    return this.stored(name) === text;
  }

  remove(name: string): void {
    this.kept.delete(name);
    this.storage?.removeItem(name);
  }

  /** Another tab has written something. @returns the draft that it was, as it is now; undefined = it was none of these */
  heard(name: string, text: string | null): Draft | undefined {
    const stored = this.read(text);
    const draft = stored?.draft ?? this.of(name);
    if (stored && text) this.kept.set(name, { draft: stored.draft, text });
    else this.kept.delete(name);
    return draft;
  }

  private stored(name: string): string | undefined {
    return this.storage?.getItem(name) ?? undefined;
  }

  private read(text: string | null | undefined): { readonly draft: Draft; readonly at: number } | undefined {
    try {
      const { at = 0, ...draft } = (JSON.parse(text ?? "null") ?? {}) as Partial<Draft> & { at?: number };
      return this.kind.isDraft(draft as Partial<Draft>)
        ? { draft: draft as unknown as Draft, at }
        : undefined;
    } catch {
      return undefined;
    }
  }
}
