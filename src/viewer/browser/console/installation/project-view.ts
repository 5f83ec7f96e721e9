import { h } from "../../dom.js";
import type { Frame, View } from "./frame.js";
import type { InstallationProject } from "./installation-project.js";
import { mostDisk } from "./most-disk.js";

/** The title and the limit of a project. */
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
  return { tab: "projects", title: project.name || project.code, back, render: () => [form] };
}
