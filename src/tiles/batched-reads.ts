import type { Clock } from "../clock.js";
import type { Redis } from "../storage/redis.js";

/** Keys of one command; with tiles of usual size its answer stays under a few megabytes. */
const keysAtOnce = 64;

interface PendingRead {
  readonly key: string;
  readonly resolve: (value: Buffer | null) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Reads from Redis: all those of one turn of the event loop go out as one command. A command of its own for each
 * costs a system call that wakes Redis, more than everything else that is done for a tile.
 */
export class BatchedReads {
  private wishes: PendingRead[] = [];

  constructor(
    private readonly redis: Redis,
    private readonly clock: Clock,
  ) {}

  get(key: string): Promise<Buffer | null> {
    return new Promise((resolve, reject) => {
      if (this.wishes.length === 0) void this.clock.turn().then(() => this.send());
      this.wishes.push({ key, resolve, reject });
      if (this.wishes.length >= keysAtOnce) this.send();
    });
  }

  private send(): void {
    const sent = this.wishes;
    if (sent.length === 0) return;
    this.wishes = [];
    this.redis.mgetBuffer(sent.map((wish) => wish.key)).then(
      (values) => {
        for (let index = 0; index < sent.length; index++) sent[index]!.resolve(values[index] ?? null);
      },
      (error: Error) => {
        for (const wish of sent) wish.reject(error);
      },
    );
  }
}
