import type { MapState } from "../catalog/state.js";
import type { Log } from "../log.js";
import type { Database } from "../storage/postgres.js";
import { Semaphore } from "../storage/semaphore.js";
import type { Hit } from "./found.js";
import { keepSearchIndexes, type SearchIndexes } from "./indexes.js";
import { type SearchRequest, search } from "./search.js";

/** Search on a node: limits concurrent searches and maintains the indexes. */
export class SearchService {
  private readonly gate: Semaphore;
  private readonly indexes: SearchIndexes;

  /**
   * @param concurrency maximum of concurrent searches; each uses a connection for up to a second
   * @param queueTimeoutMs how long further searches wait
   */
  constructor(
    private readonly db: Database,
    log: Log,
    concurrency: number,
    queueTimeoutMs = 5_000,
  ) {
    this.gate = new Semaphore(concurrency, queueTimeoutMs, "Too many searches are running now.");
    this.indexes = keepSearchIndexes(db, log);
  }

  /**
   * Searches a map for at most about a second. The right to read the map must have been checked.
   * @throws Failure busy
   */
  async find(map: MapState, request: SearchRequest): Promise<readonly Hit[]> {
    const release = await this.gate.acquire(request.signal);
    try {
      const { hits, indexMissing } = await search(this.db, map, request);
      if (indexMissing) this.indexes.kick();
      return hits;
    } finally {
      release();
    }
  }

  /** Call when search settings or objects have changed. Creates or drops indexes in the background. */
  reconsider(): void {
    this.indexes.kick();
  }

  stop(): Promise<void> {
    return this.indexes.stop();
  }
}
