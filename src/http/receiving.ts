import { busy, type Failure } from "../errors.js";

/** The memory that bodies take while they come and until they are answered, bounded for the whole process. */

/** What each body may hold without being counted, so that sessions and small edits go on when large bodies hold the rest. */
const freeBytes = 64 * 1024;

/** A body that comes faster than this, or for less time, does not give way to others. */
const slowBytesPerSecond = 256 * 1024;
const patienceMs = 2_000;

const full = (): Failure =>
  busy("The server is receiving as many large bodies as it can hold. Send this again later.", 5);

/** The bytes that one body holds. */
export class Share {
  /** Held beyond `freeBytes`. */
  counted = 0;
  /** Whether more is expected. */
  coming = true;
  private held = 0;
  private received = 0;

  /**
   * @param since when it began, in ms of `performance.now()`
   * @param giveUp ends the body's reading with the error
   */
  constructor(
    private readonly receiving: Receiving,
    private readonly since: number,
    readonly giveUp: (reason: Failure) => void,
  ) {}

  /** Counts bytes that have come. Calls `giveUp` of this body, or of a slower one, when there is no room. */
  take(bytes: number): void {
    this.received += bytes;
    this.count(bytes);
    this.receiving.makeRoom(this);
  }

  /** @param now as `since` */
  isSlow(now: number): boolean {
    const ms = now - this.since;
    return this.coming && ms >= patienceMs && this.received < (slowBytesPerSecond * ms) / 1000;
  }

  /** Counts bytes as gone: written to disk, or skipped. */
  drop(bytes: number): void {
    this.count(-bytes);
  }

  /** Must be called when the request has been answered. */
  end(): void {
    this.coming = false;
    this.count(-this.held);
    this.receiving.leave(this);
  }

  private count(bytes: number): void {
    this.held += bytes;
    const counted = Math.max(0, this.held - freeBytes);
    this.receiving.move(this, counted - this.counted);
    this.counted = counted;
  }
}

export class Receiving {
  private readonly shares = new Set<Share>();
  private bytes = 0;
  private refusals = 0;

  constructor(private readonly limit: number) {}

  /** `bytes` held, and bodies that were `refused` since the start. */
  counts(): { readonly bytes: number; readonly refused: number } {
    return { bytes: this.bytes, refused: this.refusals };
  }

  share(giveUp: (reason: Failure) => void): Share {
    return new Share(this, performance.now(), giveUp);
  }

  /** Called by `Share` only. */
  move(share: Share, bytes: number): void {
    this.bytes += bytes;
    if (bytes > 0) this.shares.add(share);
  }

  leave(share: Share): void {
    this.shares.delete(share);
  }

  /** Called by `Share`: slow bodies give way, those that hold most first; without any, the new bytes are refused. */
  makeRoom(share: Share): void {
    while (this.bytes > this.limit) {
      const refused = this.largestSlow() ?? share;
      this.refusals++;
      refused.giveUp(full());
      refused.end();
      if (refused === share) return;
    }
  }

  private largestSlow(): Share | undefined {
    const now = performance.now();
    let largest: Share | undefined;
    for (const share of this.shares)
      if (share.isSlow(now) && share.counted > (largest?.counted ?? 0)) largest = share;
    return largest;
  }
}
