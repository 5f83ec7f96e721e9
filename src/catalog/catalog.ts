import { LRUCache } from "lru-cache";
import { failed, notFound } from "../errors.js";
import type { Database } from "../storage/postgres.js";
import { loadMap, loadProject } from "./load.js";
import type { MapState, ProjectState } from "./state.js";

/** The catalogue as this node sees it: current snapshots of projects and maps, read on demand and kept while they are current. */
export interface Catalog {
  /** @throws Failure project_not_found */
  project(code: string): Promise<ProjectState>;
  /** @throws Failure project_not_found, not_found */
  map(projectCode: string, mapCode: string): Promise<MapState>;
  /** As `map`, for what the installation keeps for itself: hidden projects do not exist for `project` and `map`. */
  ownMap(projectCode: string, mapCode: string): Promise<MapState>;
  /** Every project that is not hidden. */
  projects(): Promise<readonly ProjectState[]>;
}

/** One remembered thing. `epoch` is that of the cache when its reading began. */
interface Entry<State> {
  readonly epoch: number;
  readonly state: Promise<State | undefined>;
  id: number | undefined;
}

const keptProjects = 1_000;
const keptMaps = 2_000;

export class CatalogCache implements Catalog {
  private readonly projectEntries = new LRUCache<string, Entry<ProjectState>>({ max: keptProjects });
  private readonly mapEntries = new LRUCache<string, Entry<MapState>>({
    max: keptMaps,
    dispose: (entry) => this.retire(entry.state),
  });
  /** Last invalidation of each id, and of everything, as a counter. */
  private epoch = 0;
  private allChanged = 0;
  private readonly projectChanges = new Map<number, number>();
  private readonly mapChanges = new Map<number, number>();

  /**
   * @param idAlias another name of svc_id; "" = none
   * @param trusted whether invalidations arrive now; while they do not, every answer is checked by its revision
   * @param retired called with each map snapshot that is no longer given out
   */
  constructor(
    private readonly db: Database,
    private readonly idAlias: string,
    private readonly trusted: () => boolean,
    private readonly retired: (map: MapState) => void,
  ) {}

  async project(code: string): Promise<ProjectState> {
    const state = await this.anyProject(code);
    if (state.hidden) throw failed("project_not_found", `There is no project "${code}".`);
    return state;
  }

  private async anyProject(code: string): Promise<ProjectState> {
    const state = await this.current(this.projectEntries, code, {
      load: () => loadProject(this.db, code),
      changedAt: (id) => this.projectChanges.get(id) ?? 0,
      revision: async (id) => this.revision("project", id),
    });
    if (!state) throw failed("project_not_found", `There is no project "${code}".`);
    return state;
  }

  async map(projectCode: string, mapCode: string): Promise<MapState> {
    await this.project(projectCode);
    return this.ownMap(projectCode, mapCode);
  }

  async ownMap(projectCode: string, mapCode: string): Promise<MapState> {
    const project = await this.anyProject(projectCode);
    const key = `${projectCode}/${mapCode}`;
    const map = await this.current(this.mapEntries, key, {
      load: () => loadMap(this.db, project, mapCode, this.idAlias),
      changedAt: (id) => this.mapChanges.get(id) ?? 0,
      revision: async (id) => this.revision("map", id),
    });
    if (!map) throw notFound(`map "${mapCode}"`);
    if (map.project === project) return map;
    // The project changed (languages, roles, grants) and the map did not: read it anew with the project's state.
    this.mapEntries.delete(key);
    return this.ownMap(projectCode, mapCode);
  }

  async projects(): Promise<readonly ProjectState[]> {
    const rows = await this.db.query<{ code: string }>(
      "select code from project where not hidden order by code",
    );
    const states = await Promise.allSettled(rows.map((row) => this.project(row.code)));
    return states.flatMap((state) => (state.status === "fulfilled" ? [state.value] : []));
  }

  /** A project (undefined: anything at all) changed. */
  projectChanged(id: number | undefined): void {
    this.epoch++;
    if (id === undefined) this.allChanged = this.epoch;
    else this.projectChanges.set(id, this.epoch);
    for (const entry of this.mapEntries.values()) {
      void entry.state.then(
        (map) => map && (id === undefined || map.project.id === id) && this.retired(map),
        ignore,
      );
    }
  }

  /** A map (undefined: any map) changed. */
  mapChanged(id: number | undefined): void {
    this.epoch++;
    if (id === undefined) this.allChanged = this.epoch;
    else this.mapChanges.set(id, this.epoch);
    for (const entry of this.mapEntries.values()) {
      if (id === undefined || entry.id === id) this.retire(entry.state);
    }
  }

  private async current<State extends { readonly id: number; readonly revision: number }>(
    entries: LRUCache<string, Entry<State>>,
    key: string,
    source: {
      readonly load: () => Promise<State | undefined>;
      readonly changedAt: (id: number) => number;
      readonly revision: (id: number) => Promise<number | undefined>;
    },
  ): Promise<State | undefined> {
    const known = entries.get(key);
    if (known) {
      const state = await known.state;
      if (state && known.epoch >= this.allChanged && known.epoch >= source.changedAt(state.id)) {
        if (this.trusted()) return state;
        try {
          if ((await source.revision(state.id)) === state.revision) return state;
        } catch {
          // The database is away, so nothing can have been edited either.
          return state;
        }
      }
      if (entries.get(key) === known) entries.delete(key);
      // Somebody else may have begun to read it meanwhile.
      if (entries.get(key)) return this.current(entries, key, source);
    }
    const entry: Entry<State> = { epoch: this.epoch, state: source.load(), id: undefined };
    entries.set(key, entry);
    try {
      const state = await entry.state;
      if (!state) {
        // What does not exist may come into being unannounced under this key.
        if (entries.get(key) === entry) entries.delete(key);
        return undefined;
      }
      entry.id = state.id;
      return entry.epoch >= source.changedAt(state.id) && entry.epoch >= this.allChanged
        ? state
        : this.current(entries, key, source);
    } catch (error) {
      if (entries.get(key) === entry) entries.delete(key);
      throw error;
    }
  }

  private retire(state: Promise<MapState | undefined>): void {
    void state.then((map) => map && this.retired(map), ignore);
  }

  private async revision(table: "project" | "map", id: number): Promise<number | undefined> {
    const [row] = await this.db.query<{ revision: number }>(`select revision from ${table} where id = $1`, [
      id,
    ]);
    return row?.revision;
  }
}

const ignore = (): void => undefined;
