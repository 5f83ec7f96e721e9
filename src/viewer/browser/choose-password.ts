import { button, h, icon } from "./dom.js";
import type { Invitation } from "./invitation.js";
import { isServerError, type MapServer } from "./map-server.js";
import { passwordField } from "./password-field.js";
import type { Translate } from "./texts.js";

/** The dialog in which somebody who was invited chooses a password. It is loaded when somebody was. */

const fewestCharacters = 8;
const mostBytes = 1_024;

/** As the server has it. */
const isGood = (password: string, login: string): boolean =>
  [...password].length >= fewestCharacters &&
  new TextEncoder().encode(password).length <= mostBytes &&
  password.toLowerCase() !== login.toLowerCase();

const statusOf = (error: unknown): number => (isServerError(error) ? error.status : 500);

/** Whether the server says that there is no such invitation, or no such project any more. */
const isOver = (error: unknown): boolean =>
  isServerError(error) &&
  ((error.status === 403 && error.retryAfterSeconds === undefined) || error.code === "project_not_found");

function failureText(error: unknown, t: Translate): string {
  const seconds = isServerError(error) ? error.retryAfterSeconds : undefined;
  const status = statusOf(error);
  if (status === 403 && seconds !== undefined)
    return t("tooManyAttempts", { n: Math.max(1, Math.ceil(seconds / 60)) });
  return t(status === 0 ? "failedOffline" : status === 503 ? "busyServer" : "failedServer");
}

export interface PasswordParts {
  readonly server: MapServer;
  readonly t: Translate;
}

/** `signIn` = the reader has a password and wants to be asked for it. */
export type PasswordOutcome = "closed" | "signedIn" | "signIn";

/** Lets the reader choose a password, and signs in. */
export const choosePassword = (parts: PasswordParts, invitation: Invitation): Promise<PasswordOutcome> =>
  new PasswordDialog(parts, invitation).outcome;

class PasswordDialog {
  private readonly dialog = h("dialog", { class: "card dialog", "aria-labelledby": "invitation-title" });
  readonly outcome: Promise<PasswordOutcome>;
  private ended: PasswordOutcome = "closed";

  constructor(
    private readonly parts: PasswordParts,
    private readonly invitation: Invitation,
  ) {
    document.body.append(this.dialog);
    this.outcome = new Promise((resolve) => {
      this.dialog.addEventListener("close", () => {
        this.dialog.remove();
        resolve(this.ended);
      });
    });
    void this.look();
  }

  private end(how: PasswordOutcome): void {
    this.ended = how;
    this.dialog.close();
  }

  /** Finds out whom the invitation is for before anything is asked. */
  private async look(): Promise<void> {
    const { server, t } = this.parts;
    const { project, secret } = this.invitation;
    try {
      this.ask(await server.invited(project, secret));
    } catch (error) {
      if (isOver(error)) this.tellOver();
      else this.tell(t("choosePassword"), failureText(error, t), t("retry"), () => void this.look());
    }
  }

  private tellOver(): void {
    const { t } = this.parts;
    const text = t("invitationOverText", { project: this.invitation.project });
    this.tell(t("invitationOver"), text, t("signIn"), () => this.end("signIn"));
  }

  private tell(title: string, text: string, action: string, press: () => void): void {
    const main = button({ class: "button main wide" }, press, action);
    this.show(h("div", { class: "sign-in" }, this.header(title, text), main), main);
  }

  private show(content: HTMLElement, focused: HTMLElement): void {
    this.dialog.replaceChildren(content);
    if (!this.dialog.open) this.dialog.showModal();
    focused.focus();
  }

  private header(title: string, text: string): HTMLElement {
    const close = button(
      { class: "icon-button", "aria-label": this.parts.t("close") },
      () => this.end("closed"),
      icon("close"),
    );
    return h(
      "div",
      { class: "dialog-header" },
      h("div", {}, h("h2", { id: "invitation-title" }, title), h("p", {}, text)),
      close,
    );
  }

  private ask(login: string): void {
    const { t } = this.parts;
    const { field, element } = passwordField(t, {
      ...{ id: "new-password", name: "new-password", autocomplete: "new-password" },
      "aria-describedby": "new-password-rule new-password-problem",
    });
    const problem = h("p", { class: "problem", role: "alert", id: "new-password-problem" });
    const rule = h("p", { class: "hint", id: "new-password-rule" }, t("passwordRule"));
    const submit = h("button", { type: "submit", class: "button main wide" }, t("savePassword"));
    const text = t("choosePasswordFor", { project: this.invitation.project });
    const form = h(
      "form",
      { class: "sign-in", novalidate: true },
      this.header(t("choosePassword"), text),
      h("label", { for: "invited-login" }, t("login")),
      // Not typed, but password managers keep it with the password.
      h("input", {
        ...{ class: "field", id: "invited-login", name: "username", autocomplete: "username" },
        value: login,
        readonly: true,
      }),
      h("label", { for: "new-password" }, t("password")),
      element,
      rule,
      problem,
      submit,
    );
    const refuse = (told: string) => {
      problem.textContent = told;
      rule.hidden = told === t("passwordRule");
      field.focus();
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (submit.disabled) return;
      if (!isGood(field.value, login)) return refuse(t("passwordRule"));
      problem.textContent = "";
      rule.hidden = false;
      submit.disabled = true;
      this.save(login, field.value)
        .then(
          () => this.end("signedIn"),
          (error: unknown) => {
            if (isOver(error)) this.tellOver();
            else refuse(failureText(error, t));
          },
        )
        .finally(() => {
          submit.disabled = false;
        });
    });
    this.show(form, field);
  }

  /** Also when it was saved before, and only the answer was lost. @throws ServerError */
  private async save(login: string, password: string): Promise<void> {
    const { server } = this.parts;
    const { project, secret } = this.invitation;
    const refused = await server.invited(project, secret, password).then(
      () => undefined,
      (error: unknown) => {
        if (!isOver(error)) throw error;
        return error;
      },
    );
    await server.signIn(project, login, password).catch((error: unknown) => {
      throw refused !== undefined && statusOf(error) === 403 ? refused : error;
    });
  }
}
