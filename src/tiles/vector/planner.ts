import { LRUCache } from "lru-cache";
import { rightsOn } from "../../access/rights.js";
import type { CatalogCache } from "../../catalog/catalog.js";
import { type Caller, hasObjects, type LayerNode, type MapState, Right } from "../../catalog/state.js";
import type { ChangeLog } from "../../changes/change-log.js";
import type { ChangeCount } from "../../changes/count.js";
import type { LayerVersion } from "../../changes/layer-version.js";
import { Failure } from "../../errors.js";
import { ObjectNumbers } from "../../object-numbers.js";
import { onceAsked } from "../../once.js";
import type { Pause, Slices } from "../../queues/slices.js";
import { type StyleCompiler, StyleTimeout } from "../../style/compiler.js";
import { isVisualized } from "../../visual/style.js";
import { mapAtOnce } from "../at-once.js";
import type { MissingLayer } from "../missing-layer.js";
import { digest, isPlanCurrent, type TilePlan } from "../plan.js";
import { drawnLayers } from "../selection.js";
import type { VectorAddress } from "./address.js";
import {
  bufferPixels,
  type VectorStatement,
  type VectorStatementOptions,
  vectorStatement,
} from "./statement.js";
import { allZooms, type ZoomRange, zoomsOf } from "./zooms.js";

/** Plans of vector tiles: which layers, by which versions, with which SQL. */

export interface VectorPlan extends TilePlan {
  /**
   * Their layers, one after the other, are those of the tile.
   * @param atAntimeridian for tiles that reach beyond ±180°: with the objects of the other end of the world
   */
  readonly statements: (atAntimeridian: boolean) => Promise<readonly VectorStatement[]>;
  /** The same with a statement for each layer. */
  readonly ofEach: (atAntimeridian: boolean) => Promise<readonly VectorStatement[]>;
}

/** A layer of a map's vector tiles. */
export interface VectorLayer {
  readonly layer: LayerNode;
  readonly zooms: ZoomRange;
}

export interface VectorPlannerOptions {
  readonly catalog: Pick<CatalogCache, "sourcesOf" | "isCurrent">;
  readonly count: ChangeCount;
  readonly changes: Pick<ChangeLog, "epoch" | "track">;
  readonly styles: StyleCompiler;
  readonly styleDeadlineMs: number;
  /** Memory for plans. */
  readonly bytes: number;
  readonly slices: Pick<Slices, "begin">;
}

/** Styles that are asked for at once, so that wide maps take no more turns of the compiler than others. */
const layersAtOnce = 8;
/** Layers of one statement. PostgreSQL keeps what it has prepared, and plans each statement as a whole. */
const layersPerStatement = 16;
/** Other tiles of the same statements have another number: 2 = objects are read beyond ±180°. */
const vectorsVersion = 2;
/** Memory of a plan besides its texts and lists. */
const planBytes = 1_000;

export class VectorPlanner {
  private readonly plans: LRUCache<string, CachedPlan>;
  private readonly pending = new Map<string, Promise<VectorPlan>>();
  /** Of maps, for cache keys. */
  private readonly snapshots = new ObjectNumbers();

  constructor(private readonly options: VectorPlannerOptions) {
    this.plans = new LRUCache({
      maxSize: Math.max(options.bytes, planBytes),
      sizeCalculation: ({ bytes }) => bytes,
    });
  }

  /** The plan for the layers of the address that `caller` may read. The caller must be allowed to read the map. */
  async plan(map: MapState, caller: Caller, address: VectorAddress): Promise<VectorPlan> {
    const { changes } = this.options;
    const layers = shownLayers(map, caller, address.layers);
    const { z } = address.coord;
    const { languages } = map.project;
    // Unknown languages are the main one, and share its plan.
    const language = languages.find((known) => known === address.language) ?? languages[0];
    const key = `${this.snapshots.of(map)} ${z} ${language} ${layers.map(({ id }) => id).join(",")}`;
    const isKept = (known?: VectorPlan) => known?.epoch === changes.epoch && isPlanCurrent(known);
    const known = this.plans.get(key)?.plan;
    if (known && isKept(known)) return known;
    const joined = this.pending.has(key);
    const make = () =>
      this.makeOnce(key, { map, layers, zoom: z, languages: { own: language, main: languages[0] } });
    const plan = await make();
    // The plan may have been begun before a change that this request has to see.
    return joined && !isKept(plan) ? make() : plan;
  }

