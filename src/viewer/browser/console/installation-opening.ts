import type { Edits } from "./edits.js";
import type { Ask, InstallationParts } from "./installation-parts.js";
import { loadStyles } from "./late-styles.js";

/** What operators see of the installation. What shows it is loaded when it is first opened. */
export class InstallationOpening {
  private isOpening = false;
  /** Whose session was asked about, and what the server has said. */
  private known:
    | { readonly login: string; readonly project: string; readonly isOperator: boolean }
    | undefined;

  constructor(private readonly parts: InstallationParts) {}

  /** Whether that user is an operator, as far as is known. */
  isOperator(login: string | undefined, project: string | undefined): boolean {
    const { known } = this;
    return known !== undefined && known.login === login && known.project === project && known.isOperator;
  }

  /** Asks the server, once for each user. @returns whether something else is known now */
  async look(login: string | undefined, project: string | undefined): Promise<boolean> {
    if (login === undefined || project === undefined) return false;
    if (this.known?.login === login && this.known.project === project) return false;
    const { operator } = await this.parts.edits
      .send<{ operator: boolean }>(project, "GET", [], { isInstallation: true, isQuiet: true })
      // Whoever is one is told the next time.
      .catch(() => ({ operator: false }));
    this.known = { login, project, isOperator: operator };
    return operator;
  }

  async open(project: string): Promise<void> {
    if (this.isOpening) return;
    this.isOpening = true;
    const { edits, toasts, locale } = this.parts;
    try {
      const styled = loadStyles("people");
      const { openInstallation } = await import("./installation/installation.js");
      await styled;
      openInstallation(this.parts, askOf(edits, project));
    } catch {
      toasts.show(locale.t("toolFailed"), "bad");
    } finally {
      this.isOpening = false;
    }
  }
}

const askOf =
  (edits: Edits, project: string): Ask =>
  (method, segments, body) =>
    edits.send(project, method, segments, { isInstallation: true, ...(body && { body }) });
