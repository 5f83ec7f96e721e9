import type { Locale } from "../attributes.js";
import type { MapServer, ProjectInfo } from "../map-server.js";
import type { Edits } from "./edits.js";
import type { RightsPlace } from "./people/effective.js";

/** What the part for people and keys has of the console. */

export interface PeopleParts {
  readonly server: MapServer;
  readonly edits: Edits;
  readonly locale: Locale;
  readonly root: HTMLElement;
}
/** What it is opened for. */
export interface PeopleOf {
  readonly project: ProjectInfo;
  /** Of who has opened it. */
  readonly login: string;
  /** Codes of a map, or of a layer of it, of which to show who sees it; default: all maps. */
  readonly place?: RightsPlace;
}
export interface PeopleEvents {
  closed(): void;
  /** Who has opened it may do something else now. */
  ownRightsChanged(): void;
}
