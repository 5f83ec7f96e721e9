import { LRUCache } from "lru-cache";
import { rightsOn } from "../access/rights.js";
import type { CatalogCache } from "../catalog/catalog.js";
import {
  type BaseMap,
  type Caller,
  hasObjects,
  type LayerNode,
  type MapState,
  Right,
} from "../catalog/state.js";
import type { ChangeLog } from "../changes/change-log.js";
import type { ChangeCount } from "../changes/count.js";
import type { LayerVersion } from "../changes/layer-version.js";
import { Failure } from "../errors.js";
import type { RasterService } from "../external/requests.js";
import type { RasterServices } from "../external/services.js";
import type { CompileRequest } from "../hosts/messages.js";
import type { Log } from "../log.js";
import { type StyleCompiler, StyleTimeout } from "../style/compiler.js";
import type { CompiledStyle, MapProperties } from "../style/model.js";
import { type Icons, illustrate, picturesOf } from "../style/pictures.js";
import { isCustom, type Plugins, pluginOf, pluginStyle } from "../visual/plugins.js";
import { drawsStatistics, isVisualized, visualStyle } from "../visual/style.js";
import type { VisualSource } from "../visual/values.js";
import type { TileAddress, TileScale } from "./address.js";
import { mapAtOnce } from "./at-once.js";
import { lastBandZoom, missingThinning } from "./datasource.js";
import { externalPart } from "./external-layer.js";
import {
  buildParts,
  isPlanCurrent,
  type MapDrawing,
  type Plan,
  partsDigest,
  partsLength,
  type StyledLayer,
  type StyledMap,
  showsCurrentStatistics,
} from "./plan.js";
import { drawnLayers } from "./selection.js";
import type { ThinningMaker } from "./thinning-maker.js";

const isOutdated = (layer: StyledLayer): boolean => "isOutdated" in layer && layer.isOutdated === true;

/** Project and map of the built-in base map. */
export const baseMapCode = { project: "_base", map: "world" } as const;

/** Styles of layers that a plan asks for at once, so that wide maps take no more turns of the compiler than others. */
const layersAtOnce = 8;

/** Memory of a plan besides its texts and lists. */
const planBytes = 1_000;

export interface PlannerOptions {
  readonly catalog: Pick<CatalogCache, "ownMap" | "sourcesOf" | "isCurrent">;
  readonly count: ChangeCount;
  readonly changes: Pick<ChangeLog, "epoch" | "track" | "trusted" | "refresh">;
  readonly styles: StyleCompiler;
  readonly services: Pick<RasterServices, "image">;
  readonly visuals: VisualSource;
  /** For custom visualizations. */
  readonly plugins: Plugins;
  readonly styleDeadlineMs: number;
  readonly thinnings: Pick<ThinningMaker, "want">;
  /** Pictures of the installation, by `icon:name`. */
  readonly icons: Icons;
  /** Memory for plans. */
  readonly bytes: number;
  readonly log: Log;
}

/** What a plan is made from. */
interface PlanInputs {
  readonly map: MapState;
  readonly layers: readonly LayerNode[];
  readonly base: MapState | undefined;
  /** Whether the base map of the project was asked for, if that is not the built-in one. */
  readonly hasBase: boolean;
  /** Whether the background colour of the map's style is drawn. */
  readonly hasBackground: boolean;
  readonly z: number;
  readonly scale: TileScale;
  readonly language: string;
  /** The change count at which the maps were current; -1 when they are outdated already. */
  readonly asOf: number;
}

interface CachedPlan {
  readonly plan: Plan;
  readonly bytes: number;
}

/** Makes plans from snapshots of maps and caches them. */
export class Planner {
  private readonly plans: LRUCache<string, CachedPlan>;
  private readonly pending = new Map<string, Promise<Plan>>();
  /** Ids of snapshots of maps, for cache keys. */
  private readonly snapshotIds = new WeakMap<MapState, number>();
  private lastSnapshotId = 0;

  constructor(private readonly options: PlannerOptions) {
    this.plans = new LRUCache({
      maxSize: Math.max(options.bytes, planBytes),
      sizeCalculation: ({ bytes }) => bytes,
    });
  }

