import { z } from "zod";
import type { GivenGrant } from "../../access/grants.js";
import { changeMember, checkNewMember, deleteMember, makeMember, noMember } from "../../access/members.js";
import { wholeRights } from "../../access/rights.js";
import type { ProjectState, Role } from "../../catalog/state.js";
import { failed, forbidden, notFound } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { clientOf, uncached } from "../request/caller.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { ofCatalogue } from "../request/resource.js";
import { jsonObject } from "../request/schema/bodies.js";
import { invalid, text } from "../request/schema/fields.js";
import { ref, ruled, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { membersOf, membersState, publicId } from "./member-answers.js";
import { type Administered, administered } from "./style-files.js";

/** The users of a project, and what they and the public may do with its maps and layers: for its administrators. */

const mostGrants = 1_000;
const roles = ["admin", "editor", "viewer"] as const satisfies readonly Role[];

const roleField = ruled(z.enum(roles, `must be one of ${roles.join(", ")}`), {
  refuse: invalid,
  blanks: [null],
}).describe("What the user may do where no rights say otherwise.");

const newMember = {
  login: text(
    "1 to 128 characters, no spaces among them. Another project may have a user of that login, too.",
  ),
  password: text(
    "At least 8 characters. To be given to the user. Default: none, so that the user chooses one by an invitation.",
  ).optional(),
  role: roleField.default("viewer"),
};

const grantsAre = `must be an array of at most ${mostGrants} rights, each with "rights" from 0 to 15, or null`;
const memberChange = {
  role: roleField.optional(),
  grants: ruled(
    z
      .array(
        z.object(
          {
            map: z.string(grantsAre).nullable().default(null).describe("Code of the map; null = all"),
            layer: z
              .string(grantsAre)
              .nullable()
              .default(null)
              .describe("Code of the layer; null = all of the map"),
            rights: z
              .int(grantsAre)
              .min(0, grantsAre)
              .max(15, grantsAre)
              .nullable()
              .describe(
                "1 read, 2 edit objects, 4 edit structure, 8 administer, which include reading, and the last all others; " +
                  "0 = none; null = as the role, and rights on more than this, say",
              ),
          },
          grantsAre,
        ),
        grantsAre,
      )
      .max(mostGrants, grantsAre),
    { refuse: invalid, blanks: [null] },
  )
    .default([])
    .describe("Rights to give or take, each for one place. Those that are not named stay."),
};
type Change = Values<typeof memberChange>;

async function list(request: Request, services: Services): Promise<Reply> {
  const { project } = await administered(request, services);
  return uncached(await membersOf(services.db, project));
}

/**
 * For a change: by users with the role, as who administers by a grant alone might give more than that.
 * @throws Failure unauthenticated, forbidden
 */
export async function changingMembers(
  request: Request,
  services: Services,
): Promise<Administered & { by: number }> {
  const { project, caller } = await administered(request, services);
  const by = caller.accountId!;
  if (project.members.get(by)?.role !== "admin") throw forbidden();
  return { project, caller, by };
}

async function add(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof newMember>>,
): Promise<Reply> {
  const { project, caller, by } = await changingMembers(request, services);
  const { login, password, role } = await body();
  checkNewMember(login, password);
  const passwordHash =
    password === undefined
      ? ""
      : await services.logins.hash(password, clientOf(request, caller), request.signal);
  const { id } = await makeMember(services.db, { projectId: project.id, login, passwordHash, role, by });
  return answerMember(services, project.code, id);
}

async function answerMember(services: Services, code: string, id: number): Promise<Reply> {
  await services.changes.propagate();
  const project = await services.catalog.project(code);
  const [member] = await membersOf(services.db, project, id);
  if (!member) throw noMember();
  return uncached(member);
}

/** The id in the path. @throws Failure not_found */
export function memberId({ params: { member = "" } }: Request): number {
  if (!/^\d{1,9}$/.test(member)) throw noMember();
  return Number(member);
}

async function change(
  request: Request,
  services: Services,
  { body }: Input<unknown, Change>,
): Promise<Reply> {
  const { project, by } = await changingMembers(request, services);
  const { role, grants } = await body();
  const id = memberId(request);
  if (id === publicId && role !== undefined)
    throw failed("invalid_value", "The public has no role.", { parameter: "role" });
  if (id !== publicId && !project.members.has(id)) throw noMember();
  const places = new Map<string, GivenGrant>();
  for (const grant of grants) {
    const place = await placeOf(services, project, grant);
    const rights = grant.rights === null ? null : wholeRights(grant.rights);
    // Of two for one place the last counts.
    places.set(JSON.stringify(place), { ...place, rights });
  }
  const which = { projectId: project.id, accountId: id === publicId ? null : id, by };
  await changeMember(services.db, which, { role, grants: [...places.values()] });
  return answerMember(services, project.code, id);
}

/** @throws Failure not_found; invalid_value for a layer without a map */
async function placeOf(
  { catalog }: Services,
  project: ProjectState,
  { map: code, layer: layerCode }: Change["grants"][number],
): Promise<Pick<GivenGrant, "mapId" | "layerId">> {
  if (code === null) {
    if (layerCode !== null)
      throw failed("invalid_value", "A layer is named with its map.", { parameter: "grants" });
    return { mapId: null, layerId: null };
  }
  const map = await catalog.map(project.code, code);
  if (layerCode === null) return { mapId: map.id, layerId: null };
  const layer = map.layers.get(layerCode);
  if (!layer) throw notFound(`layer "${layerCode}"`);
  return { mapId: map.id, layerId: layer.id };
}

async function remove(request: Request, services: Services): Promise<Reply> {
  const { project, by } = await changingMembers(request, services);
  const id = memberId(request);
  await deleteMember(services.db, { projectId: project.id, accountId: id, by });
  await services.changes.propagate();
  return uncached(null);
}

/** All of them, as an administrator has seen them. */
const members = ofCatalogue({ name: "users", lockedBy: "project" }, ({ project }) => membersState(project));

export const membersPath = `${projectPath}/members`;

export const memberOperations: readonly Operation[] = [
  operation({
    id: "listMembers",
    tag: "Sessions",
    summary: "List the users of the project and their rights",
    details: "For administrators. The first element is the public, whose rights are those of everybody.",
    access: "token",
    methods: ["GET"],
    path: `${membersPath}/`,
    shows: members,
    answer: answers("The public and the users, by their logins.", { type: "array", items: ref("Member") }),
    handle: list,
  }),
  operation({
    // Without an Idempotency-Key, which would keep a fast hash of the password.
    id: "addMember",
    tag: "Sessions",
    counts: "writes",
    changes: members,
    summary: "Add a user to the project",
    details:
      "For users with the role `admin`. The user has a password of its own, whatever other projects have of that login.",
    access: "token",
    methods: ["POST"],
    path: `${membersPath}/`,
    body: jsonObject(newMember, sizes.small),
    answer: answers("The user.", ref("Member")),
    refuses: ["invalid_value", "required_parameters"],
    handle: add,
  }),
  operation({
    id: "changeMember",
    tag: "Sessions",
    counts: "writes",
    writes: true,
    changes: members,
    summary: "Change the role and the rights of a user",
    details:
      "For users with the role `admin`. The rights of the public (id 0) on a map count while it is published. A project keeps one " +
      "administrator.",
    access: "token",
    methods: ["PATCH"],
    path: `${membersPath}/:member/`,
    body: jsonObject(memberChange, sizes.element),
    answer: answers("The user.", ref("Member")),
    refuses: [404, "invalid_value"],
    handle: change,
  }),
  operation({
    id: "removeMember",
    tag: "Sessions",
    counts: "writes",
    changes: members,
    summary: "Remove a user from the project",
    details:
      "For users with the role `admin`. The rights there and the sessions end with it. A project keeps one administrator.",
    access: "token",
    methods: ["DELETE"],
    path: `${membersPath}/:member/`,
    answer: answers("Nothing.", { type: "null" }),
    refuses: [404, "invalid_value"],
    handle: remove,
  }),
];
