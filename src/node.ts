import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { KeyUses } from "./access/access-keys.js";
import { ClientLimits } from "./access/client-limits.js";
import { pruneInvitations } from "./access/invitations.js";
import { KeyFolder } from "./access/issuer-keys.js";
import { ExternalTokens } from "./access/issuer-tokens.js";
import { LoginThrottle } from "./access/login-throttle.js";
import { hashingGate, Logins } from "./access/logins.js";
import { openSessions } from "./access/sessions.js";
import { openTileKeys } from "./access/tile-keys.js";
import { apiPageRoutesOf } from "./api/resources/api-description.js";
import { documentationRoutesOf } from "./api/resources/documentation.js";
import { importAllowance } from "./api/resources/import-jobs.js";
import { viewerRoutesOf } from "./api/resources/viewer.js";
import { apiRoutes, olderRoutes } from "./api/routes.js";
import type { Services } from "./api/services.js";
import { restorePrefix } from "./backup/restore-backup.js";
import { purgeBin } from "./catalog/bin-contents.js";
import { FullProjects, measureProjects } from "./catalog/disk-use.js";
import { type FileSweep, startFileSweep } from "./catalog/file-sweep.js";
import { backupAge, StoreWatch, whileOurs } from "./catalog/installation.js";
import { KeptTexts } from "./catalog/kept-texts.js";
import { startRemoval } from "./catalog/removal.js";
import { CdnHeaders } from "./cdn/headers.js";
import { cdnTarget, isWaitedFor, purgeServicesOf } from "./cdn/purge-services.js";
import { PurgedVersions } from "./cdn/purged-versions.js";
import { Purger } from "./cdn/purger.js";
import { ToldMarks } from "./cdn/told-marks.js";
import { pruneChangeLog } from "./changes/prune.js";
import { systemClock } from "./clock.js";
import type { Config } from "./config.js";
import { loadDocumentation } from "./docs/documentation.js";
import { examine } from "./doctor/doctor.js";
import { Health } from "./doctor/health.js";
import { createFileExports } from "./export/file-exports.js";
import { RenderQueue } from "./export/render-queue.js";
import { TileExports } from "./export/tile-exports.js";
import { LinkedFiles } from "./external/linked-files.js";
import { createRasterServices } from "./external/services.js";
import { BodyThreads } from "./features/body-threads.js";
import { boundHistory, pruneHistory } from "./features/history.js";
import { KeptBoxes } from "./features/layer-boxes.js";
import { pruneTallies } from "./features/prune-tallies.js";
import { ReadAhead } from "./features/read-ahead.js";
import { createImageHost } from "./hosts/image.js";
import { PictureFiles, withPictureFiles } from "./hosts/picture-files.js";
import { Pictures } from "./hosts/pictures.js";
import { type RenderHost, startRenderHost } from "./hosts/render.js";
import { createTransferHost } from "./hosts/transfer.js";
import { type CachedAnswer, cachedRoute } from "./http/cached.js";
import { createServer } from "./http/server.js";
import { sweepUploads } from "./http/uploads.js";
import { DrawnConditions } from "./identify/drawn.js";
import { SlowLayers } from "./identify/identify.js";
import { ImportJobs } from "./import/import-jobs.js";
import { pruneJobs } from "./import/job-rows.js";
import { inTime } from "./in-time.js";
import type { Log } from "./log.js";
import { makeFolder } from "./make-folder.js";
import { Metrics } from "./metrics.js";
import { printSemaphore } from "./print/semaphore.js";
import { SearchService } from "./search/search-service.js";
import { removeAbandoned } from "./storage/abandoned-files.js";
import { manyClients } from "./storage/connection-slots.js";
import { pruneAnswers } from "./storage/idempotency-keys.js";
import { openBlobs, placeOf } from "./storage/open-blobs.js";
import { localOperatorFolder } from "./storage/operator-files.js";
import { openDatabase } from "./storage/postgres.js";
import { DatabaseProbe } from "./storage/probe.js";
import { startPruning } from "./storage/pruning.js";
import { briefly, connectInTime, openRedis } from "./storage/redis.js";
import { loadIcons } from "./style/icons.js";
import { wireTilePath } from "./tile-path.js";
import { MapEvents } from "./tiles/map-events.js";
import { Packing } from "./tiles/packing.js";
import { PictureFolder } from "./tiles/picture-folder.js";
import { Redrawing } from "./tiles/redrawing.js";
import { makeThinnings } from "./tiles/thinning-maker.js";
import { sweepTransfers } from "./transfer-leftovers.js";
import { programVersion } from "./version.js";
import { loadApiPageFiles } from "./viewer/api-page.js";
import { loadViewerFiles } from "./viewer/files.js";
import { PublicMaps } from "./viewer/public-maps.js";
import { loadPlugins } from "./visual/plugins.js";

