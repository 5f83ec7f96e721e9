import { type MapId, type MapInfo, type ProjectInfo, rights } from "../map-server.js";

export const keyOf = ({ project, map }: MapId): string => `${project}/${map}`;
export const isSame = (one: MapId | undefined, other: MapId): boolean =>
  one?.project === other.project && one.map === other.map;

/** What the console works on, and what its user may do there. Does not depend on the DOM. */
export class Workplace {
  projects: readonly ProjectInfo[] = [];
  projectCode: string | undefined;
  /** The map that is open. */
  mapId: MapId | undefined;

  get project(): ProjectInfo | undefined {
    return this.projects.find(({ code }) => code === this.projectCode);
  }

  /** The open map, as the list of maps has it. */
  get listed(): MapInfo | undefined {
    return this.project?.maps.find(({ code }) => code === this.mapId?.map);
  }

  /** What the open map is called. */
  get title(): string | undefined {
    return this.mapId && (this.listed?.name || this.mapId.map);
  }

  /** Whether the user may edit in the project, or in a map of it: rights may be for one map only. */
  mayEdit(map: string | undefined): boolean {
    const listed = this.project?.maps.find(({ code }) => code === map);
    return ((listed?.access ?? this.project?.access ?? 0) & rights.structure) !== 0;
  }

  /** Whether there is anything in the project that the user may edit. */
  get mayEditAnything(): boolean {
    return this.mayEdit(undefined) || (this.project?.maps.some(({ code }) => this.mayEdit(code)) ?? false);
  }

  get mayAdminister(): boolean {
    return ((this.project?.access ?? 0) & rights.administer) !== 0;
  }
}
