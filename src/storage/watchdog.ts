/**
 * Closes connections on which the server does not answer in time. A host that loses power and a firewall that drops
 * packets do not end a connection, so a query would wait for ever.
 */
export class Watchdog<Connection extends object> {
  /** When each busy connection is closed, on the clock of `performance`. */
  private readonly deadlines = new Map<Connection, number>();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly close: (connection: Connection) => void,
    everyMs = 1_000,
  ) {
    this.timer = setInterval(() => this.check(), everyMs);
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

  private check(): void {
    const now = performance.now();
    for (const [connection, deadline] of this.deadlines) {
      if (deadline > now) continue;
      this.deadlines.delete(connection);
      this.close(connection);
    }
  }
}
