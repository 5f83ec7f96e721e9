import type { Dialogs } from "../dialogs.js";
import type { Edits } from "../edits.js";
import { Frame } from "./frame.js";
import { projectsView } from "./projects-view.js";
import { stateView } from "./state-view.js";

/**
 * Opens the dialog of operators: the projects of the installation, and how it is.
 * @param project whose session is used
 */
export function openInstallation(dialogs: Dialogs, edits: Edits, project: string): void {
  const frame: Frame = new Frame(
    dialogs,
    (method, segments, body) =>
      edits.send(project, method, segments, { isInstallation: true, ...(body && { body }) }),
    (tab) => (tab === "projects" ? projectsView(frame) : stateView(frame)),
  );
  frame.go(projectsView(frame));
}
