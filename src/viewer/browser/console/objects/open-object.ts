import { isServerError } from "../../server-error.js";
import { newKey } from "../new-key.js";
import type { Draft, Drafts, Sent } from "./drafts.js";
import {
  type Conflict,
  changedSince,
  type Decision,
  isEmpty,
  isSame,
  type Loaded,
  merged,
  rebased,
  type Values,
  withField,
  withGeometry,
  yielding,
} from "./merge.js";

/** The object that is edited: what the server has of it, and what is changed of that. Does not depend on the DOM. */

/** How a save ended. */
export type SaveEnd =
  /** The server has it. @param isPart it was what was sent before, and there is more to be saved */
  | { readonly kind: "saved"; readonly id: number; readonly isPart: boolean }
  /** Nothing was left to be changed. */
  | { readonly kind: "same" }
  /** It shall not be decided now. */
  | { readonly kind: "open" }
  /** Somebody has deleted the object. */
  | { readonly kind: "gone" };

/** Objects at the server. @throws ServerError */
export interface ObjectAccess {
  /** Undefined when there is none any more. */
  read(id: number): Promise<Loaded | undefined>;
  save(id: number | undefined, sent: Sent): Promise<Loaded>;
}

/** Whether nobody knows what the server has done. */
const isUncertain = (error: unknown): boolean =>
  !isServerError(error) || error.status === 0 || error.status >= 502;

/** Whether a refusal comes before the server looks whether it has done it already, and so says nothing about an earlier try. */
const isBeforehand = (error: unknown, id: number | undefined): boolean =>
  isServerError(error) &&
  ([401, 403, 429].includes(error.status) || (error.status === 404 && id === undefined));

/**
 * What the user has seen of an object that was saved. What the server has answered may be older than that, when it was asked for once
 * more.
 */
function seenOf(base: Draft["base"], saved: Loaded, { change, match }: Sent): NonNullable<Draft["base"]> {
  if (!base) return saved;
  // Of another version than it was meant for: it was read after the server had done it.
  if (base.etag !== match) return base;
  const own = Object.entries(saved.fields).filter(([code]) => Object.hasOwn(change.fields, code));
  return {
    fields: { ...saved.fields, ...base.fields, ...Object.fromEntries(own) },
    geom: change.geom === undefined ? (base.geom ?? saved.geom) : saved.geom,
    etag: saved.etag,
  };
}

export class OpenObject {
  constructor(
    private draft: Draft,
    private readonly store: ObjectAccess,
    private readonly drafts: Pick<Drafts, "put" | "remove">,
    /** There is no room for it in the browser. */
    private readonly unkept: () => void = () => undefined,
  ) {}

  get id(): number | undefined {
    return this.draft.id;
  }

  get key(): string {
    return this.draft.key;
  }

  /** The ETag of what the server had. */
  get version(): string | undefined {
    return this.draft.base?.etag;
  }

  /** Whether there is something that the server does not have. */
  get isDraft(): boolean {
    const { change, drawn, sent } = this.draft;
    return !isEmpty(change) || this.hasWrong || drawn !== undefined || sent !== undefined;
  }

  /** What is written and is no value, by column. */
  get wrong(): Readonly<Record<string, unknown>> {
    return this.draft.wrong ?? {};
  }

  get hasWrong(): boolean {
    return Object.keys(this.wrong).length > 0;
  }

  /** What is drawn, and not ended. */
  get drawn(): Draft["drawn"] {
    return this.draft.drawn;
  }

  /** As it would be saved. */
  get values(): Values {
    const { base, change } = this.draft;
    const geom = change.geom !== undefined ? change.geom : (base?.geom ?? null);
    return { fields: { ...base?.fields, ...change.fields }, geom };
  }

  /** @param value undefined = what is written is none @param written what it is then, as the control has it */
  set(code: string, value: unknown, written?: unknown): void {
    const { [code]: _, ...others } = this.wrong;
    const { draft } = this;
    if (value === undefined) this.keep({ ...draft, wrong: { ...others, [code]: written ?? null } });
    else {
      const { change, sent } = draft;
      // What was sent may be there by now: then it is a change to set back what was there before.
      const isSent = sent !== undefined && Object.hasOwn(sent.change.fields, code);
      const changed = isSent
        ? { ...change, fields: { ...change.fields, [code]: value } }
        : withField(change, draft.base?.fields ?? {}, code, value);
      this.keep({ ...draft, wrong: others, change: changed });
    }
  }

