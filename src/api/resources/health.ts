import { busy, notFound } from "../../errors.js";
import { json, type Reply, type Request } from "../../http/types.js";
import { answers, type Operation, operation } from "../request/operation.js";
import type { JsonSchema } from "../request/schema/schema.js";
import type { Services } from "../services.js";

/** Liveness, readiness and metrics, for load balancers and monitoring. */

const checkMs = 2_000;

/** 200 when PostgreSQL, Redis and the host processes respond, else 503; the body has the state of each. */
async function ready(_request: Request, services: Services): Promise<Reply> {
  const [database, redis] = await Promise.all([
    succeeds(services.db.query("select 1")),
    succeeds(services.redis.ping()),
  ]);
  const checks = { database, redis, render: services.render.ready, transfer: services.transfer.ready };
  const isReady = Object.values(checks).every(Boolean);
  return {
    kind: "bytes",
    status: isReady ? 200 : 503,
    body: JSON.stringify({ status: isReady ? "ready" : "not ready", checks }),
    headers: {
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      ...(isReady ? {} : { "retry-after": "1" }),
    },
  };
}

async function succeeds(check: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(busy("no answer")), checkMs);
  });
  try {
    await Promise.race([check, timeout]);
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

async function metrics(_request: Request, services: Services): Promise<Reply> {
  if (!services.config.metrics) throw notFound("page at /metrics");
  const { text, contentType } = await services.metrics.expose();
  return { kind: "bytes", body: text, headers: { "content-type": contentType, "cache-control": "no-store" } };
}

const state = (states: readonly string[], more: JsonSchema = {}): JsonSchema => ({
  type: "object",
  required: ["status", ...Object.keys(more)],
  properties: { status: { enum: states }, ...more },
});

const boolean = { type: "boolean" };
const checks = {
  type: "object",
  properties: { database: boolean, redis: boolean, render: boolean, transfer: boolean },
};

export const healthOperations: readonly Operation[] = [
  operation({
    id: "isLive",
    tag: "Server",
    summary: "Whether the process is alive",
    methods: ["GET"],
    path: "/health/live",
    answer: answers("The process is alive.", state(["live"])),
    handle: () => json({ status: "live" }),
  }),
  operation({
    id: "isReady",
    tag: "Server",
    summary: "Whether the server is ready to handle requests",
    details: "Checks PostgreSQL, Redis and the processes for rendering and for import and export.",
    methods: ["GET"],
    path: "/health/ready",
    answer: answers("The server is ready.", state(["ready"], { checks })),
    unavailable: answers(
      "The server is not ready; the failed checks are false.",
      state(["not ready"], { checks }),
    ),
    handle: ready,
  }),
  operation({
    id: "getMetrics",
    tag: "Server",
    summary: "Metrics for Prometheus",
    details: "404 if metrics are disabled in the configuration.",
    methods: ["GET"],
    path: "/metrics",
    answer: {
      description: "Counters, gauges and histograms as OpenMetrics text.",
      content: { "application/openmetrics-text": { type: "string" } },
    },
    refuses: [404],
    handle: metrics,
  }),
];
