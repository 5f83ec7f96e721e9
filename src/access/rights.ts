import {
  type Caller,
  type Grant,
  type MapState,
  type ProjectState,
  Right,
  type Rights,
  type Role,
} from "../catalog/state.js";
import { forbidden, unauthenticated } from "../errors.js";

/**
 * The one place that decides every right.
 *
 * - The public may read published maps, unless its grants say otherwise; of an unpublished map it has nothing,
 *   whatever its grants say.
 * - A user has the rights of the role, together with the public's; a grant of the user's own replaces both.
 * - Of several grants the most specific counts: layer, then map, then project.
 * - Administrators have every right. A session of another project has none.
 */

const all: Rights = Right.read | Right.editObjects | Right.editStructure | Right.administer;
const roleRights: Readonly<Record<Role, Rights>> = {
  admin: all,
  editor: Right.read | Right.editObjects | Right.editStructure,
  viewer: Right.read,
};

/** What of a project decides over rights on its maps. */
export type GuardedProject = Pick<ProjectState, "id" | "members" | "grants">;
/** What of a map does. */
export type GuardedMap = Pick<MapState, "id" | "hasPublication"> & { readonly project: GuardedProject };
/** What of a layer does. */
export type GuardedLayer = { readonly id: number };
/** A map with its layers; those that no grant names may be left out. */
export type GuardedTree = GuardedMap & { readonly layers: { values(): Iterable<GuardedLayer> } };

/** The caller's rights on a map, or on one of its layers, as a sum of bits. */
export function rightsOn(map: GuardedMap, caller: Caller, layer?: GuardedLayer): Rights {
  if (caller.accountId === null) return publicRights(map, layer);
  const role = roleIn(map.project, caller);
  if (role === undefined) return 0;
  if (role === "admin") return all;
  return granted(map.project, caller.accountId, map, layer) ?? roleRights[role] | publicRights(map, layer);
}

/** The caller's rights on the project itself: to create maps, to administer users. The public has none. */
export function rightsOnProject(project: ProjectState, caller: Caller): Rights {
  if (caller.accountId === null) return 0;
  const role = roleIn(project, caller);
  if (role === undefined) return 0;
  if (role === "admin") return all;
  return granted(project, caller.accountId) ?? roleRights[role];
}

/** Whether the caller may read the map (or the layer). A map may be read when any of its layers may. */
export function mayRead(map: GuardedTree, caller: Caller, layer?: GuardedLayer): boolean {
  if (rightsOn(map, caller, layer) & Right.read) return true;
  if (layer || !map.project.grants.some((grant) => grant.layerId !== null && grant.mapId === map.id))
    return false;
  for (const candidate of map.layers.values()) {
    if (rightsOn(map, caller, candidate) & Right.read) return true;
  }
  return false;
}

/** @throws Failure forbidden when the caller may not read the map (or the layer), the public included */
export function requireRead(map: MapState, caller: Caller, layer?: GuardedLayer): void {
  if (mayRead(map, caller, layer)) return;
  throw forbidden(caller.accountId === null ? "This map is not published." : undefined);
}

/**
 * Demands a right other than reading, which needs a session whatever the public was granted.
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
 * Whether a user's rights are all among the caller's, on the project and on every map and layer, published or not. A
 * role counts too: what an administrator may do is not only a matter of bits.
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
  // With only those grants that count at a place, the work grows with their number and not with its square.
  const exceedsAt = (near: readonly Grant[], mapId: number, layer?: GuardedLayer) =>
    [true, false].some((hasPublication) => {
      const map = { id: mapId, hasPublication, project: { ...project, grants: near } };
      return (rightsOn(map, user, layer) & ~rightsOn(map, caller, layer)) !== 0;
    });
  const nearMap = (mapId: number) => [...projectWide, ...(mapWide.get(mapId) ?? [])];
  // Rights differ from the project's only where a grant of one of the two, or of the public, says so.
  return !(
    (rightsOnProject(project, user) & ~rightsOnProject(project, caller)) !== 0 ||
    exceedsAt(projectWide, anyMap) ||
    [...mapWide.keys()].some((mapId) => exceedsAt(nearMap(mapId), mapId)) ||
    [...ofLayers].some(([id, own]) => {
      const mapId = own[0]?.mapId ?? anyMap;
      return exceedsAt([...nearMap(mapId), ...own], mapId, { id });
    })
  );
}

/** Grants by an id; those without it are left out. */
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

/** Stands for each map that no grant names. */
const anyMap = 0;

function publicRights(map: GuardedMap, layer: GuardedLayer | undefined): Rights {
  return map.hasPublication ? (granted(map.project, null, map, layer) ?? Right.read) : 0;
}

function roleIn(project: GuardedProject, caller: Caller): Role | undefined {
  return caller.projectId === project.id ? project.members.get(caller.accountId!)?.role : undefined;
}

/** The most specific grant of this account (null = the public) that covers the map or layer. */
function granted(
  project: GuardedProject,
  accountId: number | null,
  map?: GuardedMap,
  layer?: GuardedLayer,
): Rights | undefined {
  let best: Rights | undefined;
  let bestReach = 0;
  for (const grant of project.grants) {
    if (grant.accountId !== accountId) continue;
    if (grant.mapId !== null && grant.mapId !== map?.id) continue;
    if (grant.layerId !== null && grant.layerId !== layer?.id) continue;
    const reach = grant.layerId !== null ? 3 : grant.mapId !== null ? 2 : 1;
    if (reach > bestReach) {
      best = grant.rights;
      bestReach = reach;
    }
  }
  return best;
}
