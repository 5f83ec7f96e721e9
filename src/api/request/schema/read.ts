import { required } from "../../../errors.js";
import type { Member, Members, Values } from "./schema.js";

/**
 * The values of all members.
 * @param get what came under a name; undefined = nothing
 * @throws Failure required_parameters with all that are missing; what a member's `read` throws
 */
export function readMembers<In, M extends Members<In>>(
  members: M,
  get: (name: string) => In | undefined,
): Values<M> {
  const values: Record<string, unknown> = {};
  let missing: string[] | undefined;
  for (const name in members) {
    const member = members[name] as Member<In, unknown>;
    const given = find(member, name, get);
    if (member.required && (given === undefined || given === null)) {
      missing ??= [];
      missing.push(name);
    } else if (!missing) values[name] = member.read(given, name);
  }
  if (missing) throw required(missing);
  return values as Values<M>;
}

function find<In>(member: Member<In, unknown>, name: string, get: (name: string) => In | undefined) {
  const given = get(name);
  if (given !== undefined || !member.aliases) return given;
  for (const alias of member.aliases) {
    const other = get(alias);
    if (other !== undefined) return other;
  }
  return undefined;
}
