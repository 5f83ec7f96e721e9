import { LRUCache } from "lru-cache";
import type { PurgedVersion } from "../changes/notification.js";
import type { Clock } from "../clock.js";

/**
 * What the CDN has been told, as the node that tells it has announced it: so that open maps hear of a change when they would
 * no longer find the old tile at the CDN.
 */

const mostKept = 20_000;
/** After this the change is told anyway: the CDN cannot be reached. */
const longestWaitMs = 3_000;

export class PurgedVersions {
  private readonly versions = new LRUCache<string, number>({ max: mostKept });
  private readonly waiting = new Set<() => void>();

  /** @param isPurged whether there is a CDN that is told; if not, nobody waits */
  constructor(
    private readonly isPurged: boolean,
    private readonly clock: Clock,
  ) {}

  /** The CDN has dropped what was before these versions. */
  purged(versions: readonly PurgedVersion[]): void {
    for (const { kind, id, version } of versions) this.versions.set(`${kind} ${id}`, version);
    for (const look of [...this.waiting]) look();
  }

  /** Resolves when the CDN has dropped what was before these versions, or after a while. */
  async wait(versions: readonly PurgedVersion[]): Promise<void> {
    if (!this.isPurged || this.areReached(versions)) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        this.waiting.delete(look);
        cancel();
        resolve();
      };
      const look = () => {
        if (this.areReached(versions)) end();
      };
      const cancel = this.clock.after(longestWaitMs, end);
      this.waiting.add(look);
    });
  }

  private areReached(versions: readonly PurgedVersion[]): boolean {
    return versions.every(
      ({ kind, id, version }) => (this.versions.get(`${kind} ${id}`) ?? Number.NEGATIVE_INFINITY) >= version,
    );
  }
}
