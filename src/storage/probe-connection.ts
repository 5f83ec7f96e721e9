import type pg from "pg";
import { destroy } from "./heartbeat.js";
import { readOnly } from "./own-session.js";

/** A connection that is asked whether the database takes writes. */
export class ProbeConnection {
  /** @param run runs a statement on the connection */
  constructor(
    private readonly client: pg.Client,
    private readonly run: (text: string) => Promise<object[]>,
  ) {}

  /** @throws Error when it does not */
  async ask(): Promise<void> {
    const [row] = await this.run(`select current_setting('transaction_read_only') = 'on' as "isReadOnly"`);
    if ((row as { isReadOnly: boolean }).isReadOnly) throw readOnly();
  }

  /** Called when the connection is lost, possibly twice. */
  onLost(listener: () => void): void {
    this.client.on("error", listener);
    this.client.on("end", listener);
  }

  /** Without a word: who does not answer takes none. */
  destroy(): void {
    destroy(this.client);
  }
}
