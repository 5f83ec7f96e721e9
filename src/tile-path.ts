import { CatalogCache } from "./catalog/catalog.js";
import { type ChangeListener, ChangeLog } from "./changes/change-log.js";
import { ChangeCount } from "./changes/count.js";
import { Watchers } from "./changes/watchers.js";
import type { Clock } from "./clock.js";
import type { Config } from "./config.js";
import type { RasterServices } from "./external/services.js";
import { VisualCache } from "./features/visual-cache.js";
import type { MetatileRequest, MetatileResponse } from "./hosts/messages.js";
import type { Log } from "./log.js";
import { Slices } from "./queues/slices.js";
import type { BlobStore } from "./storage/blob-store.js";
import { manyClients } from "./storage/connection-slots.js";
import type { Database } from "./storage/postgres.js";
import type { Redis } from "./storage/redis.js";
import { CompiledStore, compilerDigest } from "./style/compiled-store.js";
import { type CompileHost, createStyleCompiler, type StyleCompiler } from "./style/compiler.js";
import { AddressCache } from "./tiles/address-cache.js";
import { TileAnswers } from "./tiles/answers.js";
import { BadLayers } from "./tiles/bad-layers.js";
import { Blame } from "./tiles/blame.js";
import { LeftOut } from "./tiles/left-out.js";
import { TileMemory } from "./tiles/memory.js";
import {
  type DrawOptions,
  drawAlone,
  drawMetatile,
  type MetatileOptions,
  metatileSide,
  type RenderOptions,
} from "./tiles/metatile.js";
import type { MissingCause } from "./tiles/missing-layer.js";
import type { PictureFolder } from "./tiles/picture-folder.js";
import { Planner, type PlannerOptions } from "./tiles/planner.js";
import { TileStore } from "./tiles/store.js";
import { TileService, type TileSource } from "./tiles/tile-service.js";
import { VectorPlanner } from "./tiles/vector/planner.js";
import { type VectorAnswers, type VectorTileService, VectorTiles } from "./tiles/vector/tile.js";

/** Wires together the parts of a node that serve tiles, from the request's address to the bytes of the answer. */

export interface TilePathParts {
  readonly config: Pick<
    Config,
    "databaseConnections" | "freshnessWhenCutOff" | "idAlias" | "redisPrefix" | "tiles" | "style" | "catalog"
  >;
  readonly db: Database;
  readonly redis: Redis;
  /** For tiles and compiled styles; absent = the same. */
  readonly tilesRedis?: Redis;
  readonly render: RenderCalls;
  readonly blobs: Pick<BlobStore, "withLocalCopy">;
  /** Images of external layers. */
  readonly services: Pick<RasterServices, "image">;
  /** Unique among all nodes. */
  readonly nodeId: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly on: TilePathEvents;
  readonly pictures: Pick<PictureFolder, "use">;
  readonly plugins: PlannerOptions["plugins"];
  readonly thinnings: PlannerOptions["thinnings"];
  /** Pictures of the installation, by `icon:name`. */
  readonly icons: PlannerOptions["icons"];
}

/** The calls of the render host that tiles need. */
export interface RenderCalls extends CompileHost {
  call: CompileHost["call"] &
    ((
      kind: "metatile",
      request: MetatileRequest,
      options: RenderOptions & { readonly deadlineMs: number },
    ) => Promise<MetatileResponse>);
}

export interface TilePathEvents {
  readonly served: (source: TileSource) => void;
  readonly rendered: (drawn: MetatileResponse) => void;
  /** A tile that is served lacks a layer. */
  readonly leftOut: (cause: MissingCause) => void;
  /** A project or a map changed. */
  readonly catalogueChanged: () => void;
  /** Something changed that the CDN has to be told of. */
  readonly noted: NonNullable<ChangeListener["noted"]>;
  /** The CDN was told of these. */
  readonly cdnPurged: NonNullable<ChangeListener["cdnPurged"]>;
  /** A mark was received, and the CDN was told of what was announced before marks of this node. */
  readonly marked?: ChangeListener["marked"];
  readonly cdnTold?: ChangeListener["cdnTold"];
  /** Cached tiles were dropped at an operator's wish, or changes were not heard of: the CDN may know of neither. */
  readonly purged: () => void;
  /** A file was imported into a layer. */
  readonly imported: () => void;
  /** The database was replaced by one with another history: connections to the old one must be closed. */
  readonly historyChanged: () => void;
}

export interface TilePath<Answer> {
  readonly changes: ChangeLog;
  readonly watchers: Watchers;
  readonly catalog: CatalogCache;
  readonly styles: StyleCompiler;
  readonly visuals: VisualCache;
  readonly planner: Planner;
  readonly slices: Slices;
  /** Layers that cannot be drawn just now. */
  readonly badLayers: Pick<BadLayers, "layers">;
  readonly memory: TileMemory;
  readonly addresses: AddressCache<Answer>;
  readonly tiles: TileService;
  readonly answers: TileAnswers<Answer>;
  readonly vectorPlanner: VectorPlanner;
  readonly vectorTiles: VectorTileService;
  readonly vectorAnswers: VectorAnswers<Answer>;
}

/**
 * Longest lock on the rendering of a metatile. If a node dies while it renders, the others wait this long; a metatile that
 * takes longer is rendered twice.
 */
const maxLockMs = 3_000;

