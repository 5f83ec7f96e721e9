import { Counter, Gauge, Histogram, openMetricsContentType, Registry } from "prom-client";
import { LoopDelay } from "./loop-delay.js";

/** Metrics of a node, in the OpenMetrics text format. */

export interface Gauges {
  readonly renders: {
    readonly waiting: number;
    readonly running: number;
    readonly restarts: number;
    readonly refused: number;
  };
  readonly transfers: { readonly waiting: number; readonly running: number; readonly restarts: number };
  readonly exports: { readonly waiting: number; readonly running: number; readonly restarts: number };
  /** Large bodies, which worker threads read. */
  readonly bodies: {
    readonly waiting: number;
    readonly running: number;
    readonly done: number;
    readonly replaced: number;
  };
  readonly metatilesInFlight: number;
  readonly changeListeners: number;
  readonly cdn: {
    readonly leads: boolean;
    readonly done: number;
    readonly failed: number;
    readonly keys: number;
  };
  readonly cdnLagSeconds: () => number | Promise<number>;
  readonly packed: { readonly tiles: number; readonly savedBytes: number };
  readonly tileMemory: { readonly tiles: number; readonly bytes: number };
  readonly databasePool: {
    readonly total: number;
    readonly idle: number;
    readonly waiting: number;
    readonly purposes: Readonly<
      Record<string, { readonly held: number; readonly waiting: number; readonly refused: number }>
    >;
    readonly cancelRequests: number;
  };
  readonly redisReady: boolean;
  readonly filesReady: () => Promise<boolean>;
  readonly backupAgeSeconds: () => Promise<number>;
  readonly received: Record<"memory" | "files", { readonly bytes: number; readonly refused: number }>;
  readonly listening: boolean;
  readonly limited: number;
}

interface Exposition {
  readonly text: string;
  readonly contentType: string;
}

interface Rendered {
  readonly renderMs: number;
  readonly tiles: readonly unknown[];
  readonly encoded: number;
}

const knownMethods: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
]);

export class Metrics {
  private readonly registry = new Registry();
  private readonly requests = new Counter({
    name: "mapwright_requests",
    help: "Answered requests by route, method and status.",
    labelNames: ["route", "method", "status"],
    registers: [],
  });
  private readonly durations = new Histogram({
    name: "mapwright_request_seconds",
    help: "Time from a request's headers to its answer, without cached tiles.",
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [],
  });
  private readonly tiles = new Counter({
    name: "mapwright_tiles",
    help: "Tiles served, by the cache level that had them: address, memory, redis, or render.",
    labelNames: ["source"],
    registers: [],
  });
  private readonly renders = new Histogram({
    name: "mapwright_render_seconds",
    help: "Time that drawing and encoding a metatile took in the render host.",
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    registers: [],
  });
  private readonly drawn = new Counter({
    name: "mapwright_tiles_drawn",
    help: "Tiles that were drawn, also those that nobody asked for but which lie in the same metatile.",
    registers: [],
  });
  private readonly encoded = new Counter({
    name: "mapwright_tiles_encoded",
    help: "Drawn tiles that were encoded. Tiles of one colour take the encoding of an earlier one.",
    registers: [],
  });
  private readonly externalImages = new Counter({
    name: "mapwright_external_images",
    help: "Images of external layers that tiles needed, by host and result: memory, fetched, failed, or skipped.",
    labelNames: ["host", "result"],
    registers: [],
  });
  private readonly layersLeftOut = new Counter({
    name: "mapwright_tile_layers_left_out",
    help: "Layers that served tiles lacked, by cause: file, source, style, statistics, plugin, database, overrun, size, or failure.",
    labelNames: ["cause"],
    registers: [],
  });
  private readonly keys = new Counter({
    name: "mapwright_key_requests",
    help: "Requests that came with a key that lasts.",
    registers: [],
  });
  private readonly loop = new LoopDelay();
  // Requests and tiles are counted in plain numbers, since that path is hot and a Counter sorts and joins its labels on
  // each call. The numbers are copied to the counters when metrics are read.

  /** Answers by route, method and status. */
  private readonly answers = new Map<string, Map<string, Map<number, number>>>();
  /** Answers of the address cache by method and status. */
  private readonly cached = new Map<string, { count: number }>();
  private readonly sources = { memory: 0, redis: 0, render: 0 };
  /** Shared by all who ask meanwhile: writing it takes milliseconds of the event loop. */
  private exposing: Promise<Exposition> | undefined;

