import { DoneWork } from "../../src/viewer/browser/console/objects/done-work.js";
import { Drafts } from "../../src/viewer/browser/console/objects/drafts.js";
import { ManyChanges } from "../../src/viewer/browser/console/objects/many-changes.js";
import type { Conflict, Decision } from "../../src/viewer/browser/console/objects/merge.js";
import { ObjectStore } from "../../src/viewer/browser/console/objects/object-store.js";
import { type ObjectView, ObjectWork } from "../../src/viewer/browser/console/objects/object-work.js";
import type { OpenObject } from "../../src/viewer/browser/console/objects/open-object.js";
import { Tasks } from "../../src/viewer/browser/console/objects/tasks.js";
import { Operations } from "../../src/viewer/browser/console/operations.js";
import { storageOf } from "../console/storage.support.js";
import type { Link } from "./link.js";
import { Memory, textOf } from "./memory.js";
import { type Account, type Layer, languages } from "./place.js";

/** An editor: what of the console decides, in a browser that is reloaded, with a user who remembers what was meant. */

export interface User {
  readonly account: Account;
  readonly layer: Layer;
  readonly link: Link;
  /** Whether something is so, once in so many times. */
  chance(of: number): boolean;
  /** Something that must not be. */
  wrong(what: string): void;
  trace(what: string): void;
  /** Whether somebody has undone something, or made one object of several: values come back then. */
  hasUndone(): boolean;
  /** An object with this mark is made, or made anew after somebody has deleted it. */
  makes(mark: string): void;
  /** Nobody waits with a decision any more. */
  isSettling(): boolean;
}

export class Editor {
  private readonly storage = storageOf();
  /** By id, or the key of a draft. */
  private readonly known = new Map<number | string, Memory>();
  private page: Page;

  constructor(private readonly user: User) {
    this.page = this.opened();
  }

  get now(): Page {
    return this.page;
  }

  get memories(): readonly Memory[] {
    return [...new Set(this.known.values())];
  }

  /** The page is left as it is, and opened anew. */
  reload(): void {
    this.page.abandon();
    this.page = this.opened();
  }

  private opened(): Page {
    return new Page(this.user, this.storage, this.known);
  }
}

export class Page implements ObjectView<void> {
  readonly isDrawing = false;
  readonly drafts: Drafts;
  readonly tasks: Tasks;
  readonly done: DoneWork;
  readonly work: ObjectWork<void>;
  readonly many: ManyChanges;
  private readonly left = new AbortController();
  /** What the form has. */
  private readonly shown = new Map<string, unknown>();
  private memory: Memory | undefined;
  private restore: (() => void) | undefined;

  constructor(
    private readonly user: User,
    storage: ReturnType<typeof storageOf>,
    private readonly known: Map<number | string, Memory>,
  ) {
    const { account, layer, link } = user;
    const operations = new Operations(
      { of: () => account },
      async () => {
        const isDeclined = !user.isSettling() && user.chance(2);
        if (!isDeclined) link.isSignedOut = false;
        user.trace(isDeclined ? "does not sign in" : "signs in");
        return !isDeclined;
      },
      link.web(this.left.signal),
    );
    const store = new ObjectStore(
      operations,
      { project: "p", map: "m" },
      layer.code,
      languages,
      layer.columns,
    );
    const of = { login: account.login, project: "p", layerId: layer.id };
    this.drafts = new Drafts(of, storage);
    this.tasks = new Tasks(
      () => undefined,
      (error) => this.failed(error),
    );
    const closing = this.left.signal;
    const changed = (ids: readonly number[]) => this.work.refresh(ids);
    this.done = new DoneWork(
      { tasks: this.tasks, closing, store: () => store },
      { told: (what) => user.trace(what), changed },
    );
    const known_ = { store };
    this.work = new ObjectWork<void>(
      {
        ...{ drafts: this.drafts, tasks: this.tasks, done: this.done, closing, known: known_ },
        layer: () => Promise.resolve(known_),
        renewed: () => undefined,
        update: () => undefined,
        tell: (error) => this.failed(error),
      },
      this,
    );
    this.many = new ManyChanges(
      { drafts: this.drafts, done: this.done, known: known_ },
      { removed: (ids) => this.removed(ids), changed },
    );
  }

  /** What an object is for the user; the one that is open. */
  get current(): Memory | undefined {
    return this.work.open && this.memory;
  }

  abandon(): void {
    this.sync();
    this.left.abort();
  }

  /** Writes a value, or a shape. @param change of what is shown */
  write(field: string, change: (shown: unknown) => unknown): void {
    const { open } = this.work;
    if (!open || !this.memory) return;
    const before = this.shown.get(field);
    const value = change(before);
    this.user.trace(`${field} = ${textOf(value)}`);
    this.memory.show(field, textOf(before));
    this.memory.write(field, textOf(value), textOf(before));
    if (field === "geom") open.setGeometry(value as GeoJSON.Geometry | null);
    else open.set(field, value);
    this.shown.set(field, value);
    this.sync();
  }

  async make(mark: string): Promise<void> {
    await this.work.make(undefined);
    if (!this.work.open || this.work.open.id !== undefined) return;
    this.memory!.mark = mark;
    this.user.makes(mark);
    this.write("mark", () => mark);
  }

  /** Deletes the open object. */
  async remove(): Promise<void> {
    const id = this.work.open?.id;
    if (id === undefined || this.tasks.isBusy) return;
    await this.tasks.run(() => this.many.remove([id]));
  }

  async merge(kept: number, deleted: number): Promise<void> {
    const isDraft = this.drafts.all().some(({ id }) => id === kept || id === deleted);
    // The console offers it then only.
    if (isDraft || this.tasks.isBusy) return;
    await this.tasks.run(() => this.many.merge(kept, [deleted]));
  }

