/**
 * The way between a process and a service: it can be cut, so that both ends hear of it, or lose what is sent one way, or both,
 * without a word.
 */
export class Link {
  cutUntil = 0;
  /** What the process sends does not arrive. */
  lostToUntil = 0;
  /** What the service sends does not arrive. */
  lostFromUntil = 0;
  /** Called when it is cut. */
  onCut: (until: number) => void = () => undefined;

  cut(until: number): void {
    this.cutUntil = Math.max(this.cutUntil, until);
    this.onCut(until);
  }

  lose(until: number, way: "to" | "from" | "both"): void {
    if (way !== "from") this.lostToUntil = Math.max(this.lostToUntil, until);
    if (way !== "to") this.lostFromUntil = Math.max(this.lostFromUntil, until);
  }

  /** Whether all is well. */
  isWhole(now: number): boolean {
    return now >= this.wholeAt;
  }

  get wholeAt(): number {
    return Math.max(this.cutUntil, this.lostToUntil, this.lostFromUntil);
  }
}

/** When a process gives up a command, or a connection, of which it hears nothing. */
export const silentMs = { redis: 500, connection: 2_000, query: 2_500 } as const;
