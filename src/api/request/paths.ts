import type { ProjectState } from "../../catalog/state.js";
import type { Request } from "../../http/types.js";

/** Paths of resources, for routes and links. */

/** Base path of the API. */
export const apiPath = "/api/2.8";
export const projectPath = `${apiPath}/:project`;
export const mapPath = `${projectPath}/:map`;
export const layerPath = `${mapPath}/layers/:layer`;

/** Presentation options of a request. */
export interface View {
  /** Language of names. */
  readonly language: string;
  /** Path of the project in links, with the installation's path prefix. */
  readonly path: string;
}

export function viewOf(request: Request, project: ProjectState): View {
  return {
    language: request.query.get("lng") || project.languages[0],
    path: `${prefixOf(request.baseUrl)}${apiPath}/${project.code}`,
  };
}

/** The view with a language of the project: unknown ones are shown as the main one, and share what is kept of it. */
export const knownView = (view: View, { languages }: ProjectState): View =>
  languages.includes(view.language) ? view : { ...view, language: languages[0] };

/** The path of a public URL: https://maps.example.org/geo → /geo. */
export const prefixOf = (baseUrl: string): string => baseUrl.replace(/^https?:\/\/[^/]*/, "");
