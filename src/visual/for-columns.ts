import type { StoredSettings } from "../catalog/state.js";

/** Stored settings of a layer for another one that has copies of its columns. */

/** Members that hold the id of a column. */
const named: ReadonlySet<string> = new Set([
  ...["column", "sizeColumn", "popupColumn", "scaledBy", "markerSizeField", "useWeightField"],
]);

/** Members whose value is whatever a plug-in or a client has put there. */
const free: ReadonlySet<string> = new Set(["settings", "stylesPolygon", "stylesText", "stylesLine"]);

type Plain = Readonly<Record<string, unknown>>;

/** @param ids those of the copies, by those of the columns */
export function settingsForColumns(
  settings: StoredSettings,
  ids: ReadonlyMap<unknown, number>,
): StoredSettings {
  const translated = (value: unknown): unknown => ids.get(value) ?? value;
  const members = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(members);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        named.has(name) ? translated(member) : name === "columns" ? columns(member) : own(name, member),
      ]),
    );
  };
  const own = (name: string, value: unknown) => (free.has(name) ? value : members(value));
  /** A list of columns of a chart; or ids by names that a plug-in gives them. */
  const columns = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((each: Plain) => ({ ...each, id: translated(each.id) }));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, id]) => [name, translated(id)]));
  };
  const { id: _, ...rest } = settings;
  return members(rest) as StoredSettings;
}
