import { hasSomewhere, requireRight, rightsOnProject } from "../../access/rights.js";
import { Right } from "../../catalog/state.js";
import { forbidden, unauthenticated } from "../../errors.js";
import { contentDisposition } from "../../http/headers.js";
import type { Reply, Request } from "../../http/types.js";
import { callerHeaders, clientOf } from "../request/caller.js";
import { projectContext } from "../request/context.js";
import { type Input, type Operation, operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { binary, form } from "../request/schema/bodies.js";
import { text } from "../request/schema/parameters.js";
import type { Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";

/** Files of other servers for those who import them: pages may not ask other servers themselves. */

const fields = {
  url: text("Address of the file: http or https.", 4_000),
  map: text("Code of the map that it is for; default: one that will be made.", 64).optional(),
};

async function fetchLink(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof fields>>,
): Promise<Reply> {
  const { project, caller } = await projectContext(request, services);
  if (caller.accountId === null) throw unauthenticated();
  if (!hasSomewhere(project, caller, Right.editStructure)) throw forbidden();
  const { url, map } = await body();
  if (map !== undefined)
    requireRight(await services.catalog.map(project.code, map), caller, Right.editStructure);
  else if ((rightsOnProject(project, caller) & Right.editStructure) === 0) throw forbidden();
  const owners = [`p${project.id}`, clientOf(request, caller)] as const;
  const { name, bytes, chunks } = await services.linkedFiles.open(url, owners, request.signal);
  return {
    kind: "stream",
    chunks,
    ...(bytes !== undefined && { bytes }),
    headers: {
      ...callerHeaders(caller),
      "content-type": "application/octet-stream",
      "content-disposition": contentDisposition("attachment", name),
    },
  };
}

export const linkedFileOperations: readonly Operation[] = [
  operation({
    id: "fetchLink",
    tag: "Import and export",
    summary: "Get a file of another server",
    details:
      "As the server at that address has it, to be imported, for those who may add layers to the map, or maps to the project. Only " +
      "servers that the installation allows (`links.hosts`) are asked, and only at public addresses. `Content-Disposition` has the " +
      "name of the file.",
    access: "token",
    methods: ["POST"],
    path: `${projectPath}/link/`,
    changes: { unconditionally: "It changes nothing." },
    body: form(fields, sizes.small),
    answer: {
      description: "The file.",
      content: { "application/octet-stream": binary },
      headers: { "Content-Disposition": "Name of the file" },
    },
    refuses: [404, "import_failed"],
    handle: fetchLink,
  }),
];
