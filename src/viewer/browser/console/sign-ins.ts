import type { Locale } from "../attributes.js";
import type { MapServer } from "../map-server.js";
import type { Sessions } from "../sessions.js";
import { showSignInDialog } from "../sign-in.js";
import type { Workplace } from "./workplace.js";

export interface SignInParts {
  readonly place: Workplace;
  readonly server: MapServer;
  readonly sessions: Sessions;
  readonly locale: Locale;
}

/** Who works here: asks to sign in, at first and when a session has ended in the middle of something. */
export class SignIns {
  /** The login that was used last. */
  private last = "";

  constructor(private readonly parts: SignInParts) {}

  /** Of the open project; undefined = nobody is signed in. */
  get login(): string | undefined {
    const { place, sessions } = this.parts;
    const login = place.projectCode === undefined ? undefined : sessions.of(place.projectCode)?.login;
    if (login !== undefined) this.last = login;
    return login;
  }

  /** As long as nobody else signs in: also when the session has ended. */
  get lastLogin(): string {
    return this.login ?? this.last;
  }

  /** @returns the project that somebody has signed in to; undefined = the user does not want to */
  ask(project: string | undefined, hint?: string): Promise<string | undefined> {
    const { server, locale, place } = this.parts;
    const { t } = locale;
    const again = { login: this.last, hint: hint ?? t("consoleSignIn") };
    return showSignInDialog({ server, t }, place.projects, project, again);
  }

  /** In the middle of something, which goes on afterwards. */
  async again(project: string): Promise<boolean> {
    this.parts.sessions.remove(project);
    return (await this.ask(project, this.parts.locale.t("consoleSignInAgain"))) === project;
  }
}
