import { newKey } from "../new-key.js";
import type { DoneWork } from "./done-work.js";
import type { Drafts } from "./drafts.js";
import type { Fields } from "./merge.js";
import { isFinal, type ObjectStore } from "./object-store.js";

/** Changes of several objects, of all or of none: what they become at the server, and here. Does not depend on the DOM. */

export interface ManyChangesEvents {
  removed(ids: readonly number[]): void;
  changed(ids: readonly number[]): Promise<void>;
}

/** All throw ServerError. */
export class ManyChanges {
  /** What was asked for without an answer yet: it is done once, however often it is asked for. */
  private asked: { readonly what: string; readonly key: string } | undefined;

  constructor(
    private readonly around: {
      readonly drafts: Drafts;
      readonly done: DoneWork;
      readonly known: { readonly store: ObjectStore } | undefined;
    },
    private readonly events: ManyChangesEvents,
  ) {}

  async remove(ids: readonly number[]): Promise<void> {
    await this.once(`delete ${ids}`, (store, key) => store.remove(ids, key));
    for (const id of ids) this.around.drafts.remove({ id, key: "" });
    this.events.removed(ids);
    await this.around.done.note(ids);
  }

  /** Makes one object of several, of which the kept one stays, with its values. */
  async merge(kept: number, deleted: readonly number[]): Promise<void> {
    await this.once(`merge ${[kept, ...deleted]}`, (store, key) => store.merge([kept, ...deleted], key));
    for (const id of deleted) this.around.drafts.remove({ id, key: "" });
    // What is deleted is in the history even if the shape of the first one has not changed.
    await this.around.done.note([...deleted, kept]);
    this.events.removed(deleted);
    await this.events.changed([kept]);
  }

  /** Gives objects the same values. */
  async change(ids: readonly number[], fields: Fields): Promise<void> {
    await this.once(`change ${JSON.stringify([ids, fields])}`, (store, key) =>
      store.change(ids, fields, key),
    );
    await this.around.done.note(ids);
    await this.events.changed(ids);
  }

  private async once(what: string, send: (store: ObjectStore, key: string) => Promise<void>): Promise<void> {
    const { known } = this.around;
    if (!known) return;
    if (this.asked?.what !== what) this.asked = { what, key: newKey() };
    try {
      await send(known.store, this.asked.key);
    } catch (error) {
      if (isFinal(error)) this.asked = undefined;
      throw error;
    }
    this.asked = undefined;
  }
}
