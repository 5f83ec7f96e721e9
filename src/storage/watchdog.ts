/**
 * Gives connections up on which the server has been silent for longer than it works on a statement: a host that lost its
 * power and a firewall that drops packets end no connection, and whoever waits for an answer would wait for ever.
 */
export class Watchdog<Connection extends object> {
  /** When each connection that works is given up, on the clock of `performance`. */
  private readonly deadlines = new Map<Connection, number>();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly giveUp: (connection: Connection) => void,
    everyMs = 1_000,
  ) {
    this.timer = setInterval(() => this.look(), everyMs);
    this.timer.unref();
  }

  /** From now on an answer is expected within that time. */
  expect(connection: Connection, withinMs: number): void {
    this.deadlines.set(connection, performance.now() + withinMs);
  }

  /** Nothing is expected any more. */
  stopExpecting(connection: Connection): void {
    this.deadlines.delete(connection);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const now = performance.now();
    for (const [connection, deadline] of this.deadlines) {
      if (deadline > now) continue;
      this.deadlines.delete(connection);
      this.giveUp(connection);
    }
  }
}
