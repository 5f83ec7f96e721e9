import { LRUCache } from "lru-cache";
import { rightsOn } from "../access/rights.js";
import type { CatalogCache } from "../catalog/catalog.js";
import {
  type BaseMap,
  baseMapOf,
  type Caller,
  hasObjects,
  type LayerNode,
  type MapState,
  Right,
} from "../catalog/state.js";
import type { ChangeLog } from "../changes/change-log.js";
import type { ChangeCount } from "../changes/count.js";
import type { LayerVersion } from "../changes/layer-version.js";
import type { Clock } from "../clock.js";
import { Failure } from "../errors.js";
import type { RasterService } from "../external/requests.js";
import type { RasterServices } from "../external/services.js";
import type { CompileRequest } from "../hosts/messages.js";
import { ObjectNumbers } from "../object-numbers.js";
import type { Pause, Slices } from "../queues/slices.js";
import type { StyleCompiler } from "../style/compiler.js";
import type { CompiledStyle, MapProperties } from "../style/model.js";
import { type Icons, illustrate, picturesOf } from "../style/pictures.js";
import { isCustom, type Plugins, pluginOf, pluginStyle } from "../visual/plugins.js";
import { drawsStatistics, isVisualized, visualStyle } from "../visual/style.js";
import type { VisualSource } from "../visual/values.js";
import type { TileAddress, TileScale } from "./address.js";
import { assemble } from "./assemble.js";
import { mapAtOnce } from "./at-once.js";
import { baseMapCode, baseMapIn, baseMapStyleOf } from "./base-map.js";
import { lastLevelZoom, missingThinning } from "./datasource.js";
import { externalPart } from "./external-layer.js";
import type { MissingCause, MissingLayer } from "./missing-layer.js";
import {
  isPlanCurrent,
  type MapnikMapOptions,
  mapnikLayersOf,
  type Plan,
  partsLength,
  prepareParts,
  type StyledLayer,
  type StyledMap,
  showsCurrentStatistics,
} from "./plan.js";
import { drawnLayers } from "./selection.js";
import type { ThinningMaker } from "./thinning-maker.js";

const isOutdated = (layer: StyledLayer | MissingLayer): boolean =>
  "isOutdated" in layer && layer.isOutdated === true;

/** Styles of layers that a plan asks for at once, so that wide maps take no more turns of the compiler than others. */
const layersAtOnce = 8;

/**
 * A plan without a layer that could be drawn soon is used again for so long, as making one for each tile would cost more than
 * the tile.
 */
const incompleteMs = 2_000;

/** Memory of a plan besides its texts, and for each of its layers, with that of one with fewer layers. */
const planBytes = 2_000;
const layerBytes = 1_000;

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
  /** How long a plan waits for statistics. */
  readonly statisticsMs: number;
  readonly thinnings: Pick<ThinningMaker, "want">;
  /** Pictures of the installation, by `icon:name`. */
  readonly icons: Icons;
  /** Memory for plans. */
  readonly bytes: number;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly slices: Pick<Slices, "begin">;
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
  /** Whether it is only looked at, so that nothing is made ready for it. */
  readonly isTried?: boolean;
}

interface Drawing {
  readonly scale: TileScale;
  /** Resolves when statistics are not waited for any longer. */
  readonly late: Promise<void>;
}

interface CachedPlan {
  readonly plan: Plan;
  readonly bytes: number;
  /** By the clock; absent = as long as nothing changes. */
  readonly until?: number;
}

/** Makes plans from snapshots of maps and caches them. */
export class Planner {
  private readonly plans: LRUCache<string, CachedPlan>;
  private readonly pending = new Map<string, Promise<Plan>>();
  /** Of maps, for cache keys. */
  private readonly snapshots = new ObjectNumbers();

  constructor(private readonly options: PlannerOptions) {
    this.plans = new LRUCache({
      maxSize: Math.max(options.bytes, planBytes),
      sizeCalculation: ({ bytes }) => bytes,
    });
  }

  /**
   * As `plan`, for a map that is not the catalogue's, as with a style that is not saved: it is made anew, and kept nowhere.
   */
  async tried(map: MapState, caller: Caller, address: TileAddress): Promise<Plan> {
    return this.make({ ...(await this.inputsOf(map, caller, address)), isTried: true });
  }

