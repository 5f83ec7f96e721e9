import type { Change, Values } from "./merge.js";

/** Changes that the server does not have yet, kept in the browser: neither a closed tab nor an ended session loses them. */

export interface Draft {
  /** Undefined = a new object. */
  readonly id: number | undefined;
  /** Names a new object, and makes sure that it is made once. */
  readonly key: string;
  /** What the change was made of; undefined for a new object. */
  readonly base: (Values & { readonly etag: string | undefined }) | undefined;
  readonly change: Change;
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

export class Drafts {
  /** Also what the browser does not keep. */
  private readonly kept = new Map<string, Draft>();
  private readonly start: string;

  constructor(
    { login, project, layerId }: DraftPlace,
    private readonly storage: DraftStorage | undefined,
  ) {
    this.start = `${prefix}${JSON.stringify([login, project, layerId]).slice(0, -1)},`;
    for (let at = 0; at < (storage?.length ?? 0); at++) {
      const name = storage?.key(at);
      if (!name?.startsWith(this.start)) continue;
      const draft = readDraft(storage?.getItem(name));
      if (draft) this.kept.set(name, draft);
    }
  }

  all(): readonly Draft[] {
    return [...this.kept.values()];
  }

  of(id: number): Draft | undefined {
    return this.kept.get(this.nameOf({ id, key: "" }));
  }

  put(draft: Draft): void {
    const name = this.nameOf(draft);
    this.kept.set(name, draft);
    try {
      this.storage?.setItem(name, JSON.stringify(draft));
    } catch {
      // There is no room: it is kept with the page.
      this.storage?.removeItem(name);
    }
  }

  remove(draft: Pick<Draft, "id" | "key">): void {
    const name = this.nameOf(draft);
    this.kept.delete(name);
    this.storage?.removeItem(name);
  }

  private nameOf({ id, key }: Pick<Draft, "id" | "key">): string {
    return `${this.start}${JSON.stringify(id ?? key)}]`;
  }
}

function readDraft(text: string | null | undefined): Draft | undefined {
  try {
    const draft = JSON.parse(text ?? "null") as Partial<Draft> | null;
    return draft?.change?.fields && typeof draft.key === "string" ? (draft as Draft) : undefined;
  } catch {
    return undefined;
  }
}
