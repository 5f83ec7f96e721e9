import type { Change, Values } from "./merge.js";
import type { Position, ShapeKind } from "./shape.js";

/** Changes that the server does not have yet, kept in the browser: neither a closed tab nor an ended session loses them. */

export interface Draft {
  /** Undefined = a new object. */
  readonly id: number | undefined;
  /** Names the draft of a new object. */
  readonly key: string;
  /** What the change was made of; undefined for a new object. */
  readonly base: (Values & { readonly etag: string | undefined }) | undefined;
  readonly change: Change;
  /** What is written and is no value, by column, as its control has it. */
  readonly wrong?: Readonly<Record<string, unknown>>;
  /** What was sent without an answer: whether it was done is known when it is sent once more. */
  readonly sent?: Sent;
  /** What is drawn, and not ended. */
  readonly drawn?: { readonly kind: ShapeKind; readonly positions: readonly Position[] };
}
export interface Sent {
  /** Makes sure that it is done once. */
  readonly key: string;
  readonly change: Change;
  /** The ETag of what it was meant for. */
  readonly match: string | undefined;
}

export interface DraftPlace {
  readonly login: string;
  readonly project: string;
  readonly layerId: number;
}

/** What of the browser's storage is used. */
export interface DraftStorage {
  readonly length: number;
  key(at: number): string | null;
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
  removeItem(name: string): void;
}

const prefix = "mapwright.draft:";
/** Nobody comes back to older ones, and browsers have little room. */
const longestMs = 90 * 86_400_000;
/** The geometry of an object is kept with a change of something else, if it is no longer. */
const mostLetters = 20_000;

export class Drafts {
  /** Also what the browser does not keep. */
  private readonly kept = new Map<string, Draft>();
  private readonly unstored = new Set<string>();
  private readonly start: string;

  constructor(
    { login, project, layerId }: DraftPlace,
    private readonly storage: DraftStorage | undefined,
    /** Milliseconds since 1970. */
    private readonly time: () => number = Date.now,
  ) {
    this.start = `${prefix}${JSON.stringify([login, project, layerId]).slice(0, -1)},`;
    for (const name of this.names()) {
      const stored = read(storage?.getItem(name));
      if (stored && stored.at < time() - longestMs) storage?.removeItem(name);
      else if (stored && name.startsWith(this.start)) this.kept.set(name, stored.draft);
    }
  }

  /** Whether some of them would be lost with the page. */
  get isUnsafe(): boolean {
    return this.unstored.size > 0;
  }

  all(): readonly Draft[] {
    return [...this.kept.values()];
  }

  of(id: number): Draft | undefined {
    return this.kept.get(this.nameOf({ id, key: "" }));
  }

  /** @returns whether the browser keeps it: there may be no room */
  put(draft: Draft): boolean {
    const name = this.nameOf(draft);
    this.kept.set(name, draft);
    try {
      if (!this.storage) throw new Error("there is no storage");
      this.storage.setItem(name, JSON.stringify({ at: this.time(), ...lighter(draft) }));
      this.unstored.delete(name);
    } catch {
      this.unstored.add(name);
    }
    return !this.unstored.has(name);
  }

  remove(draft: Pick<Draft, "id" | "key">): void {
    const name = this.nameOf(draft);
    this.kept.delete(name);
    this.unstored.delete(name);
    this.storage?.removeItem(name);
  }

  /** Another tab has written something. @returns the draft that it was, as it is now; undefined = it was none of these */
  heard(name: string | null, text: string | null): Pick<Draft, "id" | "key"> | Draft | undefined {
    if (!name?.startsWith(this.start)) return undefined;
    const stored = read(text);
    const draft = stored?.draft ?? this.kept.get(name);
    if (stored) this.kept.set(name, stored.draft);
    else this.kept.delete(name);
    return draft;
  }

  private names(): readonly string[] {
    const { storage } = this;
    const all = Array.from({ length: storage?.length ?? 0 }, (_, at) => storage?.key(at));
    return all.filter((name): name is string => name?.startsWith(prefix) === true);
  }

  private nameOf({ id, key }: Pick<Draft, "id" | "key">): string {
    return `${this.start}${JSON.stringify(id ?? key)}]`;
  }
}

/** Letters of geometries, which are counted once. */
const lengths = new WeakMap<object, number>();

/** Without a long geometry that was not changed: it is read again with its object. */
function lighter(draft: Draft): Draft {
  const { base, change } = draft;
  if (!base?.geom || change.geom !== undefined) return draft;
  const letters = lengths.get(base.geom) ?? JSON.stringify(base.geom).length;
  lengths.set(base.geom, letters);
  return letters > mostLetters ? { ...draft, base: { ...base, geom: null } } : draft;
}

function read(text: string | null | undefined): { readonly draft: Draft; readonly at: number } | undefined {
  try {
    const { at = 0, ...draft } = (JSON.parse(text ?? "null") ?? {}) as Partial<Draft> & { at?: number };
    return draft.change?.fields && typeof draft.key === "string" ? { draft: draft as Draft, at } : undefined;
  } catch {
    return undefined;
  }
}
