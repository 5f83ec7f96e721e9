import {
  type Caller,
  type Grant,
  type MapState,
  type ProjectState,
  publicCaller,
  Right,
  type Rights,
  type Role,
} from "../catalog/state.js";
import { forbidden, unauthenticated } from "../errors.js";

/**
 * All access control decisions.
 *
 * - The public may read published maps, unless its grants say otherwise. It has no rights on unpublished maps, whatever
 *   its grants say.
 * - A user has the rights of the role and those of the public. A grant of the user replaces both.
 * - Of several grants the most specific applies: layer, then map, then project.
 * - A key that lasts has the rights of its grant, and elsewhere reads what the public reads.
 * - Administrators have all rights, and so has the operator. A session of another project has none.
 */

const all: Rights = Right.read | Right.editObjects | Right.editStructure | Right.administer;
const roleRights: Readonly<Record<Role, Rights>> = {
  admin: all,
  editor: Right.read | Right.editObjects | Right.editStructure,
  viewer: Right.read,
};

/** The rights with those that they include: all include `read`, and `administer` all of them. */
export function wholeRights(rights: Rights): Rights {
  if (rights === 0) return 0;
  return (rights & Right.administer) !== 0 ? all : rights | Right.read;
}

/** The operator who runs commands of an installation. It is known by its identity, which no session has. */
export const operator: Caller = { accountId: 0, login: null, projectId: null };

/** The parts of a project, map and layer that decisions depend on. */
export type GuardedProject = Pick<ProjectState, "id" | "members" | "grants">;
export type GuardedMap = Pick<MapState, "id" | "hasPublication"> & { readonly project: GuardedProject };
export type GuardedLayer = { readonly id: number };
/** A map with its layers; layers without grants may be left out. */
export type GuardedTree = GuardedMap & { readonly layers: { values(): Iterable<GuardedLayer> } };

/** The caller's rights on a map, or on one of its layers, as a bit mask. */
export function rightsOn(map: GuardedMap, caller: Caller, layer?: GuardedLayer): Rights {
  if (caller === operator) return all;
  if (caller.accountId === null) return publicRights(map, layer);
  const role = roleIn(map.project, caller);
  if (role === "admin") return all;
  if (role === undefined && !isKeyOf(map.project, caller)) return 0;
  const own = granted(map.project, caller.accountId, map, layer);
  // A key must not do what nobody can do without an account.
  if (role === undefined) return own ?? publicRights(map, layer) & Right.read;
  return own ?? roleRights[role] | publicRights(map, layer);
}

/** The caller's rights on the project itself, to create maps and administer users. The public has none. */
export function rightsOnProject(project: GuardedProject, caller: Caller): Rights {
  if (caller.accountId === null) return 0;
  const role = roleIn(project, caller);
  if (role === "admin") return all;
  if (role === undefined) return isKeyOf(project, caller) ? (granted(project, caller.accountId) ?? 0) : 0;
  return granted(project, caller.accountId) ?? roleRights[role];
}

/**
 * Whether the caller has one of the rights on the project or by a grant somewhere in it. Who has none is refused before it is looked
 * up what a request is about, and is not told whether there is such a thing.
 */
export const hasSomewhere = (project: GuardedProject, caller: Caller, rights: Rights): boolean =>
  [
    rightsOnProject(project, caller),
    ...project.grants.map((grant) => (grant.accountId === caller.accountId ? grant.rights : 0)),
  ].some((own) => (own & rights) !== 0);

/** Whether the caller may read the map (or the layer). A map is readable if any of its layers is. */
export function mayRead(map: GuardedTree, caller: Caller, layer?: GuardedLayer): boolean {
  if (rightsOn(map, caller, layer) & Right.read) return true;
  if (layer || !map.project.grants.some((grant) => grant.layerId !== null && grant.mapId === map.id))
    return false;
  for (const candidate of map.layers.values()) {
    if (rightsOn(map, caller, candidate) & Right.read) return true;
  }
  return false;
}

/** Whether the caller may read the same layers of the map as the public. */
export function readsAsPublic(map: GuardedTree, caller: Caller): boolean {
  if (mayRead(map, caller) !== mayRead(map, publicCaller)) return false;
  for (const layer of map.layers.values())
    if (mayRead(map, caller, layer) !== mayRead(map, publicCaller, layer)) return false;
  return true;
}

/** @throws Failure forbidden, also for the public, when the caller may not read the map (or the layer) */
export function requireRead(map: MapState, caller: Caller, layer?: GuardedLayer): void {
  if (mayRead(map, caller, layer)) return;
  throw forbidden(caller.accountId === null ? "This map is not published." : undefined);
}