  /** The plan for the layers of the address that `caller` may read. The caller must be allowed to read the map. */
  async plan(map: MapState, caller: Caller, address: TileAddress): Promise<Plan> {
    const isBuiltin = address.builtinBase || map.project.baseMap.kind === "builtin";
    const base = address.base && isBuiltin ? await this.baseMap() : undefined;
    const readable = (layer: LayerNode) => (rightsOn(map, caller, layer) & Right.read) !== 0;
    const layers = drawnLayers(map, address.layers, readable);
    const { languages } = map.project;
    // Unknown languages are drawn as the main one, and share its plan.
    const language = languages.find((known) => known === address.language) ?? languages[0];
    const { catalog, changes, count } = this.options;
    // Nothing was awaited since the base map was looked up.
    const asOf = catalog.isCurrent(map) && (!base || catalog.isCurrent(base)) ? count.now : -1;
    const inputs: PlanInputs = {
      map,
      layers,
      base,
      hasBase: address.base && !isBuiltin,
      hasBackground: address.background ?? true,
      z: planZoom(address),
      scale: address.scale,
      language,
      asOf,
    };
    const key = [
      this.snapshotId(map),
      base ? this.snapshotId(base) : Number(inputs.hasBase),
      Number(inputs.hasBackground),
      inputs.z,
      inputs.scale,
      language,
      layers.map((layer) => layer.id).join(","),
    ].join(" ");
    const known = this.plans.get(key)?.plan;
    if (known && known.visualized.length > 0 && !changes.trusted)
      await changes.refresh(known.visualized.map(({ layer }) => layer));
    if (known?.epoch === changes.epoch && isPlanCurrent(known)) return known;
    const joined = this.pending.has(key);
    let plan = await this.makeOnce(key, inputs);
    if (joined && !changes.trusted) await changes.refresh(plan.visualized.map(({ layer }) => layer));
    // It may have been begun before an edit that this request has to see.
    if (joined && !showsCurrentStatistics(plan)) plan = await this.makeOnce(key, inputs);
    if (plan.complete && isPlanCurrent(plan)) this.plans.set(key, { plan, bytes: bytesOf(plan, key) });
    return plan;
  }

  /** Plans in memory and their bytes. */
  counts(): { readonly plans: number; readonly bytes: number } {
    return { plans: this.plans.size, bytes: this.plans.calculatedSize };
  }

  /** The plan that is being made, if any. One that is found after another has ended began after all who waited for that. */
  private makeOnce(key: string, inputs: PlanInputs): Promise<Plan> {
    let pending = this.pending.get(key);
    if (!pending) {
      pending = this.make(inputs).finally(() => this.pending.delete(key));
      this.pending.set(key, pending);
    }
    return pending;
  }

