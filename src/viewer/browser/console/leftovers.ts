import type { TreeElement } from "../layer-tree.js";
import type { MapId } from "../map-server.js";
import { type Deleted, inBin, purge } from "./bin.js";
import type { Edits } from "./edits.js";

/** What was made for files of which nothing came. */

export interface Leftovers {
  readonly map: MapId;
  readonly layer: { readonly id: number; readonly code: string } | undefined;
  /** Whether the map goes, too, if it has nothing else. */
  readonly withMap: boolean;
}
/** Whether it is gone, or was never there. */
export interface Removed {
  readonly map: boolean;
  readonly layer: boolean;
}

/**
 * Removes what is empty, and nothing else, for good: nobody has seen it, and in the bin it would only be in the way of what people
 * have deleted. Asks for no session.
 */
export async function removeEmpty(edits: Edits, { map, layer, withMap }: Leftovers): Promise<Removed> {
  const { project } = map;
  const quiet = { isQuiet: true };
  const read = <T>(segments: readonly string[], query = {}) =>
    edits.read<T>(project, [map.map, ...segments], { query, ...quiet });
  /** @param match of the state that was found to be empty */
  const isRemoved = async (what: Deleted, segments: readonly string[], match: string | undefined) => {
    try {
      await edits.send(project, "DELETE", [map.map, ...segments], { match, ...quiet });
    } catch {
      return false;
    }
    // Else it stays there until its time is over.
    const entry = await inBin(edits, project, what, true).catch(() => undefined);
    if (entry) await purge(edits, project, entry.id, true).catch(() => undefined);
    return true;
  };
  try {
    const { etag } = await read([]);
    const { value: tree } = await read<TreeElement[]>(["layers"], { type: "full" });
    const own = layer && tree.find(({ id, map_layer_id }) => (map_layer_id ?? id) === layer.id);
    const place = own && ["layers", own.code];
    const state = place && (await read(place)).etag;
    if (place) {
      // An image has no objects.
      const isEmpty =
        own.type === "layer" && (await read<number>([...place, "count"], { precise: true })).value === 0;
      if (!isEmpty) return { map: false, layer: false };
    }
    const isAlone = tree.every((element) => element === own);
    const whole = { kind: "map", code: map.map, map: map.map } as const;
    if (withMap && isAlone && (await isRemoved(whole, [], etag))) return { map: true, layer: true };
    if (!place) return { map: false, layer: true };
    const part = { kind: "layer", code: own.code, map: map.map } as const;
    return { map: false, layer: await isRemoved(part, place, state) };
  } catch {
    return { map: false, layer: layer === undefined };
  }
}
