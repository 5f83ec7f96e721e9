import { newKey } from "../new-key.js";

/** What was done to objects here, to be undone and done again. Does not depend on the DOM. */

export interface Done {
  /** Id of the entry of the history that says so. */
  readonly entry: number;
  /** Ids of the objects. */
  readonly objects: readonly number[];
}
/** With the key by which it is undone once, however often that is asked for. */
type Step = Done & { readonly key: string };

/** More are let go, the oldest first. */
const mostSteps = 200;

export class EditStack {
  private readonly done: Step[] = [];
  private readonly undone: Step[] = [];

  constructor(
    /** Undoes it at the server, and tells what has done that. */
    private readonly reverse: (done: Done, key: string) => Promise<Done>,
    /** Whether a failure says that it will never be undone. */
    private readonly isFinal: (error: unknown) => boolean,
  ) {}

  get canUndo(): boolean {
    return this.done.length > 0;
  }

  get canRedo(): boolean {
    return this.undone.length > 0;
  }

  /** What was done now; what was undone before is not done again any more. */
  push(done: Done): void {
    this.done.push({ ...done, key: newKey() });
    if (this.done.length > mostSteps) this.done.shift();
    this.undone.length = 0;
  }

  /** Undoes the last thing; undefined = there is none. @throws what the server does */
  undo(): Promise<Done | undefined> {
    return this.turn(this.done, this.undone);
  }

  /** An undoing is a change too: to do again is to undo that. */
  redo(): Promise<Done | undefined> {
    return this.turn(this.undone, this.done);
  }

  private async turn(from: Step[], to: Step[]): Promise<Done | undefined> {
    const last = from.pop();
    if (!last) return undefined;
    const { key, ...done } = last;
    try {
      to.push({ ...(await this.reverse(done, key)), key: newKey() });
    } catch (error) {
      // What was before it can be undone all the same.
      if (!this.isFinal(error)) from.push(last);
      throw error;
    }
    return done;
  }
}
