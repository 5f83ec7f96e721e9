import type { CommandEnvironment } from "./environment.js";

const progressMs = 200;

/** Shows how many things are done on one line of the terminal. */
export class Progress {
  count = 0;
  private isShown = false;
  private nextAt = 0;

  constructor(
    private readonly env: CommandEnvironment,
    /** Noun in the plural. */
    private readonly things: string,
  ) {}

  /** @param all how many there are, if that is known */
  add(count: number, all?: number): void {
    this.count += count;
    if (!this.env.stderr.isTTY || performance.now() < this.nextAt) return;
    this.nextAt = performance.now() + progressMs;
    this.isShown = true;
    const done = all === undefined ? `${this.count}` : `${this.count} of ${all}`;
    this.env.stderr.write(`\r${done} ${this.things} …`);
  }

  end(): void {
    if (this.isShown) this.env.stderr.write("\r\x1b[K");
  }
}
