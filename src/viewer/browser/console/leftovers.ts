import type { TreeElement } from "../layer-tree.js";
import type { MapId } from "../map-server.js";
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

/** Removes what is empty, and nothing else; asks for no session. */
export async function removeEmpty(edits: Edits, { map, layer, withMap }: Leftovers): Promise<Removed> {
  const send = <T>(method: string, segments: readonly string[], query = {}) =>
    edits.send<T>(map.project, method, [map.map, ...segments], { query, isQuiet: true });
  const succeeds = (work: Promise<unknown>) =>
    work.then(
      () => true,
      () => false,
    );
  try {
    const tree = await send<TreeElement[]>("GET", ["layers"], { type: "full" });
    const own = layer && tree.find(({ id, map_layer_id }) => (map_layer_id ?? id) === layer.id);
    if (own) {
      // An image has no objects.
      const isEmpty =
        own.type === "layer" &&
        (await send<number>("GET", ["layers", own.code, "count"], { precise: true })) === 0;
      if (!isEmpty) return { map: false, layer: false };
    }
    const isAlone = tree.every((element) => element === own);
    if (withMap && isAlone && (await succeeds(send("DELETE", [])))) return { map: true, layer: true };
    return { map: false, layer: !own || (await succeeds(send("DELETE", ["layers", own.code]))) };
  } catch {
    return { map: false, layer: layer === undefined };
  }
}
