import { type ChangeCount, type Source, unchangedSince } from "../changes/count.js";
import { type DatabaseHistory, historySql } from "../changes/history.js";
import { failed, notFound } from "../errors.js";
import type { Slices } from "../queues/slices.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { estimateBytes } from "./estimate-bytes.js";
import { loadMap, loadProject } from "./load.js";
import { type Snapshot, Snapshots } from "./snapshots.js";
import type { MapState, ProjectState } from "./state.js";

/** The catalogue of a node: snapshots of projects and maps, read on demand and cached while they are current. */
export interface Catalog {
  /** @throws Failure project_not_found */
  project(code: string): Promise<ProjectState>;
  /** @throws Failure project_not_found, not_found */
  map(projectCode: string, mapCode: string): Promise<MapState>;
  /** As `map`, but also finds maps of hidden projects, which are internal, such as that of the base map. */
  ownMap(projectCode: string, mapCode: string): Promise<MapState>;
  /** As `project` and `map`, but always checked against the database. */
  projectNow(code: string): Promise<ProjectState>;
  mapNow(projectCode: string, mapCode: string): Promise<MapState>;
  /** Whether no change of a map that it gave was announced. */
  isCurrent(map: MapState): boolean;
}

/** Sources of a map snapshot. */
interface Origin {
  readonly sources: readonly Source[];
  /** The change count at which the snapshot was current. */
  readonly asOf: number;
}

/** The part of the change log that the catalogue uses. */
export interface CatalogChanges {
  readonly trusted: boolean;
  /** Whether the database still has the known history; if not, all known versions are dropped. */
  hasKnownHistory(database: DatabaseHistory): Promise<boolean>;
  /** @throws what the query throws; Error when it takes long while changes may have been missed */
  askBriefly<T>(query: () => Promise<T>): Promise<T>;
  /** @throws Failure busy when changes may have been missed; `cause` is why the database could not be queried */
  requireNoMissedChanges(cause: unknown): Promise<void>;
}

export interface CatalogOptions {
  readonly db: Database;
  /** Alias of svc_id; "" = none. */
  readonly idAlias: string;
  readonly count: ChangeCount;
  readonly changes: () => CatalogChanges;
  readonly slices: Slices;
  /** Cache size for maps; projects get another quarter of it. */
  readonly bytes: number;
}

interface RevisionRow extends DatabaseHistory {
  readonly revision: number | null;
}

export class CatalogCache implements Catalog {
  private readonly projectSnapshots: Snapshots<ProjectState>;
  private readonly mapSnapshots: Snapshots<MapState>;
  private readonly origins = new WeakMap<MapState, Origin>();

  constructor(private readonly options: CatalogOptions) {
    const { count, bytes } = options;
    const trusted = () => options.changes().trusted;
    this.projectSnapshots = new Snapshots<ProjectState>({
      count,
      bytes: Math.ceil(bytes / 4),
      bytesOf: estimateBytes,
      isPinned: ({ hidden }) => hidden,
      trusted,
      isUnchanged: (project) => this.isUnchanged("project", project),
    });
    this.mapSnapshots = new Snapshots<MapState>({
      count,
      bytes,
      // Layers and children refer to the nodes, and the project is shared.
      bytesOf: ({ project: _project, layers, children, ...own }) =>
        estimateBytes(own) + 100 * (layers.size + children.size),
      isPinned: ({ project }) => project.hidden,
      trusted,
      isUnchanged: (map) => this.isUnchanged("map", map),
    });
  }

  async project(code: string): Promise<ProjectState> {
    const { state } = await this.anyProject(code);
    if (state.hidden) throw noProject(code);
    return state;
  }

  private async anyProject(code: string): Promise<Snapshot<ProjectState>> {
    const { db } = this.options;
    const found = await this.projectSnapshots.get(code, () => loadProject(db, code));
    if (!found) throw noProject(code);
    return found;
  }

  async map(projectCode: string, mapCode: string): Promise<MapState> {
    const project = await this.anyProject(projectCode);
    if (project.state.hidden) throw noProject(projectCode);
    return this.mapOf(project, mapCode);
  }

  async ownMap(projectCode: string, mapCode: string): Promise<MapState> {
    return this.mapOf(await this.anyProject(projectCode), mapCode);
  }

