import { button, h, icon } from "./dom.js";
import { type MapServer, type ProjectInfo, ServerError } from "./map-server.js";
import { passwordField } from "./password-field.js";
import type { Translate } from "./texts.js";

/** Whose session has ended in the middle of something. */
export interface SignInAgain {
  readonly login: string;
  readonly hint: string;
}

/** Shows the sign-in dialog. Resolves to the code of the project after signing in, or undefined when cancelled. */
export function showSignInDialog(
  context: { readonly server: MapServer; readonly t: Translate },
  projects: readonly ProjectInfo[],
  current: string | undefined,
  again?: SignInAgain,
): Promise<string | undefined> {
  const { server, t } = context;
  // A text field with suggestions, since projects without public maps are not listed.
  const project = h("input", {
    class: "field",
    id: "sign-in-project",
    name: "project",
    list: "sign-in-projects",
    value: current ?? "",
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    required: true,
  });
  const known = h("datalist", { id: "sign-in-projects" });
  for (const { code, name } of projects) known.append(h("option", { value: code }, name || code));
  const login = h("input", {
    class: "field",
    id: "sign-in-login",
    name: "username",
    value: again?.login ?? "",
    autocomplete: "username",
    autocapitalize: "none",
    spellcheck: "false",
    required: true,
  });
  const { field: password, element: shownPassword } = passwordField(t, {
    ...{ id: "sign-in-password", name: "password", autocomplete: "current-password" },
  });
  const problem = h("p", { class: "problem", role: "alert", id: "sign-in-problem" });
  const submit = h("button", { type: "submit", class: "button main wide" }, t("signIn"));
  const close = () => dialog.close();
  const form = h(
    "form",
    { class: "sign-in", novalidate: true },
    h(
      "div",
      { class: "dialog-header" },
      h("div", {}, h("h2", { id: "sign-in-title" }, t("signIn")), h("p", {}, again?.hint ?? t("signInHint"))),
      button({ class: "icon-button", "aria-label": t("close") }, close, icon("close")),
    ),
    h("label", { for: "sign-in-project" }, t("project")),
    project,
    known,
    h("label", { for: "sign-in-login" }, t("login")),
    login,
    h("label", { for: "sign-in-password" }, t("password")),
    shownPassword,
    problem,
    submit,
  );
  const dialog = h("dialog", { class: "card dialog", "aria-labelledby": "sign-in-title" }, form);
  let signedIn: string | undefined;
  const fail = (text: string, field: HTMLInputElement) => {
    problem.textContent = text;
    field.setAttribute("aria-describedby", problem.id);
    field.focus();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const code = project.value.trim();
    const missing = [project, login, password].find(({ value }) => value === "");
    if (missing) {
      fail(t("fillIn"), missing);
      return;
    }
    problem.textContent = "";
    submit.disabled = true;
    server
      .signIn(code, login.value, password.value)
      .then(() => {
        signedIn = code;
        dialog.close();
      })
      .catch((error: unknown) => {
        const failure = error instanceof ServerError ? error : new ServerError(500, undefined);
        const { status } = failure;
        const { retryAfterSeconds: seconds } = failure;
        if (status === 403 && seconds !== undefined)
          fail(t("tooManyAttempts", { n: Math.max(1, Math.ceil(seconds / 60)) }), password);
        else if (status === 403) fail(t("wrongPassword"), password);
        else if (failure.code === "project_not_found") fail(t("wrongPassword"), project);
        else fail(t(status === 0 ? "failedOffline" : status === 503 ? "busyServer" : "failedServer"), login);
      })
      .finally(() => {
        submit.disabled = false;
      });
  });
  // The content fills the dialog, so that events on the dialog itself are on its backdrop.
  dialog.addEventListener("pointerdown", (event) => {
    if (event.target === dialog) close();
  });
  document.body.append(dialog);
  dialog.showModal();
  (current === undefined ? project : login.value === "" ? login : password).focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(signedIn);
    });
  });
}
