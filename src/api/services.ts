import type { KeyUses } from "../access/access-keys.js";
import type { ClientLimits } from "../access/client-limits.js";
import type { ExternalTokens } from "../access/issuer-tokens.js";
import type { Logins } from "../access/logins.js";
import type { Sessions } from "../access/sessions.js";
import type { TileKeys } from "../access/tile-keys.js";
import type { Catalog } from "../catalog/catalog.js";
import type { FullProjects } from "../catalog/disk-use.js";
import type { StoreWatch } from "../catalog/installation.js";
import type { KeptTexts } from "../catalog/kept-texts.js";
import type { CdnHeaders } from "../cdn/headers.js";
import type { ToldMarks } from "../cdn/told-marks.js";
import type { ChangeLog, Changes } from "../changes/change-log.js";
import type { Config } from "../config.js";
import type { Health } from "../doctor/health.js";
import type { FileExports } from "../export/export-content.js";
import type { TileExports } from "../export/tile-exports.js";
import type { LinkedFiles } from "../external/linked-files.js";
import type { BodyThreads } from "../features/body-threads.js";
import type { Boxes } from "../features/layer-boxes.js";
import type { ReadAhead } from "../features/read-ahead.js";
import type { Visuals } from "../features/visual-cache.js";
import type { ImageHost } from "../hosts/image.js";
import type { Pictures as MadePictures } from "../hosts/pictures.js";
import type { RenderHost } from "../hosts/render.js";
import type { TransferHost } from "../hosts/transfer.js";
import type { CachedAnswer } from "../http/cached.js";
import type { DrawnConditions } from "../identify/drawn.js";
import type { SlowLayers } from "../identify/identify.js";
import type { ImportJobs } from "../import/import-jobs.js";
import type { Log } from "../log.js";
import type { Metrics } from "../metrics.js";
import type { FairSemaphore } from "../queues/fair-semaphore.js";
import type { Slices } from "../queues/slices.js";
import type { SearchService } from "../search/search-service.js";
import type { BlobStore } from "../storage/blob-store.js";
import type { Database } from "../storage/postgres.js";
import type { DatabaseProbe } from "../storage/probe.js";
import type { Redis } from "../storage/redis.js";
import type { StyleCompiler } from "../style/compiler.js";
import type { Icons } from "../style/pictures.js";
import type { TileAnswers } from "../tiles/answers.js";
import type { BadLayers } from "../tiles/bad-layers.js";
import type { MapEvents } from "../tiles/map-events.js";
import type { PictureFolder } from "../tiles/picture-folder.js";
import type { Planner } from "../tiles/planner.js";
import type { ThinningMaker } from "../tiles/thinning-maker.js";
import type { TileService } from "../tiles/tile-service.js";
import type { VectorPlanner } from "../tiles/vector/planner.js";
import type { VectorAnswers, VectorTileService } from "../tiles/vector/tile.js";
import type { PublicMaps } from "../viewer/public-maps.js";
import type { Plugins } from "../visual/plugins.js";

/** Dependencies of handlers; created in `node.ts`. */
export interface Services {
  readonly config: Config;
  /** Whether the node is about to stop, which balancers are told. */
  readonly stopping: { readonly isSaid: boolean };
  readonly log: Log;
  readonly db: Database;
  /** Whether PostgreSQL answers, whatever users do. */
  readonly probe: Pick<DatabaseProbe, "isThere">;
  readonly store: Pick<StoreWatch, "isOurs">;
  /** Read large bodies. */
  readonly bodies: Pick<BodyThreads, "object" | "geometry" | "bulk" | "digest">;
  /** Reads lists that a purged CDN keeps. */
  readonly readAhead: ReadAhead;
  readonly redis: Redis;
  /** undefined = tiles lie in `redis`. */
  readonly ownTilesRedis: Redis | undefined;
  readonly catalog: Catalog;
  /** Answers that are made of the catalogue alone. */
  readonly texts: Pick<KeptTexts, "of">;
  readonly sessions: Sessions;
  readonly tileKeys: TileKeys;
  /** Notes uses of keys that last. */
  readonly keyUses: Pick<KeyUses, "note">;
  readonly limits: ClientLimits;
  readonly logins: Logins;
  readonly externalTokens: ExternalTokens;
  readonly styles: StyleCompiler;
  /** Pictures of the installation for styles, by `icon:name`. */
  readonly icons: Icons;
  /** For custom visualizations. */
  readonly plugins: Plugins;
  readonly render: RenderHost;
  readonly transfer: TransferHost;
  /** For exports that are written to files. */
  readonly files: FileExports;
  /** Imports that go on after their request. */
  readonly importJobs: ImportJobs;
  readonly image: ImageHost;
  readonly pictures: MadePictures;
  /** Where the render host finds the pictures of styles. */
  readonly pictureFolder: Pick<PictureFolder, "use">;
  /** Content of attached files. */
  readonly blobs: BlobStore;
  readonly changes: Changes;
  /** What a node knows of the objects of layers. */
  readonly versions: Pick<ChangeLog, "trusted" | "watchProof" | "epoch" | "track" | "locate" | "refresh">;
  /** Bounding boxes of layers. */
  readonly boxes: Boxes;
  /** Changes of maps, for those who look at them. */
  readonly mapEvents: MapEvents;
  /** Of servers of others, by their links. */
  readonly linkedFiles: Pick<LinkedFiles, "open">;
  /** Of drawing maps for documents. */
  readonly printSemaphore: Pick<FairSemaphore, "acquire">;
  readonly cdnHeaders: CdnHeaders;
  /** For edits that wait until the CDN was told of them. */
  readonly toldMarks: Pick<ToldMarks, "isWaitedFor" | "wait">;
  readonly planner: Planner;
  readonly thinnings: ThinningMaker;
  readonly search: SearchService;
  /** What styles draw, for what is found at a place. */
  readonly drawnConditions: Pick<DrawnConditions, "of">;
  /** Layers that what is found at a place lacks for a while. */
  readonly slowLayers: SlowLayers;
  /** Layers that this node cannot draw just now. */
  readonly badLayers: Pick<BadLayers, "layers">;
  /** What the installation needs, checked. */
  readonly health: Pick<Health, "now">;
  /** Projects that have used up what they may take of the disks. */
  readonly fullProjects: Pick<FullProjects, "requireRoom" | "read">;
  readonly slices: Slices;
  /** The viewer's list of public maps. */
  readonly publicMaps: PublicMaps;
  /** Values of visualizations, computed from the objects of their layers. */
  readonly visuals: Visuals;
  readonly tiles: TileService;
  readonly tileAnswers: TileAnswers<CachedAnswer>;
  readonly vectorPlanner: VectorPlanner;
  readonly vectorTiles: VectorTileService;
  readonly vectorAnswers: VectorAnswers<CachedAnswer>;
  readonly tileExports: TileExports;
  readonly metrics: Metrics;
}