  private async mapOf(project: Snapshot<ProjectState>, mapCode: string): Promise<MapState> {
    const { db, idAlias, count, slices } = this.options;
    const { state } = project;
    const key = `${state.code}/${mapCode}`;
    const found = await this.mapSnapshots.get(key, () => loadMap(db, state, mapCode, { idAlias, slices }));
    // The project may have changed while the map was read, and the map since.
    if (!this.projectSnapshots.isCurrent(project) || (found && !this.mapSnapshots.isCurrent(found)))
      return this.ownMap(state.code, mapCode);
    // The cached map may belong to an earlier project with the same code.
    if (!found || found.state.project.id !== state.id) throw notFound(`map "${mapCode}"`);
    const map = found.state;
    if (map.project !== state) {
      // An older map may have layers that were deleted, with their grants, before this project was read.
      this.mapSnapshots.drop(key);
      return this.ownMap(state.code, mapCode);
    }
    if (!this.origins.has(map)) {
      const sources = [count.everything, project.source, found.source];
      this.origins.set(map, { sources, asOf: count.now });
    }
    return map;
  }

  async projectNow(code: string): Promise<ProjectState> {
    const project = await this.project(code);
    if (await this.isUnchanged("project", project)) return project;
    this.projectSnapshots.changed(project.id);
    return this.project(code);
  }

  async mapNow(projectCode: string, mapCode: string): Promise<MapState> {
    const map = await this.map(projectCode, mapCode);
    return (await this.isUnchangedInDatabase(map)) ? map : this.map(projectCode, mapCode);
  }

  /** Sources of a snapshot that `map` or `ownMap` returned. */
  sourcesOf(map: MapState): readonly Source[] {
    return this.origins.get(map)?.sources ?? [];
  }

  isCurrent(map: MapState): boolean {
    const origin = this.origins.get(map);
    return origin !== undefined && unchangedSince(origin.sources, origin.asOf);
  }

  /** Whether the snapshot equals the database's map and project. If not, it is dropped from the cache. */
  async isUnchangedInDatabase(map: MapState): Promise<boolean> {
    if (!this.isCurrent(map)) return false;
    const [project, own] = await Promise.all([
      this.isUnchanged("project", map.project),
      this.isUnchanged("map", map),
    ]);
    if (!project) this.projectSnapshots.changed(map.project.id);
    if (!own) this.mapSnapshots.changed(map.id);
    return project && own;
  }

  /** A project changed; undefined = any project or map. */
  projectChanged(id: number | undefined): void {
    this.projectSnapshots.changed(id);
    if (id === undefined) this.mapSnapshots.changed(undefined);
  }

  /** A map changed; undefined = any map. */
  mapChanged(id: number | undefined): void {
    this.mapSnapshots.changed(id);
  }

  private async isUnchanged(
    table: "project" | "map",
    { id, revision }: { readonly id: number; readonly revision: number },
  ): Promise<boolean> {
    const { db } = this.options;
    const changes = this.options.changes();
    let row: RevisionRow | undefined;
    try {
      [row] = await changes.askBriefly(() =>
        db.query<RevisionRow>(
          `select t.revision, ${historySql} from epoch e left join ${table} t on t.id = $1`,
          [id],
        ),
      );
    } catch (error) {
      await changes.requireNoMissedChanges(error);
      return true;
    }
    return row?.revision === revision && (await changes.hasKnownHistory(row));
  }
}

/** The catalogue within a transaction, without a cache. */
export class CatalogReader implements Catalog {
  constructor(
    private readonly db: Queryable,
    private readonly idAlias: string,
  ) {}

  async project(code: string): Promise<ProjectState> {
    const project = await this.anyProject(code);
    if (project.hidden) throw noProject(code);
    return project;
  }

  private async anyProject(code: string): Promise<ProjectState> {
    const project = await loadProject(this.db, code);
    if (!project) throw noProject(code);
    return project;
  }

  async map(projectCode: string, mapCode: string): Promise<MapState> {
    return this.mapOf(await this.project(projectCode), mapCode);
  }

  async ownMap(projectCode: string, mapCode: string): Promise<MapState> {
    return this.mapOf(await this.anyProject(projectCode), mapCode);
  }

  private async mapOf(project: ProjectState, mapCode: string): Promise<MapState> {
    const map = await loadMap(this.db, project, mapCode, { idAlias: this.idAlias });
    if (!map) throw notFound(`map "${mapCode}"`);
    return map;
  }

  projectNow(code: string): Promise<ProjectState> {
    return this.project(code);
  }

  mapNow(projectCode: string, mapCode: string): Promise<MapState> {
    return this.map(projectCode, mapCode);
  }

  isCurrent(): boolean {
    return true;
  }
}

const noProject = (code: string) => failed("project_not_found", `There is no project "${code}".`);
