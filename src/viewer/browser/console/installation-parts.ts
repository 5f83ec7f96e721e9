import type { Toasts } from "../toasts.js";
import type { PeopleParts } from "./people-parts.js";

/** What the part for operators has of the console. */
export interface InstallationParts extends PeopleParts {
  readonly toasts: Toasts;
}

/** Asks the server about the installation, in the session of a project. @throws ServerError */
export type Ask = <T>(method: string, segments: readonly string[], body?: object) => Promise<T>;
