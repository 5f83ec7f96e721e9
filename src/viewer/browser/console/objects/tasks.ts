/** What is done with objects at the server, one after the other. Does not depend on the DOM. */
export class Tasks {
  private running: Promise<void> | undefined;

  constructor(
    /** It begins, or has ended. */
    private readonly changed: (isBusy: boolean) => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  get isBusy(): boolean {
    return this.running !== undefined;
  }

  /** Does it, unless something is being done: what is pressed twice is done once. */
  async run(what: () => Promise<void>): Promise<void> {
    if (this.running) return;
    this.running = this.work(what);
    await this.running;
  }

  /** Waits until nothing is being done. */
  async settled(): Promise<void> {
    while (this.running) await this.running;
  }

  private async work(what: () => Promise<void>): Promise<void> {
    // Those who wait for it find it noted.
    await Promise.resolve();
    this.changed(true);
    try {
      await what();
    } catch (error) {
      this.failed(error);
    } finally {
      this.running = undefined;
      this.changed(false);
    }
  }
}
