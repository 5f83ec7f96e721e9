import type { LocalizedName } from "../../catalog/state.js";
import type { MapContext } from "../request/context.js";
import { code, neededParent, number, parent } from "../request/schema/fields.js";
import { type NameContext, nameFields, nameOf } from "../request/schema/names.js";
import type { Values } from "../request/schema/schema.js";

/** What bodies say of a layer or folder alike: its code, its name, and its place in the tree. */

export const newNodeFields = (what: "layer" | "folder") => ({
  code: code(`Code of the ${what}, unique among the map's ${what}s; default: a new one.`).optional(),
  ...nameFields,
  parent_id: parent("Id of the folder or map that it lies in; default: the map.").optional(),
  sort: number("Place among the siblings, which are numbered anew; default: last.").optional(),
});

export const changedNodeFields = {
  code: code("New code; default: as it is.").optional(),
  ...nameFields,
  parent_id: neededParent("Id of the folder or map that it lies in from now on."),
  sort: number(
    "Place among the siblings, which are numbered anew; default: where it is, or last in another parent.",
  ).optional(),
};

type Named = Values<typeof nameFields>;

const contextOf = ({ map, view }: MapContext): NameContext => ({
  language: view.language,
  main: map.project.languages[0],
});

/** The name of a new element; undefined = none was given. @throws Failure invalid_value */
export const newName = (sent: Named, context: MapContext): LocalizedName | undefined =>
  nameOf(sent, contextOf(context));

/**
 * The name of an element after a change; undefined = as it was.
 * @param previous what it was; undefined where the change replaces the whole, so that without a name it has none
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
