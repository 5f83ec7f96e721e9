import { button, h, icon } from "../../dom.js";
import { sizeText } from "../../size-text.js";
import type { Frame, View } from "./frame.js";
import type { InstallationProject } from "./installation-project.js";
import { newProjectView } from "./new-project.js";
import { projectView } from "./project-view.js";

/** The projects of the installation, and what they take of the disks. */

export function projectsView(frame: Frame): View {
  const { t, parts } = frame;
  const { language } = parts.locale;
  let projects: readonly InstallationProject[] | undefined;
  void frame
    .ask<readonly InstallationProject[]>("GET", ["projects"])
    .then((found) => {
      projects = found;
    })
    .catch((error: unknown) => frame.tell(error))
    .finally(() => frame.render());
  const again = () => projectsView(frame);
  const number = (count: number) => new Intl.NumberFormat(language).format(count);

  const disk = ({ bytes, most_bytes }: InstallationProject) => {
    if (bytes === null) return [t("notMeasured")];
    const taken = sizeText(bytes, language);
    if (most_bytes === null) return [taken];
    const isFull = bytes >= most_bytes;
    return [
      t("ofMost", { taken, most: sizeText(most_bytes, language) }),
      h("meter", {
        ...{ class: "disk-meter", min: 0, max: most_bytes, value: bytes, high: most_bytes * 0.9 },
        "aria-label": t("diskUse"),
      }),
      ...(isFull ? [h("small", { class: "problem-text" }, t("projectFull"))] : []),
    ];
  };
  const row = (project: InstallationProject) => {
    const title = project.name || project.code;
    return h(
      "tr",
      { "data-project": project.code },
      h(
        "th",
        { scope: "row" },
        button(
          { class: "people-name", "data-key": `project-${project.code}` },
          () => frame.go(projectView(frame, project, again)),
          title,
        ),
        title !== project.code && h("small", {}, project.code),
      ),
      h(
        "td",
        { "data-title": t("maps") },
        number(project.maps),
        h("small", {}, t("nLayers", { n: project.layers })),
      ),
      h("td", { "data-title": t("peopleTab") }, number(project.users)),
      h("td", { "data-title": t("diskUse") }, ...disk(project)),
    );
  };

  return {
    tab: "projects",
    render: () => [
      h(
        "div",
        { class: "people-top" },
        h("p", { class: "hint" }, t("projectsIntro")),
        button(
          { class: "button", "data-key": "add" },
          () => frame.go(newProjectView(frame, again)),
          icon("plus"),
          t("newProject"),
        ),
      ),
      ...(projects === undefined
        ? []
        : [
            h(
              "table",
              { class: "people-table projects-table" },
              h("caption", { class: "visually-hidden" }, t("projects")),
              h(
                "thead",
                {},
                h(
                  "tr",
                  {},
                  ...(["project", "maps", "peopleTab", "diskUse"] as const).map((key) =>
                    h("th", { scope: "col" }, t(key)),
                  ),
                ),
              ),
              h("tbody", {}, ...projects.map(row)),
            ),
          ]),
    ],
  };
}
