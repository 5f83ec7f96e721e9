import { busy, notFound } from "../../errors.js";
import { json, type Reply, type Request } from "../../http/types.js";
import { answers, type Operation, operation } from "../request/operation.js";
import type { JsonSchema } from "../request/schema/schema.js";
import type { Services } from "../services.js";

/** What load balancers and operators ask: is the process alive, can it serve, what does it do. */

const checkMs = 2_000;

/** 200 when PostgreSQL, Redis and the hosts answer, else 503; the body names each. */
async function ready(_request: Request, services: Services): Promise<Reply> {
  const [database, redis] = await Promise.all([
    doesAnswer(services.db.query("select 1")),
    doesAnswer(services.redis.ping()),
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

async function doesAnswer(question: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(busy("no answer")), checkMs);
  });
  try {
    await Promise.race([question, late]);
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
    answer: answers("It is.", state(["live"])),
    handle: () => json({ status: "live" }),
  }),
  operation({
    id: "isReady",
    tag: "Server",
    summary: "Whether the server can serve",
    details: "It can when PostgreSQL, Redis and the hosts that draw and convert answer.",
    methods: ["GET"],
    path: "/health/ready",
    answer: answers("It can.", state(["ready"], { checks })),
    unavailable: answers("It cannot, for what is false.", state(["not ready"], { checks })),
    handle: ready,
  }),
  operation({
    id: "getMetrics",
    tag: "Server",
    summary: "Metrics for Prometheus",
    details: "404 where the installation does not give them out.",
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