const leftoversMs = 3_600_000;
/** How long a node that stops waits for its database, beyond the time for running requests. */
const stopMs = 5_000;
/** For so long the start waits for the disk. */
const filesMs = 5_000;
/** As long as the page of metrics waits for what others have to answer. */
const askedMs = 2_000;

/** One serving node: the front process with its caches, its render host and its transfer host, wired together. */

export interface Node {
  /** The port that it listens on. */
  readonly port: number;
  readonly services: Services;
  /**
   * Says for `drainMs` that it is not ready, and answers all the same. Then ends running requests within `requestMs`, and
   * everything that the node started, soon after, whatever answers or not.
   */
  stop(requestMs: number, drainMs?: number): Promise<void>;
}

/** Wires a node together and listens. */
export async function startNode(config: Config, log: Log): Promise<Node> {
  await makeFolder(config.dataDir).catch((error: Error) => {
    throw new Error(`The data folder ${config.dataDir} cannot be made: ${error.message}`);
  });
  const nodeId = randomBytes(6).toString("hex");
  let drawing: RenderHost | undefined;
  const db = openDatabase({
    url: config.databaseUrl,
    directUrl: config.databaseDirectUrl,
    onServerChanged: () => drawing?.renew(),
    nodeId,
    keepsHistory: config.history.days > 0,
    connections: config.databaseConnections,
    statementTimeoutMs: config.statementTimeoutMs,
    log,
  });
  const probe = new DatabaseProbe({ db });
  const { redisPrefix: prefix } = config;
  const redis = openRedis(config.redisUrl, log, { prefix });
  const ownTilesRedis =
    config.tilesRedisUrl === ""
      ? undefined
      : openRedis(config.tilesRedisUrl, log, { prefix, name: "The Redis of tiles" });
  const bodies = new BodyThreads(log);
  const image = createImageHost(config, log);
  const stored = await openBlobs(config);
  const folder = await PictureFolder.open(join(config.dataDir, "drawn-pictures"), { blobs: stored, image });
  // Behind a pooler the host is told which server it has to lead to, and is started again when that is known later.
  if (db.isPooled) await db.query("select").catch(() => undefined);
  const render = startRenderHost(config, log, folder.path, () => db.address);
  drawing = render;
  const transfer = createTransferHost(config, log);
  const files = createFileExports(config, log);
  const pictureFiles = new PictureFiles(join(config.dataDir, "resized"), config.images.diskBytes, log);
  const store = new StoreWatch({ db, blobs: stored, log, place: placeOf(config) });
  const blobs = whileOurs(withPictureFiles(stored, pictureFiles), store);
  const linkedFiles = new LinkedFiles(config.links);
  const rasterServices = createRasterServices(config, {
    image,
    log,
    onImage: (host, result) => metrics.externalImage(host, result),
  });
  const [ownIcons, ownKeys] = await Promise.all([
    localOperatorFolder(config, "icons", log),
    localOperatorFolder(config, "keys", log),
  ]);
  const icons = await loadIcons({ own: ownIcons.path, folder: folder.path, image, log });
  await ownIcons.stop();
  const { plugins, problems } = await loadPlugins(config.visualPlugins);
  for (const problem of problems) log.error(problem, "a plug-in for visualizations cannot be used");
  const thinnings = makeThinnings(db, log);
  const cdnHeaders = new CdnHeaders(config);
  const purgedVersions = new PurgedVersions(cdnHeaders.isPurged, systemClock);
  const toldMarks = new ToldMarks(isWaitedFor(config), systemClock);
  let purger: Purger | undefined;
  let sweeping: FileSweep | undefined;
  const path = wireTilePath<CachedAnswer>({
    config,
    db,
    redis,
    tilesRedis: briefly(ownTilesRedis ?? redis),
    render,
    blobs,
    services: rasterServices,
    nodeId,
    clock: systemClock,
    log,
    pictures: folder,
    thinnings,
    icons,
    plugins,
    on: {
      served: (source) => metrics.tile(source),
      rendered: (drawn) => metrics.rendered(drawn),
      leftOut: (cause) => metrics.leftOut(cause),
      catalogueChanged: () => publicMaps.catalogueChanged(),
      noted: (kind, id) => purger?.note(kind, id),
      cdnPurged: (versions) => purgedVersions.purged(versions),
      marked: (mark) => purger?.marked(mark),
      cdnTold: (state, receipts) => toldMarks.acknowledged(state, receipts),
      purged: () => purger?.noteAll(),
      imported: () => search.reconsider(),
      historyChanged: () => {
        db.renew();
        probe.renew();
        render.renew();
        toldMarks.forget();
        purger?.noteAll();
        sweeping?.putBack();
      },
    },
  });
  const { changes, catalog, styles, planner, tiles, watchers } = path;
  const mapEvents = new MapEvents({
    db: db.for({ client: manyClients.events, project: "", purpose: "reads" }),
    changes,
    watchers,
    cdn: purgedVersions,
    clock: systemClock,
    slices: path.slices,
    time: Date.now,
  });
  const publicMaps = new PublicMaps(db, () => changes.trusted);
  const metrics: Metrics = new Metrics(() => ({
    renders: render.counts(),
    transfers: transfer.counts(),
    exports: files.host.counts(),
    bodies: bodies.counts(),
    metatilesInFlight: tiles.making + path.vectorTiles.making,
    changeListeners: mapEvents.listeners,
    cdn: purger?.counts ?? { leads: false, done: 0, failed: 0, keys: 0 },
    cdnLagSeconds: () => purger?.lagSeconds() ?? 0,
    packed: packing?.counts ?? { tiles: 0, savedBytes: 0 },
    tileMemory: path.memory.counts(),
    databasePool: db.counts(),
    received: server.received(),
    redisReady: redis.trouble === undefined,
    filesReady: () => inTime(store.isOurs(), askedMs, () => false),
    backupAgeSeconds: () => inTime(backupAge(db), askedMs, () => Number.NaN).catch(() => Number.NaN),
    listening: changes.trusted,
    limited: limits.refused,
  }));
  const sessions = openSessions(redis, {
    idleSeconds: config.sessionIdleSeconds,
    prefix: config.redisPrefix,
  });
  const tileKeys = openTileKeys(redis, {
    idleSeconds: config.sessionIdleSeconds,
    seconds: config.tileKeySeconds,
    prefix: config.redisPrefix,
    clock: systemClock,
  });

  const limits = new ClientLimits({
    redis: briefly(redis),
    prefix: config.redisPrefix,
    perMinute: config.limits,
    clock: systemClock,
    log,
  });
  const logins = new Logins(
    db,
    new LoginThrottle(redis, config.redisPrefix, config.login),
    hashingGate(config.login.concurrency),
  );
  const externalTokens = new ExternalTokens(new KeyFolder(ownKeys.path, log), config.external);

  const search = new SearchService(db, log, Math.max(1, Math.floor(config.databaseConnections / 2)));

  const requireAllowed = importAllowance({ db, catalog, config });
  const importJobs = new ImportJobs({ db, transfer, log, config, changes, requireAllowed });

  const renderQueue = new RenderQueue({
    load: () => render.counts(),
    concurrency: config.render.concurrency,
    timeoutMs: config.exports.deadlineMs,
    clock: systemClock,
  });

  const fullProjects = new FullProjects(db);
  const stopping = { isSaid: false };
  const services: Services = {
    config,
    stopping,
    log,
    db,
    probe,
    store,
    bodies,
    readAhead: new ReadAhead({
      mostCharacters: 4 * 2 ** 20,
      mostBytes: config.receiving.memoryBytes / 4,
    }),
    redis,
    ownTilesRedis,
    catalog,
    texts: new KeptTexts(),
    sessions,
    tileKeys,
    keyUses: new KeyUses(db, () => metrics.keyUsed()),
    limits,
    logins,
    externalTokens,
    styles,
    icons,
    plugins,
    render,
    transfer,
    importJobs,
    files,
    image,
    pictures: new Pictures(
      { host: image, render, blobs, files: pictureFiles, deadlineMs: config.tiles.deadlineMs },
      config.images.memoryBytes,
    ),
    pictureFolder: folder,
    blobs,
    changes,
    versions: changes,
    boxes: new KeptBoxes(changes),
    mapEvents,
    printSemaphore: printSemaphore(config),
    linkedFiles,
    cdnHeaders,
    toldMarks,
    planner,
    thinnings,
    search,
    publicMaps,
    visuals: path.visuals,
    drawnConditions: new DrawnConditions(systemClock),
    slowLayers: new SlowLayers(systemClock),
    slices: path.slices,
    badLayers: path.badLayers,
    health: new Health(() => examine(config), systemClock),
    fullProjects,
    tiles,
    tileAnswers: path.answers,
    vectorPlanner: path.vectorPlanner,
    vectorTiles: path.vectorTiles,
    vectorAnswers: path.vectorAnswers,
    tileExports: new TileExports({ db, files, renderQueue }),
    metrics,
  };

  const stores = [redis, ownTilesRedis].filter((store) => store !== undefined);
  await Promise.all(stores.map((store) => connectInTime(store).catch(() => undefined)));
  await changes.start();
  // Without its database a node starts, too, and reads them a minute later.
  await fullProjects.read().catch(() => undefined);
  const purges = purgeServicesOf(config);
  if (purges.size > 0)
    purger = new Purger({
      ...{ db, changes, log },
      services: purges,
      everything: config.edge.name,
      clock: systemClock,
      target: `${cdnTarget(config)} ${programVersion()}`,
      isWaitedFor: toldMarks.isWaitedFor,
    });
  const pruning = startPruning(
    [
      () => purgeBin(db, { olderThanDays: config.bin.days }),
      () => pruneHistory(db, config.history),
      () => pruneChangeLog(db),
      () => pruneAnswers(db),
      () => pruneInvitations(db),
      () => pruneJobs(db),
      () => pruneTallies(db),
      () => measureProjects(db).finally(() => fullProjects.read()),
    ],
    log,
  );
  // What killed nodes left behind.
  const leftovers = startPruning(
    [
      () => boundHistory(db, config.history.mostBytes),
      () => sweepTransfers(db, config.dataDir),
      () => sweepUploads(join(config.dataDir, "tmp")),
      () => removeAbandoned(join(config.dataDir, "tmp"), restorePrefix),
    ],
    log,
    leftoversMs,
  );
  // A new folder is marked. A disk that does not answer keeps nobody from what needs no files.
  await inTime(store.isOurs(), filesMs, () => false);
  sweeping = startFileSweep(db, blobs, { store, log });
  const removal = startRemoval(db, log);
  const server = createServer({
    routes: [
      ...apiRoutes,
      ...olderRoutes,
      ...viewerRoutesOf(loadViewerFiles()),
      ...apiPageRoutesOf(loadApiPageFiles()),
      ...documentationRoutesOf(loadDocumentation()),
    ],
    services,
    log,
    config,
    cached: (address, query) => path.answers.ready(query === "" ? address : `${address}?${query}`),
    onAnswered: (route, method, status, milliseconds) => {
      if (route === cachedRoute) metrics.answeredFromCache(method, status);
      else metrics.answered(route, method, status, milliseconds);
    },
  });
  const redrawing = config.tiles.redrawHot
    ? new Redrawing({
        addresses: path.addresses,
        answers: path.answers,
        catalog,
        changes,
        load: () => render.counts(),
        log,
      })
    : undefined;
  const packing = config.tiles.packHot
    ? new Packing({
        addresses: path.addresses,
        answers: path.answers,
        catalog,
        changes,
        load: () => render.counts(),
        log,
        pack: (bytes, signal) =>
          render.call("pack", { bytes }, { deadlineMs: config.tiles.deadlineMs, signal }),
      })
    : undefined;
  const port = await server.listen(config.host, config.port, { shared: config.nodes > 1 });
  return {
    port,
    services,
    stop: async (requestMs, drainMs = 0) => {
      stopping.isSaid = true;
      server.drain();
      if (drainMs > 0) await sleep(drainMs);
      const late = setTimeout(() => db.cut(), requestMs + stopMs).unref();
      mapEvents.stop();
      await Promise.all([redrawing?.stop(), packing?.stop()]);
      await server.close(requestMs);
      await importJobs.stop();
      pruning.stop();
      leftovers.stop();
      await search.stop();
      await thinnings.stop();
      sweeping?.stop();
      await removal.stop();
      rasterServices.close();
      linkedFiles.close();
      await purger?.stop();
      await Promise.all([
        changes.stop(),
        render.stop(),
        transfer.stop(),
        files.host.stop(),
        image.stop(),
        ownKeys.stop(),
        bodies.stop(),
      ]);
      await folder.remove();
      for (const one of stores) one.disconnect();
      probe.close();
      await db.close();
      clearTimeout(late);
    },
  };
}