/**
 * Requires a right other than reading, and so a session, even if the public has the right.
 * @param right one of `Right`
 * @throws Failure unauthenticated for the public, forbidden for a user who lacks the right
 */
export function requireRight(map: GuardedMap, caller: Caller, right: Rights, layer?: GuardedLayer): void {
  if (caller.accountId === null) throw unauthenticated();
  if ((rightsOn(map, caller, layer) & right) !== right) throw forbidden();
}

/**
 * As `requireRight`, on the project itself.
 * @throws Failure unauthenticated, forbidden
 */
export function requireProjectRight(project: ProjectState, caller: Caller, right: Rights): void {
  if (caller.accountId === null) throw unauthenticated();
  if ((rightsOnProject(project, caller) & right) !== right) throw forbidden();
}

/**
 * Whether the caller has all rights that a user has, on the project and on every map and layer, published or not. Roles
 * are compared too, since administrators may do more than their right bits say.
 * @param user another account of the project
 */
export function coversRights(project: ProjectState, caller: Caller, user: Caller): boolean {
  const own = roleIn(project, caller);
  const other = roleIn(project, user);
  if (own === undefined || other === undefined) return false;
  if ((roleRights[other] & ~roleRights[own]) !== 0) return false;
  const grants = project.grants.filter(
    ({ accountId }) => accountId === null || accountId === caller.accountId || accountId === user.accountId,
  );
  const projectWide = grants.filter(({ mapId }) => mapId === null);
  const mapWide = groupedBy(grants, ({ mapId, layerId }) => (layerId === null ? mapId : null));
  const ofLayers = groupedBy(grants, ({ layerId }) => layerId);
  // Only the grants that apply to a map or layer are passed, so that the work is linear in their number, not quadratic.
  const exceedsAt = (relevant: readonly Grant[], mapId: number, layer?: GuardedLayer) =>
    [true, false].some((hasPublication) => {
      const map = { id: mapId, hasPublication, project: { ...project, grants: relevant } };
      return (rightsOn(map, user, layer) & ~rightsOn(map, caller, layer)) !== 0;
    });
  const grantsOfMap = (mapId: number) => [...projectWide, ...(mapWide.get(mapId) ?? [])];
  // Rights differ from those on the project only on maps and layers with grants for one of the two, or for the public.
  return !(
    (rightsOnProject(project, user) & ~rightsOnProject(project, caller)) !== 0 ||
    exceedsAt(projectWide, anyMap) ||
    [...mapWide.keys()].some((mapId) => exceedsAt(grantsOfMap(mapId), mapId)) ||
    [...ofLayers].some(([id, own]) => {
      const mapId = own[0]?.mapId ?? anyMap;
      return exceedsAt([...grantsOfMap(mapId), ...own], mapId, { id });
    })
  );
}

/** Grants by an id; those where it is null are left out. */
function groupedBy(
  grants: readonly Grant[],
  idOf: (grant: Grant) => number | null,
): ReadonlyMap<number, readonly Grant[]> {
  const groups = new Map<number, Grant[]>();
  for (const grant of grants) {
    const id = idOf(grant);
    if (id === null) continue;
    const group = groups.get(id);
    if (group) group.push(grant);
    else groups.set(id, [grant]);
  }
  return groups;
}

/** Id for all maps without grants. */
const anyMap = 0;

function publicRights(map: GuardedMap, layer: GuardedLayer | undefined): Rights {
  return map.hasPublication ? (granted(map.project, null, map, layer) ?? Right.read) : 0;
}

/** Whether the caller came with a key of the project, which has no role. */
const isKeyOf = (project: GuardedProject, { isKey, projectId }: Caller): boolean =>
  isKey === true && projectId === project.id;

function roleIn(project: GuardedProject, caller: Caller): Role | undefined {
  return caller.projectId === project.id ? project.members.get(caller.accountId!)?.role : undefined;
}

/** Rights of the account's (null = the public's) most specific grant that applies to the map or layer. */
function granted(
  project: GuardedProject,
  accountId: number | null,
  map?: GuardedMap,
  layer?: GuardedLayer,
): Rights | undefined {
  let best: Rights | undefined;
  let bestSpecificity = 0;
  for (const grant of project.grants) {
    if (grant.accountId !== accountId) continue;
    if (grant.mapId !== null && grant.mapId !== map?.id) continue;
    if (grant.layerId !== null && grant.layerId !== layer?.id) continue;
    const specificity = grant.layerId !== null ? 3 : grant.mapId !== null ? 2 : 1;
    if (specificity > bestSpecificity) {
      best = grant.rights;
      bestSpecificity = specificity;
    }
  }
  return best;
}
