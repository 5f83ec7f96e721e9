import { Counter, Gauge, Histogram, openMetricsContentType, Registry } from "prom-client";

/** What operators watch, in the OpenMetrics text format. */

export interface Gauges {
  readonly renders: { readonly waiting: number; readonly running: number; readonly restarts: number };
  readonly transfers: { readonly waiting: number; readonly running: number; readonly restarts: number };
  readonly metatilesInFlight: number;
  readonly tileMemory: { readonly tiles: number; readonly bytes: number };
  readonly databasePool: { readonly total: number; readonly idle: number; readonly waiting: number };
  readonly redisReady: boolean;
  readonly listening: boolean;
}

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
    help: "Time from a request's head to its answer, cached tiles aside.",
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
  /**
   * Answers of the address cache by method and status: plain numbers, for their path has no time to spare; the
   * counters take them over when metrics are read.
   */
  private readonly cached = new Map<string, { told: number; count: number }>();

  constructor(gauges: () => Gauges) {
    this.registry.setContentType(openMetricsContentType as never);
    for (const metric of [this.requests, this.durations, this.tiles, this.renders]) {
      this.registry.registerMetric(metric as never);
    }
    const gauge = (name: string, help: string, read: (now: Gauges) => number) => {
      this.registry.registerMetric(
        new Gauge({
          name: `mapwright_${name}`,
          help,
          registers: [],
          collect() {
            this.set(read(gauges()));
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
    gauge("transfer_queue", "Files that wait for the transfer host.", (now) => now.transfers.waiting);
    gauge("transfer_running", "Files that the transfer host works on.", (now) => now.transfers.running);
    gauge(
      "transfer_host_restarts",
      "Transfer hosts that were replaced since the start.",
      (now) => now.transfers.restarts,
    );
    gauge("metatiles_in_flight", "Metatiles that requests wait for.", (now) => now.metatilesInFlight);
    gauge("tile_memory_tiles", "Tiles in this node's memory.", (now) => now.tileMemory.tiles);
    gauge("tile_memory_bytes", "Bytes of tiles in this node's memory.", (now) => now.tileMemory.bytes);
    gauge("database_connections", "Open connections of the pool.", (now) => now.databasePool.total);
    gauge("database_connections_idle", "Idle connections of the pool.", (now) => now.databasePool.idle);
    gauge("database_waiting", "Requests that wait for a connection.", (now) => now.databasePool.waiting);
    gauge("redis_ready", "1 when Redis answers.", (now) => Number(now.redisReady));
    gauge("change_log_listening", "1 when the database's notifications arrive.", (now) =>
      Number(now.listening),
    );
  }

  answered(route: string, method: string, status: number, milliseconds: number): void {
    this.requests.inc({ route: route || "none", method, status: String(status) });
    this.durations.observe(milliseconds / 1000);
  }

  /** An answer of the address cache. */
  answeredFromCache(method: string, status: number): void {
    // Constants: a text put together here would be hashed anew each time.
    const key =
      method === "GET" ? (status === 200 ? "GET 200" : "GET 304") : status === 200 ? "HEAD 200" : "HEAD 304";
    const cached = this.cached.get(key);
    if (cached) cached.count++;
    else this.cached.set(key, { told: 0, count: 1 });
  }

  tile(source: "memory" | "redis" | "render"): void {
    this.tiles.inc({ source });
  }

  rendered(milliseconds: number): void {
    this.renders.observe(milliseconds / 1000);
  }

  /** The exposition and its content type. */
  async expose(): Promise<{ readonly text: string; readonly contentType: string }> {
    for (const [key, cached] of this.cached) {
      const [method = "", status = ""] = key.split(" ");
      this.tiles.inc({ source: "address" }, cached.count - cached.told);
      this.requests.inc({ route: "(cached)", method, status }, cached.count - cached.told);
      cached.told = cached.count;
    }
    return { text: await this.registry.metrics(), contentType: this.registry.contentType };
  }
}
