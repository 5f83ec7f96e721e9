import { button, h } from "../../dom.js";
import { confirmed } from "../confirmed.js";
import { dayOf, type Invitation, invitationAddress } from "../invitation-address.js";
import { copyLines } from "../people/copy-lines.js";
import type { Frame, View } from "./frame.js";
import type { InstallationProject } from "./installation-project.js";
import { mostDisk } from "./most-disk.js";

/** The title and the limit of a project, and links for administrators who cannot sign in. */
export function projectView(frame: Frame, project: InstallationProject, back: () => View): View {
  const { t } = frame;
  const name = h("input", {
    ...{ class: "field", id: "project-name", value: project.name, maxlength: "200", autocomplete: "off" },
  });
  const most = mostDisk(t, project.most_bytes);
  const problem = h("p", { class: "problem", role: "alert" });
  const form = h(
    "form",
    { class: "people-form", novalidate: true },
    h("label", { for: "project-name" }, t("projectTitle")),
    name,
    ...most.elements,
    problem,
    h("div", { class: "dialog-actions" }, h("button", { type: "submit", class: "button main" }, t("save"))),
  );
  const save = async () => {
    const bytes = most.read();
    if (bytes === undefined) {
      problem.textContent = t("mostDiskHint");
      return most.input.focus();
    }
    const title = name.value.trim();
    problem.textContent = "";
    const body = {
      ...(title !== "" && title !== project.name && { name: title }),
      ...(bytes !== project.most_bytes && { most_bytes: bytes }),
    };
    const isDone = await frame.work(async () => {
      await frame.ask("PATCH", ["projects", project.code], body);
    });
    if (!isDone) return;
    frame.go(back());
    frame.say(t("objectSaved"));
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void save();
  });
  const here: View = {
    ...{ tab: "projects", title: project.name || project.code, back },
    render: () => [form, administrators(frame, project, () => here)],
  };
  return here;
}

function administrators(frame: Frame, project: InstallationProject, back: () => View): HTMLElement {
  const { t } = frame;
  const row = (name: string) =>
    h(
      "li",
      {},
      h("span", { class: "administrator-login" }, name),
      button(
        { class: "button", "aria-label": `${t("newLink")}: ${name}` },
        () => void newLink(frame, project, name, back),
        t("newLink"),
      ),
    );
  return h(
    "section",
    { class: "administrators", "aria-labelledby": "administrators-title" },
    h("h3", { id: "administrators-title" }, t("administrators")),
    h("p", { class: "hint" }, t("administratorsHint")),
    h("ul", {}, ...project.administrators.map(row)),
  );
}

async function newLink(
  frame: Frame,
  { code }: InstallationProject,
  name: string,
  back: () => View,
): Promise<void> {
  const { t, parts } = frame;
  const texts = {
    title: t("newLinkTitle", { name }),
    text: t("newLinkText", { name }),
    action: t("newLink"),
  };
  if (!(await confirmed(parts, texts))) return;
  let made: Invitation | undefined;
  await frame.work(async () => {
    const answer = await frame.ask<{ readonly invitation: Invitation }>("PATCH", ["projects", code], {
      administrator: name,
    });
    made = answer.invitation;
  });
  if (!made) return;
  const shown = [
    h("p", {}, t("linkMade", { name, date: dayOf(parts.locale, made.expires) })),
    copyLines(frame, { text: invitationAddress(code, made), label: t("linkFor", { name }), rows: 3 }),
  ];
  frame.go({ tab: "projects", title: t("linkFor", { name }), back, render: () => shown });
}
