import type { ProjectState } from "../../catalog/state.js";
import type { Request } from "../../http/types.js";

/** Paths of resources, in the table of routes and in links. */

/** Where addresses of resources begin: version and project follow. */
export const apiPath = "/api/2.8";
export const projectPath = `${apiPath}/:project`;
export const mapPath = `${projectPath}/:map`;
export const layerPath = `${mapPath}/layers/:layer`;

/** How a request wants things shown. */
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

/** The path of a public origin: https://maps.example.org/geo → /geo. */
export const prefixOf = (baseUrl: string): string => baseUrl.replace(/^https?:\/\/[^/]*/, "");
