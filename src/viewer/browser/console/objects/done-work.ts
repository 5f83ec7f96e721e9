import { type Done, EditStack } from "./edit-stack.js";
import { isFinal, type ObjectStore } from "./object-store.js";
import type { Tasks } from "./tasks.js";

/** What was done to objects here: it is undone and done again, each when what is being done has ended. Does not depend on the DOM. */

export interface DoneWorkParts {
  readonly tasks: Tasks;
  readonly closing: AbortSignal;
  store(): ObjectStore | undefined;
}
export interface DoneWorkEvents {
  told(what: "undone" | "redone"): void;
  /** Objects are others than the page shows. */
  changed(ids: readonly number[]): Promise<void>;
}

export class DoneWork {
  private readonly stack: EditStack;

  constructor(
    private readonly of: DoneWorkParts,
    private readonly events: DoneWorkEvents,
  ) {
    this.stack = new EditStack((done, key) => of.store()!.reverse(done, key), isFinal);
  }

  get canUndo(): boolean {
    return this.stack.canUndo;
  }

  get canRedo(): boolean {
    return this.stack.canRedo;
  }

  /** Remembers what was done, to be undone. */
  async note(ids: readonly number[]): Promise<void> {
    // Where there is no history nothing can be undone.
    const done = await this.of
      .store()
      ?.last(ids)
      .catch(() => undefined);
    if (done) this.stack.push(done);
  }

  undo(): Promise<void> {
    return this.turn("undone", () => this.stack.undo());
  }

  redo(): Promise<void> {
    return this.turn("redone", () => this.stack.redo());
  }

  private async turn(told: "undone" | "redone", turn: () => Promise<Done | undefined>): Promise<void> {
    const { tasks, closing } = this.of;
    // A key that is pressed before a save has ended is for what that does.
    while (tasks.isBusy) await tasks.settled();
    if (closing.aborted) return;
    await tasks.run(async () => {
      const done = await turn();
      if (!done) return;
      this.events.told(told);
      await this.events.changed(done.objects);
    });
  }
}
