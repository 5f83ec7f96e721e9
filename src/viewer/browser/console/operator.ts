import type { Edits } from "./edits.js";

/** Whether the user of a session is an operator, one of the installation's administrators. */
export class Operator {
  /** Whose session was asked about, and what the server has said. */
  private known:
    | { readonly login: string; readonly project: string; readonly isOperator: boolean }
    | undefined;

  constructor(private readonly edits: Edits) {}

  /** Whether that user is one, as far as is known. */
  is(login: string | undefined, project: string | undefined): boolean {
    const { known } = this;
    return known !== undefined && known.login === login && known.project === project && known.isOperator;
  }

  /** Asks the server, once for each user. @returns whether something else is known now */
  async look(login: string | undefined, project: string | undefined): Promise<boolean> {
    if (login === undefined || project === undefined) return false;
    if (this.known?.login === login && this.known.project === project) return false;
    const { operator } = await this.edits
      .send<{ operator: boolean }>(project, "GET", [], { isInstallation: true, isQuiet: true })
      // Whoever is one is told the next time.
      .catch(() => ({ operator: false }));
    this.known = { login, project, isOperator: operator };
    return operator;
  }
}