  private async make(inputs: PlanInputs): Promise<Plan> {
    const { map, layers, base, hasBase, hasBackground, z, scale, language, asOf } = inputs;
    const { epoch: epochOfStatistics } = this.options.changes;
    // Before the statistics are computed, so that later edits make the plan outdated.
    const visualized = (
      await this.options.changes.track(
        layers
          .filter((layer) => (isVisualized(layer) || isCustom(layer)) && drawsStatistics(layer))
          .map(({ id }) => id),
      )
    ).map((layer) => ({ layer, version: layer.version }));
    const styledMap = await this.styledMap(map, layers, scale);
    const drawn = buildParts(hasBackground ? styledMap : withoutBackground(styledMap), {
      z,
      scale,
      language,
      isBase: false,
    });
    let baseDrawing: MapDrawing | undefined;
    let styledBase: StyledMap | undefined;
    if (base) {
      styledBase = await this.styledMap(
        base,
        drawnLayers(base, undefined, () => true),
        scale,
      );
      const language = base.project.languages[0];
      baseDrawing = buildParts(styledBase, { z, scale, language, isBase: true });
    }
    const { baseMap } = map.project;
    const baseImage =
      hasBase && baseMap.kind === "tiles"
        ? [{ kind: "image", image: externalPart(this.options.services, serviceOf(baseMap)) } as const]
        : [];
    const parts = [...baseImage, ...(baseDrawing?.parts ?? []), ...drawn.parts];
    this.wantThinnings(styledMap);
    const ids = [styledMap, styledBase].map((one) => one?.layers.map(({ layer }) => layer.id) ?? []);
    const { epoch, versions } = await this.track(ids.flat());
    // The statistics are those of another history, which no change of this one would make outdated.
    if (visualized.length > 0 && epoch !== epochOfStatistics) return this.make(inputs);
    const mapSources = [map, base].flatMap((one) => (one ? this.options.catalog.sourcesOf(one) : []));
    return {
      key: partsDigest(parts, scale),
      parts,
      scale,
      bufferPixels: Math.max(drawn.bufferPixels, baseDrawing?.bufferPixels ?? 0),
      collides: drawn.collides || (baseDrawing?.collides ?? false),
      isDrawnAlike: drawn.isDrawnAlike && (baseDrawing?.isDrawnAlike ?? true),
      crowds: drawn.crowds,
      layers: versions,
      firstBaseLayer: ids[0]!.length,
      owner: `p${map.project.id}`,
      epoch,
      sources: [...new Set([...mapSources, ...versions])],
      mapSources,
      visualized,
      asOf,
      complete: styledMap.complete && (styledBase?.complete ?? true),
      projectId: map.project.id,
      maps: [map, ...(base ? [base] : [])].map(({ id }, index) => ({ id, layers: ids[index]! })),
    };
  }

  /** Asks for what its layers would be drawn from faster. */
  private wantThinnings({ map, layers }: StyledMap): void {
    for (const one of layers) {
      const spec = "style" in one && missingThinning(one.layer, one.style, map.project.languages[0]);
      if (spec) this.options.thinnings.want(one.layer.id, spec);
    }
  }

  /** The layers' versions, all of one epoch. */
  private async track(ids: readonly number[]): Promise<{ epoch: string; versions: readonly LayerVersion[] }> {
    const { changes } = this.options;
    for (;;) {
      const { epoch } = changes;
      const versions = await changes.track(ids);
      if (changes.epoch === epoch) return { epoch, versions };
    }
  }

  private async styledMap(map: MapState, layers: readonly LayerNode[], scale: TileScale): Promise<StyledMap> {
    const [properties, styled] = await Promise.all([
      this.properties(map),
      mapAtOnce(layers, layersAtOnce, (layer) => this.styledLayer(map, layer, scale)),
    ]);
    return {
      map,
      properties: properties === timedOut ? {} : properties,
      layers: styled.filter((layer) => layer !== undefined && layer !== timedOut),
      complete:
        properties !== timedOut &&
        styled.every((layer) => layer === undefined || (layer !== timedOut && !isOutdated(layer))),
    };
  }

  private illustrated(
    map: MapState,
    layer: LayerNode,
    compiled: CompiledStyle,
    scale: TileScale,
  ): StyledLayer {
    return { layer, ...illustrate(compiled, picturesOf(map.project, this.options.icons), scale) };
  }

  private async properties(map: MapState): Promise<MapProperties | typeof timedOut> {
    const request = { mapStyle: map.cssStyle, deadlineMs: this.options.styleDeadlineMs };
    const compiled = await this.compiled(request, map);
    return compiled === timedOut ? timedOut : (compiled?.map ?? {});
  }

  /** What draws the layer; undefined = nothing does. */
  private async styledLayer(
    map: MapState,
    layer: LayerNode,
    scale: TileScale,
  ): Promise<StyledLayer | typeof timedOut | undefined> {
    const source = layer.source && "url" in layer.source ? layer.source : undefined;
    if (!hasObjects(layer) && !layer.raster && !source) return undefined;
    if (isVisualized(layer)) return this.visualLayer(map, layer, scale);
    if (pluginOf(layer, this.options.plugins)) return this.customLayer(map, layer, scale);
    const request = {
      mapStyle: map.cssStyle,
      layerStyle: layer.cssStyle,
      layerCode: layer.code,
      deadlineMs: this.options.styleDeadlineMs,
    };
    const compiled = await this.compiled(request, map, layer);
    if (!compiled || compiled === timedOut) return compiled;
    if (source) return { layer, image: externalPart(this.options.services, source, compiled.style) };
    return this.illustrated(map, layer, compiled.style, scale);
  }

