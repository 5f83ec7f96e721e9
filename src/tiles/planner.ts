import { LRUCache } from "lru-cache";
import type { Catalog } from "../catalog/catalog.js";
import { rightsOn } from "../catalog/rights.js";
import { type Caller, hasObjects, type LayerNode, type MapState, Right } from "../catalog/state.js";
import { Failure } from "../errors.js";
import type { Log } from "../log.js";
import type { StyleCompiler } from "../style/compiler.js";
import type { MapProperties } from "../style/model.js";
import type { TileAddress } from "./address.js";
import type { ChangeLog } from "./changes.js";
import { bandZooms } from "./datasource.js";
import { type Drawing, digest, drawSheet, type Plan, type Sheet, type StyledLayer } from "./plan.js";
import { drawnLayers } from "./selection.js";
import type { Stamp } from "./versions.js";

/** Project and map of the built-in base map. */
export const baseMapCode = { project: "_base", map: "world" } as const;

/** Plans kept for one snapshot of a map: a client can ask for any set of layers. */
const plansPerMap = 512;

export interface PlannerOptions {
  readonly catalog: Catalog;
  readonly changes: ChangeLog;
  readonly styles: StyleCompiler;
  readonly styleDeadlineMs: number;
  readonly log: Log;
}

/** Makes plans from snapshots of maps and forgets them with the snapshot. */
export class Planner {
  private readonly plans = new WeakMap<MapState, LRUCache<string, Promise<Plan>>>();
  /** Stamps of the plans that a snapshot went into. */
  private readonly stamps = new WeakMap<MapState, Set<Stamp>>();
  private readonly retired = new WeakSet<MapState>();

  constructor(private readonly options: PlannerOptions) {}

  /** The plan for what `caller` may see of the address. The map must be readable to the caller. */
  async plan(map: MapState, caller: Caller, address: TileAddress): Promise<Plan> {
    const base = address.base && map.project.baseMap.kind === "builtin" ? await this.baseMap() : undefined;
    const readable = (layer: LayerNode) => (rightsOn(map, caller, layer) & Right.read) !== 0;
    const layers = drawnLayers(map, address.layers, readable);
    const language = address.language ?? map.project.languages[0];
    const zoom = planZoom(address);
    const key = [
      layers.map((layer) => layer.id).join(","),
      base?.revision ?? "-",
      zoom,
      address.scale,
      language,
    ].join(" ");
    const plans = this.plansOf(map);
    const known = plans.get(key);
    if (known && (!base || !this.retired.has(base))) {
      const plan = await known;
      if (plan.stamp.value >= 0) return plan;
    }
    const made = this.make({ map, layers, base, z: zoom, scale: address.scale, language });
    plans.set(key, made);
    made.catch(() => {
      if (plans.get(key) === made) plans.delete(key);
    });
    return made;
  }

  /** The snapshot is not given out any more: nothing planned from it counts as current. */
  retire(map: MapState): void {
    this.retired.add(map);
    for (const stamp of this.stamps.get(map) ?? []) stamp.value = -1;
    this.stamps.delete(map);
    this.plans.get(map)?.clear();
  }

  private async make(wish: {
    map: MapState;
    layers: readonly LayerNode[];
    base: MapState | undefined;
    z: number;
    scale: 1 | 2 | 3;
    language: string;
  }): Promise<Plan> {
    const { map, base, z, scale } = wish;
    const stamp: Stamp = { value: 0 };
    this.stamp(map, stamp);
    const overlay = await this.sheet(map, wish.layers);
    const drawn = drawSheet(overlay, { z, scale, language: wish.language });
    let below: Drawing | undefined;
    let baseLayers: readonly LayerNode[] = [];
    if (base) {
      this.stamp(base, stamp);
      baseLayers = drawnLayers(base, undefined, () => true);
      below = drawSheet(await this.sheet(base, baseLayers), {
        z,
        scale,
        language: base.project.languages[0],
      });
    }
    const overlayIds = overlay.layers.map(({ layer }) => layer.id);
    const layers = await this.options.changes.track([...overlayIds, ...baseLayers.map((layer) => layer.id)]);
    for (const layer of layers) layer.stamps.add(stamp);
    return {
      key: digest(`${drawn.source.digest} ${below?.source.digest ?? ""} ${scale}`),
      map: drawn.source,
      base: below?.source,
      scale,
      bufferPixels: Math.max(drawn.bufferPixels, below?.bufferPixels ?? 0),
      collides: drawn.collides || (below?.collides ?? false),
      layers,
      baseFrom: overlayIds.length,
      stamp,
      surrogateKey: [`p${map.project.id}`, `m${map.id}`, ...layers.map((layer) => `l${layer.id}`)].join(" "),
    };
  }

  private async sheet(map: MapState, layers: readonly LayerNode[]): Promise<Sheet> {
    const [properties, styled] = await Promise.all([
      this.properties(map),
      Promise.all(layers.map((layer) => this.styled(map, layer))),
    ]);
    return { map, properties, layers: styled.filter((layer) => layer !== undefined) };
  }

  /** As with a layer's style: what no longer compiles decides nothing. */
  private async properties(map: MapState): Promise<MapProperties> {
    try {
      const request = { mapStyle: map.cssStyle, deadlineMs: this.options.styleDeadlineMs };
      return (await this.options.styles.compile(request)).map;
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "invalid_style") throw error;
      this.options.log.warn({ map: map.code, reason: error.message }, "a stored style does not compile");
      return {};
    }
  }

  /** A stored style that no longer compiles hides its layer and nothing else; it was checked when it was saved. */
  private async styled(map: MapState, layer: LayerNode): Promise<StyledLayer | undefined> {
    if (!hasObjects(layer)) return undefined;
    try {
      const { style } = await this.options.styles.compile({
        mapStyle: map.cssStyle,
        layerStyle: layer.cssStyle,
        layerCode: layer.code,
        deadlineMs: this.options.styleDeadlineMs,
      });
      return { layer, style };
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "invalid_style") throw error;
      this.options.log.warn(
        { map: map.code, layer: layer.code, reason: error.message },
        "a stored style does not compile",
      );
      return undefined;
    }
  }

  /** The built-in base map; undefined while an installation has none loaded. */
  private async baseMap(): Promise<MapState | undefined> {
    try {
      return await this.options.catalog.ownMap(baseMapCode.project, baseMapCode.map);
    } catch (error) {
      if (error instanceof Failure && (error.code === "project_not_found" || error.kind === "not_found"))
        return undefined;
      throw error;
    }
  }

  private plansOf(map: MapState): LRUCache<string, Promise<Plan>> {
    let plans = this.plans.get(map);
    if (!plans) {
      plans = new LRUCache<string, Promise<Plan>>({
        max: plansPerMap,
        dispose: (plan) => void plan.then(release, () => undefined),
      });
      this.plans.set(map, plans);
    }
    return plans;
  }

  private stamp(map: MapState, stamp: Stamp): void {
    if (this.retired.has(map)) stamp.value = -1;
    const stamps = this.stamps.get(map) ?? new Set();
    this.stamps.set(map, stamps.add(stamp));
  }
}

function release(plan: Plan): void {
  for (const layer of plan.layers) layer.stamps.delete(plan.stamp);
}

/**
 * Zoom that stands for the tile's in a plan. Statements differ by zoom only where bands or thinning do, but rules
 * by zoom are Mapnik's own matter, so above the last band one plan serves all zooms.
 */
function planZoom(address: TileAddress): number {
  return Math.min(address.coord.z, bandZooms[bandZooms.length - 1]! + 1);
}