  constructor(gauges: () => Gauges) {
    this.registry.setContentType(openMetricsContentType as never);
    const { requests, durations, tiles, renders, drawn, encoded, externalImages, layersLeftOut, keys } = this;
    const counted = [
      requests,
      durations,
      tiles,
      renders,
      drawn,
      encoded,
      externalImages,
      layersLeftOut,
      keys,
    ];
    for (const metric of counted) this.registry.registerMetric(metric as never);
    const gauge = (name: string, help: string, read: (now: Gauges) => number | Promise<number>) => {
      this.registry.registerMetric(
        new Gauge({
          name: `mapwright_${name}`,
          help,
          registers: [],
          async collect() {
            this.set(await read(gauges()));
          },
        }) as never,
      );
    };
    gauge("render_queue", "Tasks that wait for the render host.", (now) => now.renders.waiting);
    gauge("render_running", "Tasks that the render host works on.", (now) => now.renders.running);
    gauge(
      "render_host_restarts",
      "Render hosts that were replaced since the start.",
      (now) => now.renders.restarts,
    );
    gauge(
      "render_refused",
      "Metatiles that were refused at once since the start, as their map took too long to draw.",
      (now) => now.renders.refused,
    );
    gauge("export_queue", "Exports that wait for the export host.", (now) => now.exports.waiting);
    gauge("export_running", "Exports that the export host writes.", (now) => now.exports.running);
    gauge("transfer_queue", "Files that wait for the transfer host.", (now) => now.transfers.waiting);
    gauge("transfer_running", "Files that the transfer host works on.", (now) => now.transfers.running);
    gauge(
      "transfer_host_restarts",
      "Transfer hosts that were replaced since the start.",
      (now) => now.transfers.restarts,
    );
    gauge("body_queue", "Large bodies that wait for a worker thread.", (now) => now.bodies.waiting);
    gauge("body_running", "Large bodies that worker threads read.", (now) => now.bodies.running);
    gauge(
      "body_done",
      "Large bodies that worker threads have read since the start.",
      (now) => now.bodies.done,
    );
    gauge(
      "body_thread_restarts",
      "Worker threads that were replaced since the start, as reading a body took too long.",
      (now) => now.bodies.replaced,
    );
    gauge("metatiles_in_flight", "Metatiles that requests wait for.", (now) => now.metatilesInFlight);
    gauge("change_listeners", "Open maps that listen for changes.", (now) => now.changeListeners);
    gauge("edge_leads", "Whether this node tells the edge what has changed.", (now) => Number(now.cdn.leads));
    gauge(
      "edge_lag_seconds",
      "Age of the oldest change that an instance of the edge was not told, as the database has it, on each node.",
      (now) => now.cdnLagSeconds(),
    );
    gauge("edge_purges", "Batches of changes that the edge was told since the start.", (now) => now.cdn.done);
    gauge(
      "edge_purges_failed",
      "Batches that the edge did not take; they are told again.",
      (now) => now.cdn.failed,
    );
    gauge("edge_purged_keys", "Keys that the edge was told since the start.", (now) => now.cdn.keys);
    gauge("tile_memory_tiles", "Tiles in this node's memory.", (now) => now.tileMemory.tiles);
    gauge("tile_memory_bytes", "Bytes of tiles in this node's memory.", (now) => now.tileMemory.bytes);
    gauge("packed_tiles", "Tiles packed more closely since the start.", (now) => now.packed.tiles);
    gauge("packed_saved_bytes", "Bytes by which these became smaller.", (now) => now.packed.savedBytes);
    gauge("database_connections", "Open connections of the pool.", (now) => now.databasePool.total);
    gauge("database_connections_idle", "Idle connections of the pool.", (now) => now.databasePool.idle);
    gauge("database_waiting", "Requests that wait for a connection.", (now) => now.databasePool.waiting);
    this.registerPurposes(gauges);
    for (const [place, what] of [
      ["memory", "request bodies in memory"],
      ["files", "uploaded files on disk"],
    ] as const) {
      gauge(`receiving_${place}_bytes`, `Bytes of ${what}.`, ({ received }) => received[place].bytes);
      gauge(
        `receiving_${place}_refused`,
        `Requests refused since the start for too many bytes of ${what}.`,
        ({ received }) => received[place].refused,
      );
    }
    gauge(
      "limited_requests",
      "Requests refused since the start, as their client sent too many (limits.*).",
      (now) => now.limited,
    );
    gauge("redis_ready", "1 when Redis answers and is as it should be.", (now) => Number(now.redisReady));
    gauge(
      "files_ready",
      "1 when the folder or bucket of files answers, and is this installation's.",
      async (now) => Number(await now.filesReady()),
    );
    gauge(
      "backup_age_seconds",
      "How old the last backup by the command backup is; +Inf: there is none; NaN: the database does not answer.",
      (now) => now.backupAgeSeconds(),
    );
    gauge("change_log_listening", "1 when the database's notifications arrive.", (now) =>
      Number(now.listening),
    );
    gauge(
      "event_loop_delay_max_seconds",
      "Longest time that the front process could not answer anything, since metrics were read last.",
      () => this.loop.max,
    );
    gauge(
      "event_loop_delay_p99_seconds",
      "99th percentile of the same, since metrics were read last.",
      () => this.loop.p99,
    );
    gauge(
      "event_loop_held_max_seconds",
      "Longest time that work of the front process held its event loop, since metrics were read last: without what it " +
        "waited for a core that other programs had.",
      () => this.loop.held,
    );
  }

