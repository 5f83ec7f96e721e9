/** Sessions of this browser tab, one per project, in sessionStorage. Tokens are never part of the page's URL. */

export interface UserSession {
  readonly login: string;
  readonly token: string;
}

const storageKey = "mapwright.sessions";

/** The storage of this tab; undefined when the browser has it disabled. */
export function openStorage(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}

export class Sessions {
  private readonly byProject: Map<string, UserSession>;

  /** @param storage undefined = sessions are neither found nor kept */
  constructor(private readonly storage: Storage | undefined) {
    let stored: unknown;
    try {
      stored = JSON.parse(storage?.getItem(storageKey) ?? "[]");
    } catch {
      // Storage is disabled or its content is not valid: start without sessions.
    }
    this.byProject = new Map(Array.isArray(stored) ? (stored as [string, UserSession][]) : []);
  }

  of(project: string): UserSession | undefined {
    return this.byProject.get(project);
  }

  /** Codes of the projects that have a session. */
  projects(): string[] {
    return [...this.byProject.keys()];
  }

  put(project: string, session: UserSession): void {
    this.byProject.set(project, session);
    this.store();
  }

  /** @param token undefined = whatever it is; a session that was opened since stays */
  remove(project: string, token?: string): void {
    if (token !== undefined && this.of(project)?.token !== token) return;
    this.byProject.delete(project);
    this.store();
  }

  private store(): void {
    try {
      this.storage?.setItem(storageKey, JSON.stringify([...this.byProject]));
    } catch {
      // Without storage sessions end with the page.
    }
  }
}
