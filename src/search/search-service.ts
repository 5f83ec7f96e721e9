import type { MapState } from "../catalog/state.js";
import type { Log } from "../log.js";
import { clientOwners } from "../queues/clients.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import type { Database } from "../storage/postgres.js";
import { keepSearchIndexes, type SearchIndexes } from "./indexes.js";
import { type SearchRequest, type SearchResult, search } from "./search.js";

/** Search on a node: limits concurrent searches and maintains the indexes. */
export class SearchService {
  private readonly gate: FairSemaphore;
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
    this.gate = new FairSemaphore({
      permits: concurrency,
      kept: concurrency > 1 ? 1 : 0,
      mostOfNext: Math.max(1, concurrency - 2),
      mostWaiting: 1_000,
      timeoutMs: queueTimeoutMs,
      refusal: "Too many searches are running now.",
    });
    this.indexes = keepSearchIndexes(db, log);
  }

  /**
   * Searches a map for at most about a second. The right to read the map must have been checked.
   * @throws Failure busy
   */
  async find(map: MapState, request: SearchRequest): Promise<SearchResult> {
    const { client = "", signal } = request;
    // A project first: its clients keep nobody waiting who searches in another.
    const owners = [`p${map.project.id}`, ...clientOwners(client)];
    const release = await this.gate.acquire({ owners, signal });
    try {
      const db = this.db.for({ client, project: map.project.code, purpose: "reads", signal: () => signal });
      const result = await search(db, map, request);
      if (result.indexMissing) this.indexes.kick();
      return result;
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
