import type { Ask, InstallationParts } from "../installation-parts.js";
import { Frame } from "./frame.js";
import { projectsView } from "./projects-view.js";
import { stateView } from "./state-view.js";

/** Opens the dialog of operators: the projects of the installation, and how it is. */
export function openInstallation(parts: InstallationParts, ask: Ask): void {
  const frame: Frame = new Frame(parts, ask, (tab) =>
    tab === "projects" ? projectsView(frame) : stateView(frame),
  );
  frame.go(projectsView(frame));
}
