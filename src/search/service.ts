import type { MapState } from "../catalog/state.js";
import type { Log } from "../log.js";
import type { Database } from "../storage/postgres.js";
import { Semaphore } from "../storage/semaphore.js";
import type { Hit } from "./found.js";
import { keepSearchIndexes, type SearchIndexes } from "./indexes.js";
import { type SearchRequest, search } from "./search.js";

/** Search as a node offers it: a bounded number of searches at once, and the indexes that they need. */
export class SearchService {
  private readonly gate: Semaphore;
  private readonly indexes: SearchIndexes;

  /**
   * @param places searches at once; each holds a connection for up to a second
   * @param patienceMs how long others wait for a place
   */
  constructor(
    private readonly db: Database,
    log: Log,
    places: number,
    patienceMs = 5_000,
  ) {
    this.gate = new Semaphore(places, patienceMs, "Too many searches are running now.");
    this.indexes = keepSearchIndexes(db, log);
  }

  /**
   * What is in the map, at most a second's worth of it; the caller's right to read the map is the asker's to check.
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

  /** Search settings or a layer's objects changed: indexes may have to be made or dropped. Done in the background. */
  reconsider(): void {
    this.indexes.kick();
  }

  stop(): Promise<void> {
    return this.indexes.stop();
  }
}