  /** A layer drawn by its visualization; the class borders are those of the legend. */
  private async visualLayer(
    map: MapState,
    layer: LayerNode,
    scale: TileScale,
  ): Promise<StyledLayer | typeof timedOut> {
    const pictures = picturesOf(map.project, this.options.icons);
    const needed = drawsStatistics(layer);
    const { values, isCurrent } = needed
      ? await this.options.visuals.latest(layer, map.project.languages[0])
      : { values: undefined, isCurrent: true };
    if (needed && !values) return timedOut;
    const style = visualStyle(layer, values, (name) => pictures.get(name));
    const styled = this.illustrated(map, layer, style, scale);
    return isCurrent ? styled : { ...styled, isOutdated: true };
  }

  /** A layer drawn by a plug-in; undefined when that fails, which other layers do not notice. */
  private async customLayer(
    map: MapState,
    layer: LayerNode,
    scale: TileScale,
  ): Promise<StyledLayer | typeof timedOut | undefined> {
    const { plugins, visuals, styleDeadlineMs: deadlineMs, log } = this.options;
    const needed = drawsStatistics(layer);
    const { values, isCurrent } = needed
      ? await visuals.latest(layer, map.project.languages[0])
      : { values: undefined, isCurrent: true };
    if (needed && !values) return timedOut;
    let layerStyle: string;
    try {
      layerStyle = pluginStyle(layer, plugins, values?.range ?? null) ?? "";
    } catch (error) {
      log.warn({ err: error, map: map.code, layer: layer.code }, "a plug-in for visualizations failed");
      return undefined;
    }
    const request = { mapStyle: "", layerStyle, layerCode: layer.code, deadlineMs };
    const compiled = await this.compiled(request, map, layer);
    if (!compiled || compiled === timedOut) return compiled;
    const styled = this.illustrated(map, layer, compiled.style, scale);
    return isCurrent ? styled : { ...styled, isOutdated: true };
  }

  /** A stored style was valid when it was saved. If it no longer compiles, its layer is not drawn. */
  private async compiled(request: CompileRequest, map: MapState, layer?: LayerNode) {
    try {
      return await this.options.styles.compile(request, { project: map.project.id, stored: true });
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "invalid_style") throw error;
      if (error instanceof StyleTimeout) return timedOut;
      this.options.log.warn(
        { map: map.code, layer: layer?.code, reason: error.message },
        "a stored style does not compile",
      );
      return undefined;
    }
  }

  /** The built-in base map; undefined when it is not installed. */
  private async baseMap(): Promise<MapState | undefined> {
    try {
      return await this.options.catalog.ownMap(baseMapCode.project, baseMapCode.map);
    } catch (error) {
      if (error instanceof Failure && (error.code === "project_not_found" || error.kind === "not_found"))
        return undefined;
      throw error;
    }
  }

  private snapshotId(map: MapState): number {
    let id = this.snapshotIds.get(map);
    if (id === undefined) {
      id = ++this.lastSnapshotId;
      this.snapshotIds.set(map, id);
    }
    return id;
  }
}

const serviceOf = ({ url, minZoom, maxZoom }: Extract<BaseMap, { kind: "tiles" }>): RasterService => ({
  url,
  minZoom: minZoom ?? null,
  maxZoom: maxZoom ?? null,
});

const withoutBackground = (styled: StyledMap): StyledMap => {
  const { backgroundColor: _, ...properties } = styled.properties;
  return { ...styled, properties };
};

/** In place of a style whose compilation timed out, or whose statistics are missing. */
const timedOut = Symbol("timed out");

const bytesOf = (plan: Plan, key: string): number =>
  planBytes + 2 * (key.length + partsLength(plan.parts)) + 40 * plan.layers.length;

/**
 * The zoom of a plan. SQL differs by zoom only up to the last generalized table, and Mapnik itself selects rules by
 * scale, so above that zoom one plan serves all zooms.
 */
function planZoom(address: TileAddress): number {
  return Math.min(address.coord.z, lastBandZoom + 1);
}
