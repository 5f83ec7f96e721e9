import { h } from "../../dom.js";
import { copyLines } from "./copy-lines.js";
import type { Role } from "./effective.js";
import type { Frame, View } from "./frame.js";
import type { NewPerson } from "./people-store.js";
import { roleTexts } from "./rights-cells.js";

/** Adds somebody to the project, and shows once what the person needs to sign in. */

/** No letters and digits that look alike, in groups that can be read out. */
const letters = "abcdefghjkmnpqrstuvwxyz23456789";
const newPassword = (): string =>
  Array.from({ length: 4 }, () =>
    Array.from(crypto.getRandomValues(new Uint32Array(4)), (number) => letters[number % letters.length]).join(
      "",
    ),
  ).join("-");

export function addPersonView(frame: Frame, back: () => View): View {
  const { t, store } = frame;
  const field = (id: string, more: Readonly<Record<string, string | boolean>> = {}) =>
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
  const login = field("person-login", { maxlength: "128" });
  const password = field("person-password", {
    value: newPassword(),
    "aria-describedby": "person-password-hint",
  });
  const role = h(
    "select",
    { class: "field", id: "person-role" },
    ...(["viewer", "editor", "admin"] as const).map((value) => h("option", { value }, t(roleTexts[value]))),
  );
  const submit = h("button", { type: "submit", class: "button main" }, t("addPerson"));
  const problem = h("p", { class: "problem", role: "alert" });
  const form = h(
    "form",
    { class: "people-form", novalidate: true },
    h("label", { for: "person-login" }, t("login")),
    login,
    h("label", { for: "person-role" }, t("personRole")),
    role,
    h("label", { for: "person-password" }, t("personPassword")),
    password,
    h("p", { class: "hint", id: "person-password-hint" }, t("personPasswordHint")),
    problem,
    h("div", { class: "dialog-actions" }, submit),
  );
  const refuse = (text: string, control: HTMLElement) => {
    problem.textContent = text;
    control.focus();
  };
  const add = async () => {
    const person: NewPerson = {
      login: login.value.trim(),
      password: password.value,
      role: role.value as Role,
    };
    if (person.login === "") return refuse(t("fillIn"), login);
    if (store.members.some((one) => one.login === person.login)) return refuse(t("personKnown"), login);
    if (person.password.length < 8) return refuse(t("personPasswordHint"), password);
    problem.textContent = "";
    submit.disabled = true;
    const isDone = await frame.work(async () => {
      await store.add(person);
    });
    submit.disabled = false;
    if (isDone) frame.go(addedView(frame, person, back));
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!submit.disabled) void add();
  });
  // Made once: what is written in it stays.
  return { tab: "people", title: t("addPerson"), back, render: () => [form] };
}

function addedView(frame: Frame, { login, password }: NewPerson, back: () => View): View {
  const { t, store } = frame;
  const page = new URL("./", document.baseURI);
  page.hash = `project=${encodeURIComponent(store.of.project.code)}`;
  const lines = [page.href, `${t("login")}: ${login}`, `${t("password")}: ${password}`].join("\n");
  const shown = copyLines(frame, { text: lines, label: t("personAdded", { name: login }), rows: 3 });
  return {
    tab: "people",
    title: login,
    back,
    render: () => [h("p", {}, t("personAdded", { name: login })), shown],
  };
}
