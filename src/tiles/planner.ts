import { LRUCache } from "lru-cache";
import { rightsOn } from "../access/rights.js";
import type { CatalogCache } from "../catalog/catalog.js";
import { type Caller, hasObjects, type LayerNode, type MapState, Right } from "../catalog/state.js";
import type { ChangeLog } from "../changes/change-log.js";
import type { ChangeCount } from "../changes/count.js";
import type { LayerVersion } from "../changes/layer-version.js";
import { Failure } from "../errors.js";
import type { CompileRequest } from "../hosts/messages.js";
import type { Log } from "../log.js";
import { type StyleCompiler, StyleUndecided } from "../style/compiler.js";
import type { CompiledStyle, MapProperties } from "../style/model.js";
import type { TileAddress, TileScale } from "./address.js";
import { bandZooms } from "./datasource.js";
import { buildMapnikMap, type Drawing, digest, isPlanCurrent, type MapAtZoom, type Plan } from "./plan.js";
import { drawnLayers } from "./selection.js";

/** Project and map of the built-in base map. */
export const baseMapCode = { project: "_base", map: "world" } as const;

/** What a plan takes beside its texts and lists. */
const overheadBytes = 1_000;

export interface PlannerOptions {
  readonly catalog: Pick<CatalogCache, "ownMap" | "sourcesOf" | "isCurrent">;
  readonly count: ChangeCount;
  readonly changes: Pick<ChangeLog, "epoch" | "track">;
  readonly styles: StyleCompiler;
  readonly styleDeadlineMs: number;
  /** Memory for plans. */
  readonly bytes: number;
  readonly log: Log;
}

/** What a plan is made from. */
interface Subject {
  readonly map: MapState;
  readonly layers: readonly LayerNode[];
  readonly base: MapState | undefined;
  readonly z: number;
  readonly scale: TileScale;
  readonly language: string;
  /** The count at which the maps were right; below zero: they are not any more. */
  readonly asOf: number;
}

interface Kept {
  readonly plan: Plan;
  readonly bytes: number;
}

/** Makes plans from snapshots of maps. Those that fall out of memory are made again; whoever holds one may go on doing so. */
export class Planner {
  private readonly kept: LRUCache<string, Kept>;
  private readonly making = new Map<string, Promise<Plan>>();
  /** Numbers for snapshots of maps, which stand for them in keys. */
  private readonly numbers = new WeakMap<MapState, number>();
  private lastNumber = 0;

  constructor(private readonly options: PlannerOptions) {
    this.kept = new LRUCache({
      maxSize: Math.max(options.bytes, overheadBytes),
      sizeCalculation: ({ bytes }) => bytes,
    });
  }

  /** The plan for what `caller` may see of the address. The map must be readable to the caller. */
  async plan(map: MapState, caller: Caller, address: TileAddress): Promise<Plan> {
    const base = address.base && map.project.baseMap.kind === "builtin" ? await this.baseMap() : undefined;
    const readable = (layer: LayerNode) => (rightsOn(map, caller, layer) & Right.read) !== 0;
    const layers = drawnLayers(map, address.layers, readable);
    const { languages } = map.project;
    // Made-up languages would be drawn like the main one, each for itself.
    const language = languages.find((known) => known === address.language) ?? languages[0];
    const { catalog, changes, count } = this.options;
    // Nothing was awaited since the base map was looked up.
    const asOf = catalog.isCurrent(map) && (!base || catalog.isCurrent(base)) ? count.now : -1;
    const subject: Subject = {
      map,
      layers,
      base,
      z: planZoom(address),
      scale: address.scale,
      language,
      asOf,
    };
    const key = [
      this.numberOf(map),
      base ? this.numberOf(base) : "-",
      subject.z,
      subject.scale,
      language,
      layers.map((layer) => layer.id).join(","),
    ].join(" ");
    const known = this.kept.get(key)?.plan;
    if (known?.epoch === changes.epoch && isPlanCurrent(known)) return known;
    let making = this.making.get(key);
    if (!making) {
      making = this.make(subject).finally(() => this.making.delete(key));
      this.making.set(key, making);
    }
    const plan = await making;
    if (plan.complete && isPlanCurrent(plan)) this.kept.set(key, { plan, bytes: bytesOf(plan, key) });
    return plan;
  }

  /** Plans in memory and their bytes. */
  counts(): { readonly plans: number; readonly bytes: number } {
    return { plans: this.kept.size, bytes: this.kept.calculatedSize };
  }

