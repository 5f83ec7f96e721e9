import type { MapState, ProjectState } from "./state.js";

/** The catalogue as this node sees it: current snapshots of projects and maps, read on demand and kept while they are current. */
export interface Catalog {
  /** @throws Failure project_not_found */
  project(code: string): Promise<ProjectState>;
  /** @throws Failure project_not_found, not_found */
  map(projectCode: string, mapCode: string): Promise<MapState>;
  /** Every project that is not hidden. */
  projects(): Promise<readonly ProjectState[]>;
}
