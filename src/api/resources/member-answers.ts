import { openInvitations } from "../../access/invitations.js";
import type { Grant, ProjectState } from "../../catalog/state.js";
import { onceForEach } from "../../once.js";
import type { Queryable } from "../../storage/postgres.js";
import type { Answered } from "../request/answer-schemas.js";
import { stateOf } from "../request/resource.js";

/** What is answered of the users of a project and of the public. */

export const publicId = 0;

/** Rights given beyond roles, by the id of the user, or of the public. Those of keys are left out. */
function grantsById({ members, grants }: ProjectState): ReadonlyMap<number, readonly Grant[]> {
  const byId = new Map<number, Grant[]>([publicId, ...members.keys()].map((id) => [id, []]));
  for (const grant of grants) byId.get(grant.accountId ?? publicId)?.push(grant);
  return byId;
}

const placeOf = ({ mapId, layerId }: Grant): string => `${mapId ?? ""}/${layerId ?? ""}`;

/** @param one only that of this id; default: the public, and then the users by their logins */
export async function membersOf(
  db: Queryable,
  project: ProjectState,
  one?: number,
): Promise<readonly Answered<"Member">[]> {
  const users = [...project.members]
    .map(([id, { login, role }]) => ({ id, login, role }))
    .sort((a, b) => (a.login < b.login ? -1 : 1));
  const all = [{ id: publicId, login: "public", role: null }, ...users];
  const wanted = one === undefined ? all : all.filter(({ id }) => id === one);
  const byId = grantsById(project);
  const codes = await codesOf(
    db,
    wanted.flatMap(({ id }) => byId.get(id)!),
  );
  const invitations = await openInvitations(db, project.id, one);
  return wanted.map((member) => ({
    ...member,
    invited_until: invitations.get(member.id)?.toISOString() ?? null,
    grants: [...byId.get(member.id)!]
      .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
      .flatMap(({ mapId, layerId, rights }) => {
        const map = mapId === null ? null : codes.get(mapId);
        const layer = layerId === null ? null : codes.get(layerId);
        // What is being deleted has no code any more.
        return map === undefined || layer === undefined ? [] : [{ map, layer, rights }];
      }),
  }));
}

/** Codes of maps and layers, whose ids come from one sequence. */
async function codesOf(db: Queryable, grants: readonly Grant[]): Promise<ReadonlyMap<number, string>> {
  const ids = [...new Set(grants.flatMap(({ mapId, layerId }) => [mapId, layerId]))].filter(
    (id) => id !== null,
  );
  if (ids.length === 0) return new Map();
  const rows = await db.query<{ id: number; code: string }>(
    `select id, code from map where id = any($1::bigint[])
     union all select id, code from node where id = any($1::bigint[])`,
    [ids],
  );
  return new Map(rows.map(({ id, code }) => [id, code]));
}

/** Roles and rights of all of them, as a digest. */
export const membersState = onceForEach((project: ProjectState) =>
  stateOf(
    [...grantsById(project)]
      .sort(([a], [b]) => a - b)
      .map(([id, grants]) => [
        id,
        project.members.get(id)?.role,
        grants.map((grant) => `${placeOf(grant)} ${grant.rights}`).sort(),
      ]),
  ),
);
