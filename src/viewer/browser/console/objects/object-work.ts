import { newKey } from "../new-key.js";
import type { DoneWork } from "./done-work.js";
import type { Draft, Drafts } from "./drafts.js";
import type { Conflict, Decision } from "./merge.js";
import { type ObjectAccess, OpenObject } from "./open-object.js";
import type { ShapeKind } from "./shape.js";
import type { Tasks } from "./tasks.js";

/** The object that is open: opened, saved, discarded, and kept up with what others do. Does not depend on the DOM. */

export interface ObjectWorkParts {
  readonly drafts: Drafts;
  readonly tasks: Tasks;
  readonly done: DoneWork;
  /** The editor is closed. */
  readonly closing: AbortSignal;
  /** Undefined = it cannot be read, which is told. */
  layer(): Promise<{ readonly store: ObjectAccess } | undefined>;
  /** What is known of the layer, if it is. */
  readonly known: { readonly store: ObjectAccess } | undefined;
  /** Objects were changed here: what shows them is made anew. */
  renewed(): void;
  /** What buttons can do may have changed. */
  update(): void;
  tell(error: unknown): void;
}

/** What shows the open object and asks its user. @typeParam Place where on the map it was pressed */
export interface ObjectView<Place> {
  /** Whether its shape is drawn or changed. */
  readonly isDrawing: boolean;
  /** Ends what is drawn, if it can be ended, and waits until the object has it. */
  settle(): Promise<void>;
  /** What is drawn is not wanted any more. */
  cancel(): void;
  /** What is drawn stays with the object, for another one is opened. */
  leave(): void;
  present(open: OpenObject, place: Place | undefined): void;
  /** Waits for what a new object needs first: a shape of this kind, or values. */
  begin(kind: ShapeKind | undefined): Promise<void>;
  /** It is another one than is shown. */
  renew(open: OpenObject): void;
  saved(open: OpenObject): void;
  discarded(open: OpenObject, restore: () => void): void;
  /** Whether it is a draft, and what it is called. */
  showState(open: OpenObject): void;
  close(): void;
  closed(): void;
  end(): void;
  /** What others have done to it; undefined = nothing. */
  news(news: "objectGone" | "newsConflict" | undefined): void;
  /** Said in the form; undefined = nothing. */
  problem(text: "wrongValues" | undefined): void;
  /** What the server does not take. @param isShown whether it is the object of the form */
  refused(error: unknown, isShown: boolean): void;
  told(what: "objectSaved" | "notSavedKept" | "draftsFull" | "objectGone"): void;
  /** There is no object to be opened. */
  missing(): void;
  /** Whose change shall be; undefined = that is not decided now. */
  askWhose(conflicts: readonly Conflict[]): Promise<Decision | undefined>;
  /** Whether an object that somebody has deleted shall be made anew. */
  askAnew(): Promise<boolean>;
}

export class ObjectWork<Place = unknown> {
  private object: OpenObject | undefined;
  private openings = 0;

  constructor(
    private readonly around: ObjectWorkParts,
    private readonly view: ObjectView<Place>,
  ) {}

  get open(): OpenObject | undefined {
    return this.object;
  }

  /** Whether a draft is that of the form. */
  isOpen({ id, key }: Pick<Draft, "id" | "key">): boolean {
    return (
      this.object !== undefined && this.object.id === id && (id !== undefined || this.object.key === key)
    );
  }

  end(): void {
    this.openings++;
    this.object = undefined;
    this.view.end();
  }

  async openObject(id: number, place?: Place): Promise<void> {
    const { around, view } = this;
    const opening = ++this.openings;
    const layer = await around.layer();
    // What is being saved is not left before it is known how that ends.
    await around.tasks.settled();
    if (!layer || opening !== this.openings || this.object?.id === id) return;
    const kept = around.drafts.of(id);
    // What was written is there before the server answers, and without it.
    if (kept) this.present(kept, place);
    const shown = this.openings;
    try {
      const loaded = await layer.store.read(id);
      if (shown !== this.openings) return;
      // Another tab may have written something until now.
      const draft = kept ?? around.drafts.of(id);
      if (draft && !kept) this.present(draft, place);
      // What was saved meanwhile may be newer than what was read.
      if (this.object?.id === id && draft && this.object.version !== draft.base?.etag) return;
      if (draft && loaded) this.take(loaded);
      else if (draft) view.news("objectGone");
      else if (loaded) this.present({ id, key: newKey(), base: loaded, change: { fields: {} } }, place);
      else view.missing();
    } catch (error) {
      if (shown === this.openings) around.tell(error);
    }
  }

