import type { Invitation } from "./invitation.js";
import { type MapServer, type ProjectInfo, rights } from "./map-server.js";
import { showSignInDialog } from "./sign-in.js";
import type { Translate } from "./texts.js";

/**
 * Lets somebody who was invited choose a password, and signs in.
 * @returns the console, for who edits there; undefined = on this page, signed in or not
 * @throws TypeError when the dialog cannot be loaded
 */
export async function welcome(
  context: { readonly server: MapServer; readonly t: Translate },
  invitation: Invitation,
): Promise<string | undefined> {
  const { server } = context;
  const { project } = invitation;
  const { choosePassword } = await import("./choose-password.js");
  const outcome = await choosePassword(context, invitation);
  if (outcome === "closed") return undefined;
  if (outcome === "signIn" && (await showSignInDialog(context, [], project)) !== project) return undefined;
  // What fails is told by the page that is shown then.
  const projects = await server.projects(project).catch(() => []);
  return consoleFor(projects.find(({ code }) => code === project));
}

const mayEdit = ({ access = 0 }: Partial<Pick<ProjectInfo, "access">>): boolean =>
  (access & rights.structure) !== 0;

/** For who may edit the project, or a map of it. */
function consoleFor(project: ProjectInfo | undefined): string | undefined {
  if (!project) return undefined;
  const { code, maps } = project;
  if (mayEdit(project)) return `console/#${new URLSearchParams({ project: code })}`;
  const map = maps.find(mayEdit);
  return map && `console/#${new URLSearchParams({ project: code, map: map.code })}`;
}