  /** What the connections to the database are used for. */
  private registerPurposes(gauges: () => Gauges): void {
    const { registry } = this;
    const labelNames = ["purpose"] as const;
    const gauge = (name: string, help: string, read: "held" | "waiting") =>
      new Gauge({
        ...{ name: `mapwright_database_${name}`, help, labelNames, registers: [] },
        collect() {
          for (const [purpose, counts] of Object.entries(gauges().databasePool.purposes))
            this.set({ purpose }, counts[read]);
        },
      });
    const refused = new Counter({
      name: "mapwright_database_refused",
      help: "Requests that got no place among the connections in time.",
      ...{ labelNames, registers: [] },
      collect() {
        this.reset();
        for (const [purpose, counts] of Object.entries(gauges().databasePool.purposes))
          this.inc({ purpose }, counts.refused);
      },
    });
    const cancels = new Counter({
      name: "mapwright_database_cancel_requests",
      help: "Requests to cancel a statement that were sent.",
      registers: [],
      collect() {
        this.reset();
        this.inc(gauges().databasePool.cancelRequests);
      },
    });
    const held = gauge("places", "Connections in use by purpose.", "held");
    const waiting = gauge("places_waiting", "Requests that wait for a connection, by purpose.", "waiting");
    for (const metric of [held, waiting, refused, cancels]) registry.registerMetric(metric as never);
  }

  answered(route: string, method: string, status: number, milliseconds: number): void {
    let methods = this.answers.get(route);
    if (!methods) {
      methods = new Map();
      this.answers.set(route, methods);
    }
    // Unknown methods count as one: each label is kept for ever.
    const name = knownMethods.has(method) ? method : "other";
    let statuses = methods.get(name);
    if (!statuses) {
      statuses = new Map();
      methods.set(name, statuses);
    }
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    this.durations.observe(milliseconds / 1000);
  }

  /** An answer of the address cache. */
  answeredFromCache(method: string, status: number): void {
    // Constants: a string that is built here would be hashed on each request.
    const key =
      method === "GET" ? (status === 200 ? "GET 200" : "GET 304") : status === 200 ? "HEAD 200" : "HEAD 304";
    const cached = this.cached.get(key);
    if (cached) cached.count++;
    else this.cached.set(key, { count: 1 });
  }

  tile(source: "memory" | "redis" | "render"): void {
    this.sources[source]++;
  }

  /** An image of an external layer. Hosts are those of the configuration, so there are few. */
  externalImage(host: string, result: string): void {
    this.externalImages.inc({ host, result });
  }

  keyUsed(): void {
    this.keys.inc();
  }

  /** A layer that a served tile lacked. Causes are few. */
  leftOut(cause: string): void {
    this.layersLeftOut.inc({ cause });
  }

  /** A metatile was drawn. @param encoded how many of its tiles were encoded */
  rendered({ renderMs, tiles, encoded }: Rendered): void {
    this.renders.observe(renderMs / 1000);
    this.drawn.inc(tiles.length);
    this.encoded.inc(encoded);
  }

  /** The exposition and its content type. */
  expose(): Promise<Exposition> {
    this.exposing ??= this.write().finally(() => {
      this.exposing = undefined;
    });
    return this.exposing;
  }

  private async write(): Promise<Exposition> {
    this.requests.reset();
    this.tiles.reset();
    for (const [route, methods] of this.answers) {
      for (const [method, statuses] of methods) {
        for (const [status, count] of statuses) {
          this.requests.inc({ route: route || "none", method, status: String(status) }, count);
        }
      }
    }
    for (const [source, count] of Object.entries(this.sources)) {
      if (count > 0) this.tiles.inc({ source }, count);
    }
    for (const [key, { count }] of this.cached) {
      const [method = "", status = ""] = key.split(" ");
      this.tiles.inc({ source: "address" }, count);
      this.requests.inc({ route: "(cached)", method, status }, count);
    }
    const text = await this.registry.metrics();
    this.loop.reset();
    return { text, contentType: this.registry.contentType };
  }
}
