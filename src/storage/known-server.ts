import { busy, causedBy } from "../errors.js";
import { serverSql } from "./transaction-settings.js";

/**
 * Which server the direct connections are to. Behind a pooler every transaction is one of that server, or fails: it would else read
 * what another server has, of whose changes nobody tells this node.
 */
export class KnownServer {
  private known: string | undefined;
  private asking: Promise<string> | undefined;

  /**
   * @param ask a connection to the server, and notes it
   * @param changed another server has taken its place, or it was restarted; or it is known for the first time
   */
  constructor(
    private readonly ask: () => Promise<string>,
    private readonly changed: (server: string, isFirst: boolean) => void,
  ) {}

  /** "" = it is not known yet. */
  get last(): string {
    return this.known ?? "";
  }

  /** @throws Failure busy when no direct connection can be made */
  get current(): string | Promise<string> {
    return this.known ?? this.again();
  }

  /** Asks again. @throws Failure busy */
  again(): Promise<string> {
    this.asking ??= this.ask()
      .catch((error: unknown) => {
        throw causedBy(busy("The database cannot be reached just now."), error);
      })
      .finally(() => {
        this.asking = undefined;
      });
    return this.asking;
  }

  /** What a direct connection has been told. */
  note(server: string): void {
    const before = this.known;
    this.known = server;
    if (before !== server) this.changed(server, before === undefined);
  }
}

/** SQL of one row, `server`. */
export const askServer = `select ${serverSql} as server`;
