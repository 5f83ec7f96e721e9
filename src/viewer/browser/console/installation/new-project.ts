import { h } from "../../dom.js";
import { dayOf, type Invitation, invitationAddress } from "../invitation-address.js";
import { copyLines } from "../people/copy-lines.js";
import type { Frame, View } from "./frame.js";
import { mostDisk } from "./most-disk.js";

/** Makes a project with its first administrator, and shows the link by which that one chooses a password. */

interface Made {
  readonly code: string;
  readonly name: string;
  readonly invitation: Invitation;
}

/** As the server has it. */
const languagePattern = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/;

const field = (id: string, more: Readonly<Record<string, string>> = {}) =>
  h("input", {
    ...{
      class: "field",
      id,
      required: true,
      autocomplete: "off",
      autocapitalize: "none",
      spellcheck: "false",
    },
    ...more,
  });

export function newProjectView(frame: Frame, back: () => View): View {
  const { t, parts } = frame;
  const name = field("new-project-name", { maxlength: "200", autocapitalize: "sentences" });
  const code = field("new-project-code", { maxlength: "64", "aria-describedby": "new-project-code-hint" });
  const login = field("new-project-login", {
    maxlength: "128",
    "aria-describedby": "new-project-login-hint",
  });
  const languages = field("new-project-languages", {
    value: parts.locale.language,
    "aria-describedby": "new-project-languages-hint",
  });
  const most = mostDisk(t, null);
  const problem = h("p", { class: "problem", role: "alert" });
  const submit = h("button", { type: "submit", class: "button main" }, t("makeProject"));
  const form = h(
    "form",
    { class: "people-form", novalidate: true },
    ...[h("label", { for: "new-project-name" }, t("projectTitle")), name],
    ...[h("label", { for: "new-project-code" }, t("projectCode")), code],
    h("p", { class: "hint", id: "new-project-code-hint" }, t("projectCodeHint")),
    ...[h("label", { for: "new-project-languages" }, t("languagesOfNames")), languages],
    h("p", { class: "hint", id: "new-project-languages-hint" }, t("languagesHint")),
    ...[h("label", { for: "new-project-login" }, t("firstAdmin")), login],
    h("p", { class: "hint", id: "new-project-login-hint" }, t("firstAdminHint")),
    ...most.elements,
    problem,
    h("div", { class: "dialog-actions" }, submit),
  );
  const refuse = (text: string, control: HTMLElement) => {
    problem.textContent = text;
    control.focus();
  };
  const make = async () => {
    const bytes = most.read();
    for (const control of [name, code, languages, login])
      if (control.value.trim() === "") return refuse(t("fillIn"), control);
    if (!/^[\w-]{1,64}$/.test(code.value.trim())) return refuse(t("projectCodeHint"), code);
    const codes = languages.value
      .trim()
      .split(/[\s,;]+/)
      .map((code) => code.replace(/^[A-Z]+/, (upper) => upper.toLowerCase()));
    if (!codes.every((code) => languagePattern.test(code))) return refuse(t("languagesHint"), languages);
    if (bytes === undefined) return refuse(t("mostDiskHint"), most.input);
    problem.textContent = "";
    submit.disabled = true;
    let made: Made | undefined;
    await frame.work(async () => {
      made = await frame.ask<Made>("POST", ["projects"], {
        ...{
          code: code.value.trim(),
          name: name.value.trim(),
          languages: codes,
        },
        ...{ administrator: login.value.trim(), most_bytes: bytes },
      });
    });
    submit.disabled = false;
    // It was pressed, and lost the focus as it was disabled.
    if (!made && !form.contains(document.activeElement)) submit.focus();
    if (made) frame.go(madeView(frame, made, login.value.trim(), back));
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!submit.disabled) void make();
  });
  // Made once: what is written in it stays.
  return { tab: "projects", title: t("newProject"), back, render: () => [form] };
}

function madeView(frame: Frame, { code, name, invitation }: Made, login: string, back: () => View): View {
  const { t, parts } = frame;
  const date = dayOf(parts.locale, invitation.expires);
  const shown = [
    h("p", {}, t("projectMade", { name, login, date })),
    copyLines(frame, { text: invitationAddress(code, invitation), label: t("projectLink"), rows: 3 }),
  ];
  return { tab: "projects", title: name, back, render: () => shown };
}