  setGeometry(geom: GeoJSON.Geometry | null): void {
    const { drawn: _, ...draft } = this.draft;
    const { change, sent } = draft;
    const isSent = sent?.change.geom !== undefined;
    const changed = isSent ? { ...change, geom } : withGeometry(change, draft.base?.geom, geom);
    this.keep({ ...draft, change: changed });
  }

  setDrawn(drawn: Draft["drawn"]): void {
    const { drawn: _, ...draft } = this.draft;
    this.keep({ ...draft, ...(drawn && { drawn }) });
  }

  /** @returns what was discarded, to be brought back */
  discard(): Draft {
    const { draft } = this;
    const { wrong: _wrong, drawn: _drawn, sent: _sent, ...rest } = draft;
    this.keep({ ...rest, change: { fields: {} } });
    return draft;
  }

  /** The server has another state of it. @returns whether both have changed the same, which is decided at the next save */
  rebase(loaded: Loaded): boolean {
    const { draft, conflicts } = rebased(this.draft, loaded);
    this.keep(draft);
    const { fields = {}, geom } = draft.sent?.change ?? {};
    const isOwn = ({ code, theirs }: Conflict) =>
      code === undefined
        ? geom !== undefined && isSame(geom, theirs)
        : Object.hasOwn(fields, code) && isSame(fields[code], theirs);
    return conflicts.some((one) => !isOwn(one));
  }

  /** Takes what was written in another tab, but for what was written here. @returns whether there was something */
  adopt({ change: theirs, base }: Draft): boolean {
    const { change, base: own } = this.draft;
    if (base?.etag !== own?.etag) return false;
    const fields = { ...theirs.fields, ...change.fields };
    const geom = change.geom === undefined ? theirs.geom : change.geom;
    const isNews = Object.keys(fields).length > Object.keys(change.fields).length || geom !== change.geom;
    if (isNews) this.keep({ ...this.draft, change: geom === undefined ? { fields } : { fields, geom } });
    return isNews;
  }

  /** Makes it a new object, for the one that it was of is gone. */
  detach(): void {
    const { fields, geom } = this.values;
    this.drafts.remove(this.draft);
    const { svc_id: _, ...own } = fields;
    const { sent: _sent, ...draft } = this.draft;
    this.keep({ ...draft, key: newKey(), id: undefined, base: undefined, change: { fields: own, geom } });
  }

  /** @throws ServerError */
  async save(ask: (conflicts: readonly Conflict[]) => Promise<Decision | undefined>): Promise<SaveEnd> {
    for (;;) {
      const { id, sent: before, base, change } = this.draft;
      if (!before && isEmpty(change)) return { kind: "same" };
      // Before it is sent: the page may be closed before there is an answer.
      const sent = before ?? { key: newKey(), change, match: base?.etag };
      this.keep({ ...this.draft, sent });
      try {
        const saved = await this.store.save(id, sent);
        this.saved(saved, sent);
        const isPart = before !== undefined && !isEmpty(this.draft.change);
        return { kind: "saved", id: saved.id, isPart };
      } catch (error) {
        if (isUncertain(error) || (before && isBeforehand(error, id))) throw error;
        const status = isServerError(error) ? error.status : undefined;
        const isOvertaken = id !== undefined && (status === 412 || status === 404);
        const theirs = isOvertaken ? await this.store.read(id) : undefined;
        this.unsent();
        // What was sent before may have been mended since.
        if (before && !isOvertaken) continue;
        if (!isOvertaken) throw error;
        if (!theirs) return { kind: "gone" };
        if (status === 404) throw error;
        const end = await this.meet(theirs, ask);
        if (end) return end;
      }
    }
  }

  /** The server has not done what was sent. */
  private unsent(): void {
    const { sent: _, ...draft } = this.draft;
    this.keep({ ...draft, change: changedSince(draft.base, { fields: {} }, draft.change) });
  }

  /** The server has what was sent; what was written meanwhile is still to be saved. */
  private saved(saved: Loaded, sent: Sent): void {
    const { sent: _, ...draft } = this.draft;
    if (draft.id === undefined) this.drafts.remove(draft);
    const rest = changedSince(draft.base, sent.change, draft.change);
    const base = seenOf(draft.base, saved, sent);
    // What others have put over what was sent is no change back to it.
    this.keep({ ...draft, id: saved.id, base, change: changedSince(base, { fields: {} }, rest) });
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

  private keep(draft: Draft): void {
    this.draft = draft;
    if (!this.isDraft) this.drafts.remove(draft);
    else if (!this.drafts.put(draft)) this.unkept();
  }
}
