import { Redis as Connection, type RedisOptions } from "ioredis";

/** Without what would change the types of answers. */
export type ServerOptions = Omit<RedisOptions, "replyMapping">;

/** URL or path of a socket, if there is one, and the options. */
export type ServerPlace = readonly [string, ServerOptions] | readonly [ServerOptions];

/** Between two attempts: ms. */
const againMs = 100;

/**
 * A connection that ends when it is told to, and else is made anew. ioredis gives one up for good that is disconnected while it asks
 * Sentinel for the primary: as another of its connections has heard of a failover, or to be renewed.
 */
export class LastingConnection extends Connection {
  private hasLeft = false;
  private again: NodeJS.Timeout | undefined;

  constructor(where: ServerPlace) {
    super(...(where as [string, ServerOptions]));
    this.on("end", () => {
      if (this.hasLeft) return this.left();
      clearTimeout(this.again);
      this.again = setTimeout(() => void this.connect().catch(() => undefined), againMs);
    });
  }

  override disconnect(reconnect = false): void {
    if (!reconnect) {
      this.hasLeft = true;
      clearTimeout(this.again);
    }
    super.disconnect(reconnect);
  }

  /** It has ended for good. */
  protected left(): void {}
}