  /** The plan that is being made, if any. One that is found after another has ended began after all who waited for that. */
  private makeOnce(key: string, inputs: PlanInputs): Promise<VectorPlan> {
    let pending = this.pending.get(key);
    if (!pending) {
      pending = this.make(key, inputs).finally(() => this.pending.delete(key));
      this.pending.set(key, pending);
    }
    return pending;
  }

  private async make(key: string, { map, layers, zoom, languages }: PlanInputs): Promise<VectorPlan> {
    const { catalog, count, slices } = this.options;
    const asOf = catalog.isCurrent(map) ? count.now : -1;
    const begin = () => slices.begin(`p${map.project.id}`);
    const { vectorLayers, complete } = await this.withZooms(map, layers, begin());
    const shown = vectorLayers
      .filter(({ zooms }) => zooms.min <= zoom && zoom <= zooms.max)
      .map(({ layer }) => layer)
      // From the bottom of the tree to its top, as they are drawn.
      .toReversed();
    const { epoch, versions } = await this.track(shown.map(({ id }) => id));
    const mapSources = catalog.sourcesOf(map);
    const plan = await assemble({
      ...{ map, shown, versions, mapSources, epoch, complete, asOf, zoom, languages },
      begin,
    });
    if (complete && isPlanCurrent(plan)) {
      const bytes = bytesOf(await plan.statements(false), layers.length);
      this.plans.set(key, { plan, bytes });
    }
    return plan;
  }

  /** The layers of the map's vector tiles that the caller may read, from the top of the tree to its bottom. */
  async layers(
    map: MapState,
    caller: Caller,
    ids: readonly number[] | undefined,
  ): Promise<readonly VectorLayer[]> {
    return (await this.withZooms(map, shownLayers(map, caller, ids))).vectorLayers;
  }

  /** The zooms at which layers of the map are drawn; those of a style that takes too long are all. */
  async zoomsOf(map: MapState, layers: readonly LayerNode[]): Promise<readonly ZoomRange[]> {
    return (await this.withZooms(map, layers)).vectorLayers.map(({ zooms }) => zooms);
  }

  private async withZooms(
    map: MapState,
    layers: readonly LayerNode[],
    pause: Pause = this.options.slices.begin(`p${map.project.id}`),
  ) {
    const zooms = await mapAtOnce(layers, layersAtOnce, async (layer) => {
      await pause();
      return this.zooms(map, layer);
    });
    const vectorLayers = layers.map((layer, index): VectorLayer => {
      return { layer, zooms: zooms[index] ?? allZooms };
    });
    return { vectorLayers, complete: !zooms.includes(undefined) };
  }

  /** The zooms of a layer; undefined = its style took too long to compile. */
  private async zooms(map: MapState, layer: LayerNode): Promise<ZoomRange | undefined> {
    if (isVisualized(layer)) return allZooms;
    const request = {
      mapStyle: map.cssStyle,
      layerStyle: layer.cssStyle,
      layerCode: layer.code,
      deadlineMs: this.options.styleDeadlineMs,
    };
    try {
      const { style } = await this.options.styles.compile(request, { project: map.project.id, stored: true });
      return zoomsOf(style);
    } catch (error) {
      if (error instanceof StyleTimeout) return undefined;
      // A style that no longer compiles.
      if (error instanceof Failure && error.code === "invalid_style") return allZooms;
      throw error;
    }
  }