  private async inputsOf(map: MapState, caller: Caller, address: TileAddress): Promise<PlanInputs> {
    const isBuiltin = address.builtinBase || baseMapOf(map).kind === "builtin";
    const base = address.base && isBuiltin ? await this.baseMap() : undefined;
    const readable = (layer: LayerNode) => (rightsOn(map, caller, layer) & Right.read) !== 0;
    const layers = drawnLayers(map, address.layers, readable);
    const { languages } = map.project;
    // Unknown languages are drawn as the main one, and share its plan.
    const language = languages.find((known) => known === address.language) ?? languages[0];
    const { catalog, count } = this.options;
    // Nothing was awaited since the base map was looked up.
    const asOf = catalog.isCurrent(map) && (!base || catalog.isCurrent(base)) ? count.now : -1;
    return {
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
  }

  /** The plan for the layers of the address that `caller` may read. The caller must be allowed to read the map. */
  async plan(map: MapState, caller: Caller, address: TileAddress): Promise<Plan> {
    const { changes } = this.options;
    const inputs = await this.inputsOf(map, caller, address);
    const { base, layers, language } = inputs;
    const key = [
      this.snapshots.of(map),
      base ? this.snapshots.of(base) : Number(inputs.hasBase),
      Number(inputs.hasBackground),
      inputs.z,
      inputs.scale,
      language,
      layers.map((layer) => layer.id).join(","),
    ].join(" ");
    const cached = this.plans.get(key);
    const known =
      cached?.until === undefined || this.options.clock.now() < cached.until ? cached?.plan : undefined;
    if (known && known.visualized.length > 0 && !changes.trusted)
      await changes.refresh(known.visualized.map(({ layer }) => layer));
    if (known?.epoch === changes.epoch && isPlanCurrent(known)) return known;
    const joined = this.pending.has(key);
    let plan = await this.makeOnce(key, inputs);
    if (joined && !changes.trusted) await changes.refresh(plan.visualized.map(({ layer }) => layer));
    // The plan may have been begun before an edit that this request has to see.
    if (joined && !showsCurrentStatistics(plan)) plan = await this.makeOnce(key, inputs);
    this.keep(key, plan);
    return plan;
  }

  private keep(key: string, plan: Plan): void {
    if (!isPlanCurrent(plan)) return;
    const bytes = bytesOf(plan, key);
    if (plan.complete) this.plans.set(key, { plan, bytes });
    else if (plan.missing.length > 0 && this.plans.peek(key)?.plan !== plan)
      this.plans.set(key, { plan, bytes, until: this.options.clock.now() + incompleteMs });
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
    let cancel = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      cancel = this.options.clock.after(this.options.statisticsMs, resolve);
    });
    try {
      return await this.makeBefore(late, inputs);
    } finally {
      cancel();
    }
  }

  private async makeBefore(late: Promise<void>, inputs: PlanInputs): Promise<Plan> {
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
    const owner = `p${map.project.id}`;
    const pause = this.options.slices.begin(owner);
    const options = { z, scale, pause, late };
    const styled = await this.styledMap(map, layers, { ...options, language });
    const styledMap = hasBackground ? styled : withoutBackground(styled);
    const baseMap = baseMapOf(map);
    const look = base && baseMapIn(baseMapStyleOf(baseMap), base);
    const styledBase =
      look &&
      (await this.styledMap(
        look,
        drawnLayers(look, undefined, () => true),
        {
          ...options,
          language: look.project.languages.find((known) => known === language) ?? look.project.languages[0],
        },
      ));
    const baseImage =
      hasBase && baseMap.kind === "tiles"
        ? externalPart(this.options.services, serviceOf(baseMap), `p${map.project.id}`)
        : undefined;
    if (!inputs.isTried) await this.wantThinnings(styledMap, pause);
    for (const one of styledBase ? [styledMap, styledBase] : [styledMap])
      await prepareParts(one, { atAntimeridian: false }, pause);
    const ids = [styledMap, styledBase].flatMap((one) => one?.layers.map(({ layer }) => layer.id) ?? []);
    const { epoch, versions } = await this.track(ids);
    // The statistics are those of another history, which no change of this one would make outdated.
    if (visualized.length > 0 && epoch !== epochOfStatistics) return this.makeBefore(late, inputs);
    const mapSources = [map, base].flatMap((one) => (one ? this.options.catalog.sourcesOf(one) : []));
    return assemble({
      ...{
        map: styledMap,
        base: styledBase,
        baseImage,
        scale,
        begin: () => this.options.slices.begin(owner),
      },
      ...{ epoch, versions, mapSources, visualized, asOf },
    });
  }

  /** Asks for what its layers would be drawn from faster. */
  private async wantThinnings({ map, layers }: StyledMap, pause: Pause): Promise<void> {
    for (const one of layers) {
      await pause();
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

  private async styledMap(
    map: MapState,
    layers: readonly LayerNode[],
    { pause, late, ...options }: MapnikMapOptions & { readonly pause: Pause; readonly late: Promise<void> },
  ): Promise<StyledMap> {
    const drawing = { scale: options.scale, late };
    const [properties, styled] = await Promise.all([
      this.properties(map),
      mapAtOnce(layers, layersAtOnce, async (layer) => {
        await pause();
        return this.styledLayer(map, layer, drawing);
      }),
    ]);
    return {
      map,
      z: options.z,
      properties: properties ?? {},
      layers: styled.flatMap((layer) => (layer && !("cause" in layer) ? [layer] : [])),
      layersOf: mapnikLayersOf(map, options),
      complete: properties !== undefined && !styled.some((layer) => layer && isOutdated(layer)),
      missing: styled.flatMap((layer) => (layer && "cause" in layer ? [layer] : [])),
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

  /** Undefined = the map's style does not compile. */
  private async properties(map: MapState): Promise<MapProperties | undefined> {
    const request = { mapStyle: map.cssStyle, deadlineMs: this.options.styleDeadlineMs };
    const compiled = await this.compiled(request, map);
    return compiled instanceof Failure ? undefined : compiled.map;
  }

  /** What draws the layer; undefined = nothing does. */
  private async styledLayer(
    map: MapState,
    layer: LayerNode,
    drawing: Drawing,
  ): Promise<StyledLayer | MissingLayer | undefined> {
    const source = layer.source && "url" in layer.source ? layer.source : undefined;
    if (!hasObjects(layer) && !layer.raster && !source) return undefined;
    if (isVisualized(layer)) return this.visualLayer(map, layer, drawing);
    if (pluginOf(layer, this.options.plugins)) return this.customLayer(map, layer, drawing);
    const request = {
      mapStyle: map.cssStyle,
      layerStyle: layer.cssStyle,
      layerCode: layer.code,
      deadlineMs: this.options.styleDeadlineMs,
    };
    const compiled = await this.compiled(request, map);
    if (compiled instanceof Failure) return missing(layer, "style", compiled);
    if (source) {
      const owner = `p${map.project.id}`;
      return { layer, image: externalPart(this.options.services, source, owner, compiled.style) };
    }
    return this.illustrated(map, layer, compiled.style, drawing.scale);
  }

  /** A layer drawn by its visualization; the class borders are those of the legend. */
  private async visualLayer(
    map: MapState,
    layer: LayerNode,
    drawing: Drawing,
  ): Promise<StyledLayer | MissingLayer> {
    const pictures = picturesOf(map.project, this.options.icons);
    const needed = drawsStatistics(layer);
    const { values, isCurrent } = needed
      ? await this.options.visuals.latest(layer, map.project, drawing.late)
      : { values: undefined, isCurrent: true };
    if (needed && !values) return missing(layer, "statistics");
    const style = visualStyle(layer, values, (name) => pictures.get(name));
    const styled = this.illustrated(map, layer, style, drawing.scale);
    return isCurrent ? styled : { ...styled, isOutdated: true };
  }

  /** A layer drawn by a plug-in. When that fails, other layers do not notice. */
  private async customLayer(
    map: MapState,
    layer: LayerNode,
    drawing: Drawing,
  ): Promise<StyledLayer | MissingLayer> {
    const { plugins, visuals, styleDeadlineMs: deadlineMs } = this.options;
    const needed = drawsStatistics(layer);
    const { values, isCurrent } = needed
      ? await visuals.latest(layer, map.project, drawing.late)
      : { values: undefined, isCurrent: true };
    if (needed && !values) return missing(layer, "statistics");
    let layerStyle: string;
    try {
      layerStyle = pluginStyle(layer, plugins, values?.range ?? null) ?? "";
    } catch (error) {
      return missing(layer, "plugin", error);
    }
    const request = { mapStyle: "", layerStyle, layerCode: layer.code, deadlineMs };
    const compiled = await this.compiled(request, map);
    if (compiled instanceof Failure) return missing(layer, "plugin", compiled);
    const styled = this.illustrated(map, layer, compiled.style, drawing.scale);
    return isCurrent ? styled : { ...styled, isOutdated: true };
  }

  /** A stored style was valid when it was saved. @returns why it does not compile any more, or not in time */
  private async compiled(request: CompileRequest, map: MapState) {
    try {
      return await this.options.styles.compile(request, { project: map.project.id, stored: true });
    } catch (error) {
      if (error instanceof Failure && error.code === "invalid_style") return error;
      throw error;
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

const missing = ({ id, code }: LayerNode, cause: MissingCause, reason?: unknown): MissingLayer => ({
  ...{ id, code, cause },
  ...(reason !== undefined && { reason }),
});

const bytesOf = (plan: Plan, key: string): number =>
  planBytes + 2 * (key.length + partsLength(plan.parts)) + layerBytes * plan.layers.length;

/**
 * The zoom of a plan. SQL differs by zoom only up to the last generalized table, and Mapnik itself selects rules by
 * scale, so above that zoom one plan serves all zooms.
 */
function planZoom(address: TileAddress): number {
  return Math.min(address.coord.z, lastLevelZoom + 1);
}
