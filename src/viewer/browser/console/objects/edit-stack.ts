/** What was done to objects here, to be undone and done again. Does not depend on the DOM. */

export interface Done {
  /** Id of the entry of the history that says so. */
  readonly entry: number;
  /** Ids of the objects. */
  readonly objects: readonly number[];
}

export class EditStack {
  private readonly done: Done[] = [];
  private readonly undone: Done[] = [];

  constructor(
    /** Undoes it at the server, and tells what has done that. */
    private readonly reverse: (done: Done) => Promise<Done>,
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
    this.done.push(done);
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

  private async turn(from: Done[], to: Done[]): Promise<Done | undefined> {
    const last = from.pop();
    if (!last) return undefined;
    try {
      to.push(await this.reverse(last));
    } catch (error) {
      // What was before it can be undone all the same.
      if (!this.isFinal(error)) from.push(last);
      throw error;
    }
    return last;
  }
}