  private async make({ map, layers, base, z, scale, language, asOf }: Subject): Promise<Plan> {
    const sheet = await this.sheet(map, layers);
    const drawn = buildMapnikMap(sheet, { z, scale, language });
    let below: Drawing | undefined;
    let baseSheet: MapAtZoom | undefined;
    if (base) {
      baseSheet = await this.sheet(
        base,
        drawnLayers(base, undefined, () => true),
      );
      below = buildMapnikMap(baseSheet, { z, scale, language: base.project.languages[0] });
    }
    const ids = [sheet, baseSheet].map((one) => one?.layers.map(({ layer }) => layer.id) ?? []);
    const { epoch, versions } = await this.track(ids.flat());
    const origins = [map, base].flatMap((one) => (one ? this.options.catalog.sourcesOf(one) : []));
    return {
      key: digest(`${drawn.source.digest} ${below?.source.digest ?? ""} ${scale}`),
      map: drawn.source,
      base: below?.source,
      scale,
      bufferPixels: Math.max(drawn.bufferPixels, below?.bufferPixels ?? 0),
      collides: drawn.collides || (below?.collides ?? false),
      layers: versions,
      baseFrom: ids[0]!.length,
      epoch,
      sources: [...new Set([...origins, ...versions])],
      origins,
      asOf,
      complete: sheet.complete && (baseSheet?.complete ?? true),
      surrogateKey: [`p${map.project.id}`, `m${map.id}`, ...versions.map(({ id }) => `l${id}`)].join(" "),
    };
  }

  /** The layers' versions, all of one history. */
  private async track(ids: readonly number[]): Promise<{ epoch: string; versions: readonly LayerVersion[] }> {
    const { changes } = this.options;
    for (;;) {
      const { epoch } = changes;
      const versions = await changes.track(ids);
      if (changes.epoch === epoch) return { epoch, versions };
    }
  }

  private async sheet(map: MapState, layers: readonly LayerNode[]): Promise<MapAtZoom> {
    const [properties, ...styles] = await Promise.all([
      this.properties(map),
      ...layers.map((layer) => this.style(map, layer)),
    ]);
    return {
      map,
      properties: properties === undecided ? {} : properties,
      layers: layers.flatMap((layer, index) => {
        const style = styles[index];
        return style && style !== undecided ? [{ layer, style }] : [];
      }),
      complete: properties !== undecided && !styles.includes(undecided),
    };
  }

  private async properties(map: MapState): Promise<MapProperties | typeof undecided> {
    const request = { mapStyle: map.cssStyle, deadlineMs: this.options.styleDeadlineMs };
    const compiled = await this.compiled(request, map);
    return compiled === undecided ? undecided : (compiled?.map ?? {});
  }

  private async style(
    map: MapState,
    layer: LayerNode,
  ): Promise<CompiledStyle | typeof undecided | undefined> {
    if (!hasObjects(layer)) return undefined;
    const request = {
      mapStyle: map.cssStyle,
      layerStyle: layer.cssStyle,
      layerCode: layer.code,
      deadlineMs: this.options.styleDeadlineMs,
    };
    const compiled = await this.compiled(request, map, layer);
    return compiled === undecided ? undecided : compiled?.style;
  }

  /** A stored style that no longer compiles decides nothing, and hides its layer; it was checked when it was saved. */
  private async compiled(request: CompileRequest, map: MapState, layer?: LayerNode) {
    try {
      return await this.options.styles.compile(request, { project: map.project.id, stored: true });
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "invalid_style") throw error;
      if (error instanceof StyleUndecided) return undecided;
      this.options.log.warn(
        { map: map.code, layer: layer?.code, reason: error.message },
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

  private numberOf(map: MapState): number {
    let number = this.numbers.get(map);
    if (number === undefined) {
      number = ++this.lastNumber;
      this.numbers.set(map, number);
    }
    return number;
  }
}

/** Instead of a style of which is not known whether it compiles. */
const undecided = Symbol("undecided");

const bytesOf = (plan: Plan, key: string): number =>
  overheadBytes +
  2 * (key.length + plan.surrogateKey.length + plan.map.xml.length + (plan.base?.xml.length ?? 0)) +
  32 * plan.layers.length;

/**
 * Zoom that stands for the tile's in a plan. Statements differ by zoom only where bands or thinning do, but rules
 * by zoom are Mapnik's own matter, so above the last band one plan serves all zooms.
 */
function planZoom(address: TileAddress): number {
  return Math.min(address.coord.z, bandZooms[bandZooms.length - 1]! + 1);
}