  /** Looks at what others have done. */
  async follow(): Promise<void> {
    await this.tasks.settled();
    await this.work.refresh().catch(() => undefined);
  }

  /** Discards what is written, and brings it back, or not. */
  discard(isRestored: boolean): void {
    const { memory } = this;
    if (!this.work.open?.isDraft || !memory) return;
    const pending = new Map(memory.pending);
    memory.pending.clear();
    this.work.discard();
    if (!isRestored) return;
    for (const [field, one] of pending) memory.pending.set(field, one);
    this.restore?.();
  }

  /** What the server has now is not pending any more, what is pending is shown. */
  sync(): void {
    const { memory } = this;
    const { open } = this.work;
    if (!open || !memory) return;
    if (open.id === undefined) this.known.set(open.key, memory);
    else if (memory.id !== open.id) {
      memory.id = open.id;
      this.known.set(open.id, memory);
    }
    const draft = this.drafts
      .all()
      .find(({ id, key }) => (open.id === undefined ? key === open.key : id === open.id));
    const { fields, geom } = draft?.change ?? { fields: {} };
    memory.settle((field) => (field === "geom" ? geom !== undefined : Object.hasOwn(fields, field)));
    for (const [field, { value }] of memory.pending) {
      const shown = textOf(this.shown.get(field));
      if (shown !== value) this.user.wrong(`${field} was written as ${value} and is shown as ${shown}`);
    }
  }

  present(open: OpenObject): void {
    const name = open.id ?? open.key;
    this.memory = this.known.get(name) ?? new Memory(open.id, undefined);
    this.known.set(name, this.memory);
    this.show(open);
  }

  renew(open: OpenObject): void {
    this.show(open);
  }

  saved(open: OpenObject): void {
    this.show(open);
  }

  discarded(open: OpenObject, restore: () => void): void {
    this.restore = restore;
    if (open.id === undefined) this.close();
    else this.show(open);
  }

  showState(): void {}
  cancel(): void {}
  leave(): void {}
  closed(): void {}
  end(): void {}
  problem(): void {}

  close(): void {
    this.work.closed();
  }

  settle(): Promise<void> {
    return Promise.resolve();
  }

  begin(): Promise<void> {
    return Promise.resolve();
  }

  news(news: string | undefined): void {
    if (news) this.user.trace(`is told ${news}`);
  }

  told(what: string): void {
    this.user.trace(`is told ${what}`);
  }

  missing(): void {
    this.told("objectGone");
  }

  refused(error: unknown): void {
    this.failed(error);
  }

  async askWhose(conflicts: readonly Conflict[]): Promise<Decision | undefined> {
    const { user, memory } = this;
    const decision = user.chance(2) ? "mine" : user.isSettling() || user.chance(2) ? "theirs" : undefined;
    for (const { code, mine: ours, theirs: others } of conflicts) {
      const field = code ?? "geom";
      const [mine, theirs] = [textOf(ours), textOf(others)];
      user.trace(`is asked about ${field}: ${mine} or ${theirs}? ${decision ?? "not now"}`);
      const pending = memory?.pending.get(field);
      if (!memory || !pending) {
        user.wrong(`asked about ${field}, which was not written`);
        continue;
      }
      if (mine !== pending.value) user.wrong(`asked about ${mine} where ${pending.value} was written`);
      if (mine === theirs) user.wrong(`asked about ${field} although both have set ${mine}`);
      if (theirs === pending.of && !user.hasUndone())
        user.wrong(`asked about ${field} although it was ${theirs} when it was written`);
      if (isUnique(theirs) && memory.hasWritten(field, theirs) && !user.hasUndone())
        user.wrong(`asked whether ${field} shall be ${mine} or their own ${theirs}`);
      memory.asked.push({ field, mine, theirs, decision });
      if (decision === "mine") {
        memory.show(field, theirs);
        pending.of = theirs;
      } else if (decision === "theirs") memory.pending.delete(field);
    }
    return decision;
  }

  async askAnew(): Promise<boolean> {
    const { user, memory } = this;
    const isWanted = user.isSettling() || !user.chance(4);
    user.trace(`is asked whether it shall be made anew: ${isWanted ? "yes" : "no"}`);
    if (!isWanted || !memory) return isWanted;
    const anew = new Memory(undefined, memory.mark);
    // All of it is written, as it is shown.
    for (const [field, value] of this.shown)
      if (textOf(value) !== "null") anew.write(field, textOf(value), "null");
    user.makes(memory.mark ?? "");
    memory.pending.clear();
    this.memory = anew;
    return true;
  }

  /** The form shows it as it is. */
  private show(open: OpenObject): void {
    const { memory } = this;
    if (!memory) return;
    const { fields, geom } = open.values;
    this.shown.clear();
    for (const [field, value] of [...Object.entries(fields), ["geom", geom] as const]) {
      if (field === "svc_id") continue;
      this.shown.set(field, value);
      memory.show(field, textOf(value));
    }
    if (memory.mark === undefined && typeof fields.mark === "string") memory.mark = fields.mark;
    this.sync();
  }

  private removed(ids: readonly number[]): void {
    for (const id of ids) this.known.get(id)?.pending.clear();
    const { open } = this.work;
    if (open?.id === undefined || !ids.includes(open.id)) return;
    open.discard();
    this.close();
  }

  private failed(error: unknown): void {
    this.user.trace(`fails: ${(error as Error).message}`);
  }
}

/** Whether only one of the editors writes it, and once. */
export const isUnique = (text: string): boolean =>
  !text.includes("same") && !text.startsWith("-") && text !== "null";
