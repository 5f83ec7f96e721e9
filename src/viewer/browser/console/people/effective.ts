/** What somebody may do where, by role and grants: as the server decides it (`access/rights.ts`). Does not depend on the DOM. */

/** Where rights count: in the whole project without a map, on the whole map without a layer. */
export interface RightsPlace {
  readonly map?: string | undefined;
  readonly layer?: string | undefined;
}
export type Role = "admin" | "editor" | "viewer";

/** Sums of them are rights. */
export const bits = { read: 1, editObjects: 2, editStructure: 4, administer: 8 } as const;

/** Rights given beyond the role; null = all. */
export interface Grant {
  readonly map: string | null;
  readonly layer: string | null;
  readonly rights: number;
}
export interface Member {
  /** 0 = the public. */
  readonly id: number;
  readonly login: string;
  /** null = the public. */
  readonly role: Role | null;
  readonly grants: readonly Grant[];
  /** Until when a link counts by which the person chooses a password; null = none is open. */
  readonly invited_until?: string | null;
}
/** A map, as far as rights on it depend on it. */
export interface RightsMap {
  readonly code: string;
  readonly isPrivate?: boolean;
}

const rightsOfRole: Readonly<Record<Role, number>> = { admin: 15, editor: 7, viewer: 1 };

const isAt = (grant: Grant, { map, layer }: RightsPlace): boolean =>
  grant.map === (map ?? null) && grant.layer === (layer ?? null);

/** The rights that were given for exactly that place; null = none were. */
export const grantAt = ({ grants }: Pick<Member, "grants">, place: RightsPlace): number | null =>
  grants.find((grant) => isAt(grant, place))?.rights ?? null;

/** The most specific that apply: layer, then map, then project. */
function granted(member: Member, { map, layer }: RightsPlace): number | null {
  return (
    (layer === undefined ? null : grantAt(member, { map, layer })) ??
    (map === undefined ? null : grantAt(member, { map })) ??
    grantAt(member, {})
  );
}

/** @param map undefined = the whole project, of which the public sees what is published */
export function rightsAt(member: Member, everybody: Member, map?: RightsMap, layer?: string): number {
  if (member.role === "admin") return rightsOfRole.admin;
  const place = { map: map?.code, layer };
  const open = map?.isPrivate ? 0 : (granted(everybody, place) ?? bits.read);
  if (member.role === null) return open;
  return granted(member, place) ?? rightsOfRole[member.role] | open;
}

/** What the rights at a place would be if none were given for exactly that place. */
export const usualRights = (member: Member, everybody: Member, map?: RightsMap, layer?: string): number => {
  const without = (one: Member): Member => ({
    ...one,
    grants: one.grants.filter((grant) => !isAt(grant, { map: map?.code, layer })),
  });
  const changed = without(member);
  return rightsAt(changed, member.role === null ? changed : everybody, map, layer);
};

/** On how much of a map somebody has a right. */
export type Extent = "all" | "some" | "none";

export function extentOn(member: Member, everybody: Member, map: RightsMap, right: number): Extent {
  const has = (layer?: string) => (rightsAt(member, everybody, map, layer) & right) !== 0;
  // Layers without rights of their own are as the map.
  const layers = exceptionsOn(map, member, everybody);
  if (has()) return layers.every(has) ? "all" : "some";
  return layers.some(has) ? "some" : "none";
}

/** Codes of the layers of a map for which rights of their own were given to one of these. */
export const exceptionsOn = (map: RightsMap, ...members: readonly Member[]): readonly string[] => [
  ...new Set(
    members.flatMap(({ grants }) =>
      grants.flatMap((grant) => (grant.map === map.code && grant.layer !== null ? [grant.layer] : [])),
    ),
  ),
];
