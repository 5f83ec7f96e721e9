import { h } from "../../dom.js";
import type { Member, Role } from "./effective.js";
import type { Frame, View } from "./frame.js";
import { makeLink } from "./invitation-link.js";
import type { NewPerson } from "./people-store.js";
import { personView } from "./person-view.js";
import { roleTexts } from "./rights-cells.js";

/** Adds somebody to the project, who chooses a password by a link. */

export function addPersonView(frame: Frame, back: () => View): View {
  const { t, store } = frame;
  const login = h("input", {
    ...{ class: "field", id: "person-login", maxlength: "128", required: true },
    ...{ autocomplete: "off", autocapitalize: "none", spellcheck: "false" },
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
    h("p", { class: "hint" }, t("addPersonHint")),
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
      role: role.value as Role,
    };
    if (person.login === "") return refuse(t("fillIn"), login);
    if (store.members.some((one) => one.login === person.login)) return refuse(t("personKnown"), login);
    problem.textContent = "";
    submit.disabled = true;
    let added: Member | undefined;
    await frame.work(async () => {
      added = await store.add(person);
    });
    submit.disabled = false;
    if (!added) return;
    // What goes wrong with the link is told where there is another.
    frame.go(personView(frame, added.id, back));
    await makeLink(frame, added, { back, isNew: true });
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!submit.disabled) void add();
  });
  // Made once: what is written in it stays.
  return { tab: "people", title: t("addPerson"), back, render: () => [form] };
}
