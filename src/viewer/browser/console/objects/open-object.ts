import { isServerError } from "../../map-server.js";
import type { Decision } from "./conflict-dialog.js";
import type { Draft, Drafts } from "./drafts.js";
import {
  type Change,
  type Conflict,
  isEmpty,
  merged,
  type Values,
  withField,
  withGeometry,
  yielding,
} from "./merge.js";
import type { Loaded, ObjectStore } from "./object-store.js";

/** The object that is edited: what the server has of it, and what is changed of that. Does not depend on the DOM. */

/** How a save ended. */
export type SaveEnd =
  /** The server has it. */
  | { readonly kind: "saved"; readonly id: number }
  /** Nothing was left to be changed. */
  | { readonly kind: "same" }
  /** It shall not be decided now. */
  | { readonly kind: "open" }
  /** Somebody has deleted the object. */
  | { readonly kind: "gone" };

export class OpenObject {
  /** Columns in which something is written that is no value. */
  private readonly wrong = new Set<string>();

  constructor(
    private draft: Draft,
    private readonly store: Pick<ObjectStore, "read" | "save">,
    private readonly drafts: Pick<Drafts, "put" | "remove">,
  ) {}

  get id(): number | undefined {
    return this.draft.id;
  }

  get key(): string {
    return this.draft.key;
  }

  /** Whether there is something that the server does not have. */
  get isDraft(): boolean {
    return !isEmpty(this.draft.change) || this.wrong.size > 0;
  }

  get hasWrong(): boolean {
    return this.wrong.size > 0;
  }

  /** As it would be saved. */
  get values(): Values {
    const { base, change } = this.draft;
    const geom = change.geom !== undefined ? change.geom : (base?.geom ?? null);
    return { fields: { ...base?.fields, ...change.fields }, geom };
  }

  /** @param value undefined = what is written is none */
  set(code: string, value: unknown): void {
    if (value === undefined) this.wrong.add(code);
    else {
      this.wrong.delete(code);
      this.change(withField(this.draft.change, this.draft.base?.fields ?? {}, code, value));
    }
  }

  setGeometry(geom: GeoJSON.Geometry | null): void {
    this.change(withGeometry(this.draft.change, this.draft.base?.geom, geom));
  }

  discard(): void {
    this.wrong.clear();
    this.change({ fields: {} });
  }

  /** The server has another state of it, such as after a file was attached. */
  rebase(loaded: Loaded): void {
    const { change } = merged(this.draft.base ?? loaded, this.draft.change, loaded);
    this.keep({ ...this.draft, id: loaded.id, base: loaded, change });
  }

  /** Makes it a new object, for the one that it was of is gone. */
  detach(): void {
    const { fields, geom } = this.values;
    this.drafts.remove(this.draft);
    const { svc_id: _, ...own } = fields;
    this.keep({ ...this.draft, id: undefined, base: undefined, change: { fields: own, geom } });
  }

  /** @throws ServerError */
  async save(ask: (conflicts: readonly Conflict[]) => Promise<Decision | undefined>): Promise<SaveEnd> {
    for (;;) {
      const { id } = this.draft;
      try {
        const saved = await this.store.save(this.draft);
        this.drafts.remove(this.draft);
        this.keep({ ...this.draft, id: saved.id, base: saved, change: { fields: {} } });
        return { kind: "saved", id: saved.id };
      } catch (error) {
        const status = isServerError(error) ? error.status : undefined;
        if (id === undefined || (status !== 412 && status !== 404)) throw error;
        const theirs = await this.store.read(id);
        if (!theirs) return { kind: "gone" };
        if (status === 404) throw error;
        const end = await this.meet(theirs, ask);
        if (end) return end;
      }
    }
  }

  /** Puts the change on what others have made; undefined = it can be saved then. */
  private async meet(
    theirs: Loaded,
    ask: (conflicts: readonly Conflict[]) => Promise<Decision | undefined>,
  ): Promise<SaveEnd | undefined> {
    const result = merged(this.draft.base ?? theirs, this.draft.change, theirs);
    const decision = result.conflicts.length > 0 ? await ask(result.conflicts) : "mine";
    if (!decision) return { kind: "open" };
    const change = decision === "mine" ? result.change : yielding(result);
    this.keep({ ...this.draft, base: theirs, change });
    return isEmpty(change) ? { kind: "same" } : undefined;
  }

  private change(change: Change): void {
    this.keep({ ...this.draft, change });
  }

  private keep(draft: Draft): void {
    this.draft = draft;
    if (isEmpty(draft.change)) this.drafts.remove(draft);
    else this.drafts.put(draft);
  }
}