  /** Opens the next of the drafts. */
  async openDraft(): Promise<void> {
    const all = this.around.drafts.all();
    const at = all.findIndex((draft) => this.isOpen(draft));
    const next = all[(at + 1) % all.length];
    if (!next || this.isOpen(next)) return;
    if (next.id !== undefined) await this.openObject(next.id);
    else if (await this.around.layer()) this.present(next);
  }

  /** @param kind undefined = an object without a place */
  async make(kind: ShapeKind | undefined): Promise<void> {
    if (!(await this.around.layer()) || this.around.tasks.isBusy) return;
    this.present({ id: undefined, key: newKey(), base: undefined, change: { fields: {} } });
    await this.view.begin(kind);
  }

  private present(draft: Draft, place?: Place): void {
    const { drafts, known } = this.around;
    const { view } = this;
    if (!known) return;
    this.openings++;
    view.leave();
    this.object = new OpenObject(draft, known.store, drafts, () => view.told("draftsFull"));
    view.present(this.object, place);
  }

  /** What of the form depends on what is written in it. */
  showState(): void {
    if (this.object) this.view.showState(this.object);
  }

  discard(): void {
    const { object: open, view } = this;
    const { tasks, drafts } = this.around;
    if (!open || tasks.isBusy) return;
    view.cancel();
    const discarded = open.discard();
    view.discarded(open, () => {
      drafts.put(discarded);
      this.present(discarded);
    });
  }

  closed(): void {
    this.openings++;
    this.view.leave();
    this.object = undefined;
    this.view.closed();
    this.around.update();
  }

  async save(): Promise<void> {
    const { object: open, view } = this;
    const { tasks } = this.around;
    if (!open?.isDraft || tasks.isBusy) return;
    await view.settle();
    if (open.hasWrong) {
      view.problem("wrongValues");
      return;
    }
    if (this.object !== open) return;
    view.problem(undefined);
    await tasks.run(() =>
      this.saveNow(open).catch((error: unknown) => {
        const isShown = this.object === open;
        // What others have made of it may be below what is written by now.
        if (isShown) view.renew(open);
        view.refused(error, isShown);
      }),
    );
  }

  private async saveNow(open: OpenObject): Promise<void> {
    const { view } = this;
    const { done, closing, renewed } = this.around;
    for (let isPart = true; isPart; ) {
      const end = await open.save((conflicts) =>
        // Nobody is asked about a map that is left: the draft stays.
        closing.aborted ? Promise.resolve(undefined) : view.askWhose(conflicts),
      );
      isPart = end.kind === "saved" && end.isPart;
      if (end.kind === "gone" && !closing.aborted) await this.meetGone(open);
      if (end.kind === "saved") await done.note([end.id]);
      if (end.kind === "saved" && !isPart) view.told("objectSaved");
      if (end.kind === "open" && closing.aborted) view.told("notSavedKept");
      if (closing.aborted) continue;
      if (end.kind === "saved" || end.kind === "same") renewed();
      if (this.object === open && end.kind !== "open") view.saved(open);
    }
  }

  private async meetGone(open: OpenObject): Promise<void> {
    const { done, renewed } = this.around;
    if (!(await this.view.askAnew())) return;
    open.detach();
    await open.save(() => Promise.resolve("mine"));
    if (open.id !== undefined) await done.note([open.id]);
    renewed();
  }

  /** These objects were changed from outside the form. @param ids undefined = any may have been */
  async refresh(ids?: readonly number[]): Promise<void> {
    const { object: open, view } = this;
    if (open?.id === undefined || ids?.includes(open.id) === false) return;
    const { version } = open;
    const loaded = await this.around.known?.store.read(open.id);
    // What others do to its shape is seen when that is not being changed any more.
    if (this.object !== open || view.isDrawing) return;
    // It was saved meanwhile, and what was read may be older.
    if (open.version !== version) return;
    if (loaded) {
      this.take(loaded);
      return;
    }
    if (open.isDraft) {
      view.news("objectGone");
      return;
    }
    view.close();
    if (!ids) view.told("objectGone");
  }

  /** Shows what the server has now, below what is written here. */
  private take(loaded: Parameters<OpenObject["rebase"]>[0]): void {
    const { object: open, view } = this;
    if (!open) return;
    const hasConflicts = open.rebase(loaded);
    view.news(hasConflicts ? "newsConflict" : undefined);
    view.renew(open);
  }

  /** What another tab has written of the same object. */
  adopt(draft: Draft): void {
    const { object: open } = this;
    if (open?.adopt(draft)) this.view.renew(open);
  }
}