export function wireTilePath<Answer>(parts: TilePathParts): TilePath<Answer> {
  const { config, db, redis, render, blobs, services, clock, log, on, tilesRedis = redis } = parts;
  const count = new ChangeCount();
  const watchers = new Watchers();
  const memory = new TileMemory(config.tiles.memoryBytes);
  const addresses = new AddressCache<Answer>(count, config.tiles.addressBytes, clock);
  const store = new TileStore(tilesRedis, config.redisPrefix, config.tiles.redisSeconds, memory, clock);
  const slices = new Slices(clock);
  const catalog: CatalogCache = new CatalogCache({
    db,
    slices,
    idAlias: config.idAlias,
    count,
    changes: () => changes,
    bytes: config.catalog.memoryBytes,
  });
  const changes: ChangeLog = new ChangeLog({
    db,
    redis,
    redisPrefix: config.redisPrefix,
    nodeId: parts.nodeId,
    count,
    clock,
    log,
    // "refuse" has no number.
    unprovenSeconds: Number(/\d+$/.exec(config.freshnessWhenCutOff)?.[0] ?? 0),
    listener: {
      projectChanged: (id) => {
        catalog.projectChanged(id);
        on.catalogueChanged();
        watchers.projectChanged(id);
        // What was announced meanwhile was not heard of.
        if (id === undefined) on.purged();
      },
      mapChanged: (id) => {
        catalog.mapChanged(id);
        on.catalogueChanged();
        watchers.mapChanged(id);
      },
      noted: on.noted,
      cdnPurged: on.cdnPurged,
      ...(on.marked && { marked: on.marked }),
      ...(on.cdnTold && { cdnTold: on.cdnTold }),
      layerChanged: (layer, area) => watchers.layerChanged(layer, area),
      historyChanged: () => {
        bad.clear();
        badVectors.clear();
        on.historyChanged();
      },
      purged: () => {
        memory.clear();
        addresses.clear();
        on.purged();
      },
      imported: on.imported,
    },
  });
  // The compiler's thread ends at the style's deadline; if that fails, the host is ended after these 3 seconds more.
  const styles = createStyleCompiler(render, {
    deadlineMs: config.style.deadlineMs + 3_000,
    clock,
    store: new CompiledStore({
      redis: tilesRedis,
      prefix: config.redisPrefix,
      compiler: compilerDigest(),
      clock,
    }),
  });
  const visuals = new VisualCache(
    db.for({ client: manyClients.statistics, project: "", purpose: "reads" }),
    changes,
    log,
    undefined,
    undefined,
    db.for({ client: manyClients.statistics, project: "", purpose: "background" }),
  );
  const planner = new Planner({
    visuals,
    catalog,
    count,
    changes,
    styles,
    services,
    styleDeadlineMs: config.style.deadlineMs,
    statisticsMs: config.tiles.deadlineMs,
    thinnings: parts.thinnings,
    icons: parts.icons,
    plugins: parts.plugins,
    bytes: config.tiles.planBytes,
    clock,
    slices,
  });
  const { deadlineMs } = config.tiles;
  const drawing: DrawOptions = {
    blobs,
    pictures: parts.pictures,
    render: (request, options) => render.call("metatile", request, { deadlineMs, ...options }),
  };
  const leftOut = new LeftOut({ log, count: on.leftOut });
  const bad = new BadLayers(clock);
  const blame = new Blame({
    bad,
    deadlineMs,
    draw: (work, ms) => drawAlone(drawing, work, ms),
  });
  const metatiles: MetatileOptions = {
    ...drawing,
    changes,
    clock,
    bad,
    blame: (failed) => blame.of(failed),
    onRendered: on.rendered,
  };
  const tiles = new TileService({
    changes,
    clock,
    memory,
    store,
    lockMs: Math.min(config.tiles.deadlineMs, maxLockMs),
    side: metatileSide,
    bad,
    make: (work) => drawMetatile(metatiles, work),
    onServed: on.served,
    onMissing: (layers, plan) => leftOut.note(layers, plan),
  });
  const answers = new TileAnswers<Answer>({
    ...{ catalog, changes, planner, tiles, addresses, clock },
    redrawn: (address) => address,
  });
  const vectorPlanner = new VectorPlanner({
    catalog,
    count,
    changes,
    styles,
    styleDeadlineMs: config.style.deadlineMs,
    bytes: Math.floor(config.tiles.planBytes / 4),
    slices,
  });
  const badVectors = new BadLayers(clock);
  const maker = new VectorTiles({
    clock,
    bad: badVectors,
    db: db.for({ client: manyClients.vectorTiles, project: "", purpose: "reads" }),
    // The others are for those who read and write objects.
    concurrency: Math.max(1, Math.floor(config.databaseConnections / 6)),
    queueLength: config.tiles.queueLength,
    deadlineMs: config.tiles.deadlineMs,
  });
  const vectorTiles: VectorTileService = new TileService({
    changes,
    clock,
    memory,
    store,
    // A lock costs as much as many of the tiles. Each node bounds how many it makes at once.
    lockMs: 0,
    side: () => 1,
    bad: badVectors,
    make: async (work) => [await maker.make(work)],
    onServed: on.served,
    onMissing: (layers, plan) => leftOut.note(layers, plan),
  });
  const vectorAnswers: VectorAnswers<Answer> = new TileAnswers({
    ...{ catalog, changes, addresses, clock },
    planner: vectorPlanner,
    tiles: vectorTiles,
    redrawn: () => undefined,
  });
  return {
    ...{ changes, watchers, catalog, styles, visuals, planner, slices, memory, addresses, tiles, answers },
    badLayers: bad,
    ...{ vectorPlanner, vectorTiles, vectorAnswers },
  };
}
