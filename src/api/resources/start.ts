import { answers, type Operation, operation } from "../request/operation.js";
import { apiPath } from "../request/paths.js";

/** Where somebody begins who has the address of the API only. */

const link = (description: string) => ({ type: "string", description });

export const startOperation: Operation = operation({
  id: "start",
  tag: "Server",
  summary: "Where to begin",
  details: "Addresses with `{project}` and `{map}` are templates: the codes go there.",
  methods: ["GET"],
  path: `${apiPath}/`,
  answer: answers("Addresses of this server.", {
    type: "object",
    required: [
      "name",
      "version",
      "versions",
      "description",
      "documentation",
      "project",
      "login",
      "maps",
      "tiles",
    ],
    properties: {
      name: { const: "Mapwright" },
      version: { const: "2.8" },
      versions: { type: "array", items: { type: "string" }, description: "Versions of the API." },
      description: link("This API for programs, in OpenAPI 3.1."),
      documentation: link("The same as a page."),
      viewer: link("The viewer of published maps."),
      project: link("What all addresses of a project begin with."),
      login: link("Where a session is opened: POST with `user` and `pass`."),
      maps: link("The maps that a user may see, with the session's token."),
      map: link("A map."),
      tiles: link("The TileJSON of a map, with the address of its tiles."),
    },
  }),
  handle: ({ baseUrl }) => {
    const project = `${baseUrl}${apiPath}/{project}/`;
    return {
      kind: "json",
      value: {
        name: "Mapwright",
        version: "2.8",
        versions: ["2.0", "2.2", "2.8"],
        description: `${baseUrl}/openapi.json`,
        documentation: `${baseUrl}/docs/`,
        viewer: `${baseUrl}/`,
        project,
        login: `${project}login/`,
        maps: `${project}maps/available/`,
        map: `${project}{map}/`,
        tiles: `${baseUrl}/tms/{project}/{map}/tile.json`,
      },
      headers: { "cache-control": "no-cache" },
    };
  },
});
