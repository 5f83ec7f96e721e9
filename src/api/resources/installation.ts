import { z } from "zod";
import { changeAdministeredProject, makeProject } from "../../access/administered-projects.js";
import type { Invitation } from "../../access/invitations.js";
import { isOperator, requireOperator } from "../../access/operators.js";
import type { Session } from "../../access/sessions.js";
import {
  type InstallationProject,
  installationImports,
  installationProjects,
  layerPlaces,
} from "../../catalog/installation-projects.js";
import { unauthenticated } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import type { Answered } from "../request/answer-schemas.js";
import { tokenOf, uncached } from "../request/caller.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { jsonObject } from "../request/schema/bodies.js";
import { code, invalid, text } from "../request/schema/fields.js";
import { ref, ruled, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";

/** What operators see and do of the installation as a whole: its projects, what goes on, and how it is. */

const notCodes = "must be an array of 1 to 100 codes of languages";
const notBytes = "must be a whole number of bytes, 1 or more, or null";
const mostBytes = ruled(z.int(notBytes).min(1, notBytes).nullable(), {
  refuse: invalid,
  blanks: [],
}).describe("The most that the project may take of the disks, in bytes; null = as much as there is.");

const projectChange = {
  name: text("The title.").optional(),
  most_bytes: mostBytes.optional(),
  administrator: text(
    "Login of an administrator, who gets an invitation: one who has lost the password, another user, or somebody new.",
  ).optional(),
};

const languages = ruled(z.array(z.string(notCodes), notCodes).min(1, notCodes).max(100, notCodes), {
  refuse: invalid,
  blanks: [null],
})
  .default(["en"])
  .describe("Codes of languages, the main one first.");

const newProject = {
  code: code("Code of the project, which addresses have. It cannot be changed."),
  name: text("The title.").default(""),
  languages,
  administrator: text("Login of the first administrator, who gets an invitation."),
  most_bytes: mostBytes.default(null),
};

/** @throws Failure unauthenticated */
async function sessionOf(request: Request, services: Services): Promise<Session> {
  const token = await tokenOf(request);
  if (token === undefined) throw unauthenticated();
  const session = await services.sessions.find(token);
  if (!session) throw unauthenticated("The session token is unknown or has expired.");
  return session;
}

/** @throws Failure unauthenticated, forbidden */
async function operatorOf(request: Request, services: Services): Promise<Session> {
  const session = await sessionOf(request, services);
  await requireOperator(services.db, session);
  return session;
}

async function own(request: Request, services: Services): Promise<Reply> {
  return uncached({ operator: await isOperator(services.db, await sessionOf(request, services)) });
}

const shown = ({
  administrators,
  measuredAt,
  mostBytes,
  ...project
}: InstallationProject): Answered<"InstallationProject"> => ({
  ...project,
  languages: [...project.languages],
  administrators: [...administrators],
  measured: measuredAt?.toISOString() ?? null,
  most_bytes: mostBytes,
});

async function list(request: Request, services: Services): Promise<Reply> {
  await operatorOf(request, services);
  return uncached((await installationProjects(services.db)).map(shown));
}

async function answerProject(
  { db }: Services,
  code: string,
  invitation: Invitation | undefined,
): Promise<Reply> {
  const [project] = await installationProjects(db, code);
  return uncached({
    ...(project && shown(project)),
    ...(invitation && {
      invitation: { invitation: invitation.secret, expires: invitation.endsAt.toISOString() },
    }),
  });
}

async function add(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof newProject>>,
): Promise<Reply> {
  const operator = await operatorOf(request, services);
  const { most_bytes: mostBytes, ...project } = await body();
  const invitation = await makeProject(services.db, { ...project, mostBytes }, operator);
  await services.changes.propagate();
  return answerProject(services, project.code, invitation);
}

async function change(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof projectChange>>,
): Promise<Reply> {
  const operator = await operatorOf(request, services);
  const code = request.params.code!;
  const { name, most_bytes, administrator } = await body();
  const changed = { name, mostBytes: most_bytes, administrator };
  const invitation = await changeAdministeredProject(services.db, code, changed, operator);
  await services.changes.propagate();
  // The other nodes read them every minute.
  if (most_bytes !== undefined) await services.fullProjects.read();
  return answerProject(services, code, invitation);
}

async function state(request: Request, services: Services): Promise<Reply> {
  await operatorOf(request, services);
  const { db, health, badLayers } = services;
  const bad = new Map(badLayers.layers.map((layer) => [layer.id, layer]));
  const [{ checks, at }, imports, places] = await Promise.all([
    health.now(),
    installationImports(db),
    layerPlaces(db, [...bad.keys()]),
  ]);
  return uncached({
    checks: checks.map(({ name, ok, found, advice }) => ({ name, ok, found, advice: advice ?? null })),
    checked: at.toISOString(),
    imports: imports.map(({ created, finished, ...one }) => ({
      ...one,
      created: created.toISOString(),
      finished: finished?.toISOString() ?? null,
    })),
    layers: places.map(({ id, ...place }) => ({ ...place, cause: bad.get(id)!.cause })),
  } satisfies Answered<"InstallationState">);
}

const path = "/installation";

/** Two operators who change one project change members of it that they have seen. */
const projects = { unconditionally: "What an operator sets does not depend on what was there." };

export const installationOperations: readonly Operation[] = [
  operation({
    id: "installation",
    tag: "Server",
    summary: "Whether the user may administer the installation",
    details: "For all users, with the token of any project.",
    access: "token",
    methods: ["GET"],
    path: `${path}/`,
    answer: answers("Whether the user is an operator.", {
      type: "object",
      required: ["operator"],
      properties: { operator: { type: "boolean" } },
    }),
    refuses: [401],
    handle: own,
  }),
  operation({
    id: "listProjects",
    tag: "Server",
    summary: "List the projects of the installation",
    details: "For operators. What a project takes of the disks is measured every few minutes.",
    access: "token",
    methods: ["GET"],
    path: `${path}/projects/`,
    answer: answers("The projects, by their codes.", { type: "array", items: ref("InstallationProject") }),
    refuses: [401, 403],
    handle: list,
  }),
  operation({
    // Without an Idempotency-Key, which would keep the secret.
    id: "addProject",
    tag: "Server",
    counts: "writes",
    changes: projects,
    summary: "Create a project",
    details:
      "For operators. With its first administrator, who chooses a password by the invitation, as `POST` to `invitation/` of the " +
      "project takes it.",
    access: "token",
    methods: ["POST"],
    path: `${path}/projects/`,
    body: jsonObject(newProject, sizes.small),
    answer: answers(
      "The project, with the invitation, which is shown only now.",
      ref("NewInstallationProject"),
    ),
    refuses: [401, 403, "invalid_code", "code_exists", "invalid_value", "required_parameters"],
    handle: add,
  }),
  operation({
    // Nor has this one.
    id: "setProject",
    tag: "Server",
    counts: "writes",
    changes: projects,
    summary: "Change the title or the limit of a project, or invite an administrator",
    details:
      "For operators. A project that takes more than `most_bytes` is served as before, and takes no new objects, imports and files.",
    access: "token",
    methods: ["PATCH"],
    path: `${path}/projects/:code/`,
    body: jsonObject(projectChange, sizes.small),
    answer: answers(
      "The project, with the invitation, if there is one, which is shown only now.",
      ref("ChangedInstallationProject"),
    ),
    refuses: [401, 403, "project_not_found", "invalid_value"],
    handle: change,
  }),
  operation({
    id: "installationState",
    tag: "Server",
    summary: "Show how the installation is",
    details:
      "For operators. The checks are those of the command `doctor`, by the node that answers, and at most half a minute old.",
    access: "token",
    methods: ["GET"],
    path: `${path}/state/`,
    answer: answers("Checks, imports, and layers that cannot be drawn.", ref("InstallationState")),
    refuses: [401, 403],
    handle: state,
  }),
];
