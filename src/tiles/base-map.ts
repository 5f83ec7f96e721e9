import type { BaseMap, MapState } from "../catalog/state.js";
import { onceForEach } from "../once.js";

/** The built-in base map and its looks. */

/** Project and map of the base map. */
export const baseMapCode = { project: "_base", map: "world" } as const;

export type BaseMapStyle = "light" | "muted" | "dark";
export const baseMapStyles: readonly BaseMapStyle[] = ["light", "muted", "dark"];

/** In the map's settings: style of the map in looks other than the light one, and codes of layers that a look lacks. */
export type BaseMapLooks = Readonly<
  Record<Exclude<BaseMapStyle, "light">, { readonly cssStyle: string; readonly without: readonly string[] }>
>;

export const baseMapStyleOf = (baseMap: BaseMap): BaseMapStyle =>
  (baseMap.kind === "builtin" && baseMap.style) || "light";

const restyled = onceForEach((_: MapState) => new Map<BaseMapStyle, MapState>());

/** The base map in a look: the same snapshot each time, as plans are kept by it. */
export function baseMapIn(style: BaseMapStyle, map: MapState): MapState {
  const look = style === "light" ? undefined : (map.json.looks as Partial<BaseMapLooks> | undefined)?.[style];
  if (!look) return map;
  const known = restyled(map);
  const found = known.get(style) ?? { ...map, ...withLook(map, look) };
  known.set(style, found);
  return found;
}

const withLook = (map: MapState, { cssStyle, without }: BaseMapLooks["dark"]) => ({
  cssStyle,
  children: new Map(
    [...map.children].map(([parent, nodes]) => [parent, nodes.filter(({ code }) => !without.includes(code))]),
  ),
});