  /** The layers' versions, all of one epoch. */
  private async track(ids: readonly number[]) {
    const { changes } = this.options;
    for (;;) {
      const { epoch } = changes;
      const versions = await changes.track(ids);
      if (changes.epoch === epoch) return { epoch, versions };
    }
  }
}

interface CachedPlan {
  readonly plan: VectorPlan;
  readonly bytes: number;
}

interface PlanInputs extends Pick<VectorStatementOptions, "zoom" | "languages"> {
  readonly map: MapState;
  readonly layers: readonly LayerNode[];
}

interface Assembly
  extends Pick<VectorPlan, "mapSources" | "epoch" | "complete" | "asOf">,
    Omit<VectorStatementOptions, "atAntimeridian"> {
  readonly map: MapState;
  /** From the bottom of the tree to its top. */
  readonly shown: readonly LayerNode[];
  readonly versions: readonly LayerVersion[];
  /** Begins a work in slices. */
  readonly begin: () => Pause;
}

async function assemble(all: Assembly, missing: readonly MissingLayer[] = []): Promise<VectorPlan> {
  const left = new Set(missing.map(({ id }) => id));
  const shown = all.shown.filter(({ id }) => !left.has(id));
  const layers = all.versions.filter(({ id }) => !left.has(id));
  const { map, mapSources, zoom, languages, begin } = all;
  const statementOf = (layers: readonly LayerNode[], atAntimeridian = false) =>
    vectorStatement(layers, { zoom, languages, atAntimeridian });
  const inPieces = async (atAntimeridian: boolean, size: number) => {
    const pause = begin();
    const statements: VectorStatement[] = [];
    for (const some of chunks(shown, size)) {
      statements.push(statementOf(some, atAntimeridian));
      await pause();
    }
    return statements;
  };
  const statements = await inPieces(false, layersPerStatement);
  const pause = begin();
  const hashes: string[] = [];
  for (const statement of statements) {
    hashes.push(hashOf(statement));
    await pause();
  }
  const statementsAtAntimeridian = onceAsked(() => inPieces(true, layersPerStatement));
  let last: { readonly key: string; readonly plan: Promise<VectorPlan> } | undefined;
  return {
    key: digest(`${vectorsVersion} ${hashes.join(" ")}`),
    statements: async (atAntimeridian) => (atAntimeridian ? statementsAtAntimeridian() : statements),
    ofEach: (atAntimeridian) => inPieces(atAntimeridian, 1),
    bufferPixels,
    reachPixels: bufferPixels,
    collides: false,
    isDrawnAlike: true,
    layers,
    owner: `p${map.project.id}`,
    epoch: all.epoch,
    sources: [...new Set([...mapSources, ...layers])],
    mapSources,
    visualized: [],
    asOf: all.asOf,
    complete: all.complete && missing.length === 0,
    missing,
    without: (more) => {
      const key = more.map(({ id, cause }) => `${id} ${cause}`).join();
      if (last?.key !== key) last = { key, plan: assemble(all, [...missing, ...more]) };
      return last.plan;
    },
    drawingOf: (id) => hashOf(statementOf(shown.filter((layer) => layer.id === id))),
    projectId: map.project.id,
    maps: [{ id: map.id, layers: shown.map(({ id }) => id) }],
  };
}

const hashOf = (statement: VectorStatement): string => digest(JSON.stringify(statement));

function shownLayers(map: MapState, caller: Caller, ids: readonly number[] | undefined): LayerNode[] {
  const readable = (layer: LayerNode) => (rightsOn(map, caller, layer) & Right.read) !== 0;
  return drawnLayers(map, ids, readable).filter(hasObjects);
}

const chunks = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );

const bytesOf = (statements: readonly VectorStatement[], layers: number): number =>
  planBytes +
  32 * layers +
  // With those for the antimeridian, which are made later or never.
  statements.reduce((sum, { text, values }) => sum + 4 * (text.length + values.join("").length), 0);
