/** A project, as operators see it. */
export interface InstallationProject {
  readonly code: string;
  readonly name: string;
  readonly languages: readonly string[];
  readonly maps: number;
  readonly layers: number;
  readonly users: number;
  /** Logins, some if there are many. */
  readonly administrators: readonly string[];
  readonly bytes: number | null;
  readonly most_bytes: number | null;
}
