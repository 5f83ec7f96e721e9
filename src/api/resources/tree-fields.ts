import type { LocalizedName } from "../../catalog/state.js";
import type { MapContext } from "../request/context.js";
import { code, neededParent, number, parent } from "../request/schema/fields.js";
import { type NameContext, nameFields, nameOf } from "../request/schema/names.js";
import type { Values } from "../request/schema/schema.js";

/** Body fields that layers and folders have in common: code, name, and position in the tree. */

export const newNodeFields = (what: "layer" | "folder") => ({
  code: code(`Code of the ${what}, unique among the ${what}s of the map; default: generated.`).optional(),
  ...nameFields,
  parent_id: parent("Id of the parent folder or map; default: the map.").optional(),
  sort: number("Position among the siblings, which are renumbered; default: last.").optional(),
});

export const changedNodeFields = {
  code: code("New code; default: unchanged.").optional(),
  ...nameFields,
  parent_id: neededParent("Id of the new parent folder or map; the current one to stay there."),
  sort: number(
    "Position among the siblings, which are renumbered; default: unchanged, or last in a new parent.",
  ).optional(),
};

type Named = Values<typeof nameFields>;

const contextOf = ({ map, view }: MapContext): NameContext => ({
  language: view.language,
  main: map.project.languages[0],
});

/** The name of a new element; undefined = not given. @throws Failure invalid_value */
export const newName = (sent: Named, context: MapContext): LocalizedName | undefined =>
  nameOf(sent, contextOf(context));

/**
 * The name of an element after a change; undefined = unchanged.
 * @param previous the current name; undefined to replace it, so that a missing name becomes empty
 * @throws Failure invalid_value
 */
export function changedName(
  sent: Named,
  context: MapContext,
  previous: LocalizedName | undefined,
): LocalizedName | undefined {
  if (!previous) return newName(sent, context) ?? { name: "", localized: false, names: {} };
  return nameOf(sent, { ...contextOf(context), previous });
}
