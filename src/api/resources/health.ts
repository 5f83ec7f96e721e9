import { createHash, timingSafeEqual } from "node:crypto";
import { notFound } from "../../errors.js";
import { json, type Reply, type Request } from "../../http/types.js";
import { inTime } from "../../in-time.js";
import type { Redis } from "../../storage/redis.js";
import { answers, type Operation, operation } from "../request/operation.js";
import type { JsonSchema } from "../request/schema/schema.js";
import type { Services } from "../services.js";

/** Liveness, readiness and metrics, for load balancers and monitoring. */

const answerMs = 2_000;

const wrongFiles =
  "The folder or bucket of files is not this installation's, or does not answer: the command doctor and the log say what to do.";

/**
 * 503 when PostgreSQL does not respond, or takes no writes, without which little can be answered, and when the server is about to
 * stop; else 200. Without Redis, a host process or its
 * files the node is degraded: public tiles and much else are served, and a balancer that sees the same of all nodes must not stop them.
 * The body has the state of each.
 */
async function ready(_request: Request, services: Services): Promise<Reply> {
  const [database, redisTrouble, tilesTrouble] = await Promise.all([
    services.probe.isThere(),
    troubleOf(services.redis),
    services.ownTilesRedis && troubleOf(services.ownTilesRedis),
  ]);
  // Without the database nobody knows.
  const files = !database || (await succeeds(services.store.isOurs()));
  const checks = {
    database,
    redis: redisTrouble === undefined,
    ...(services.ownTilesRedis && { tilesRedis: tilesTrouble === undefined }),
    render: services.render.ready,
    transfer: services.transfer.ready,
    files,
  };
  const hints = [
    ...[redisTrouble, tilesTrouble].flatMap((trouble) => (trouble === undefined ? [] : [`${trouble}.`])),
    ...(files ? [] : [wrongFiles]),
  ];
  const isReady = database && !services.stopping.isSaid;
  const status = !database
    ? "not ready"
    : services.stopping.isSaid
      ? "stopping"
      : Object.values(checks).every(Boolean)
        ? "ready"
        : "degraded";
  return {
    kind: "bytes",
    status: isReady ? 200 : 503,
    body: JSON.stringify({ status, checks, ...(hints.length > 0 && { hint: hints.join(" ") }) }),
    headers: {
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      ...(isReady ? {} : { "retry-after": "1" }),
    },
  };
}

/** What is wrong with it now; undefined = nothing. */
async function troubleOf(redis: Redis): Promise<string | undefined> {
  const answers = redis.trouble === undefined && (await succeeds(redis.ask()));
  return redis.trouble ?? (answers ? undefined : "Redis does not answer");
}

/** Whether it comes in time, and is not false. */
async function succeeds(check: Promise<unknown>): Promise<boolean> {
  try {
    return (await inTime(check, answerMs, () => false)) !== false;
  } catch {
    return false;
  }
}

/**
 * Metrics tell of all projects: routes, hosts, load. They are for processes of this machine, and for those who have the
 * token. To others the page does not exist.
 */
async function metrics(request: Request, services: Services): Promise<Reply> {
  const { metrics: served, metricsToken } = services.config;
  if (!served || !(isLocal(request) || hasToken(request, metricsToken))) throw notFound("page at /metrics");
  const { text, contentType } = await services.metrics.expose();
  return { kind: "bytes", body: text, headers: { "content-type": contentType, "cache-control": "no-store" } };
}

const loopback = /^(127\.\d+\.\d+\.\d+|::1)$/;
/** Written by proxies. One that is not trusted hides its clients behind its own address. */
const proxyHeaders = [
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "via",
];

/** Whether a process of this machine asks for itself. */
const isLocal = ({ remoteAddress, header }: Request): boolean =>
  loopback.test(remoteAddress) && !proxyHeaders.some((name) => header(name) !== undefined);

function hasToken(request: Request, token: string): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(request.header("authorization") ?? "")?.[1];
  if (token === "" || given === undefined) return false;
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

const state = (states: readonly string[], more: JsonSchema = {}): JsonSchema => ({
  type: "object",
  required: ["status", ...Object.keys(more)],
  properties: { status: { enum: states }, ...more },
});

const boolean = { type: "boolean" };
const checks = {
  type: "object",
  properties: {
    database: boolean,
    redis: boolean,
    tilesRedis: { ...boolean, description: "If tiles have a Redis of their own." },
    render: boolean,
    transfer: boolean,
    files: boolean,
  },
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
    details:
      "Checks PostgreSQL, which has to take writes, Redis, the processes for rendering and for import and export, and whether the " +
      "folder or bucket of files is the one that the database tells of; a `hint` says what is wrong with Redis or the files. `degraded`: PostgreSQL is there, something else is " +
      "not; public tiles are served.",
    methods: ["GET"],
    path: "/health/ready",
    answer: answers("The server can be sent requests.", state(["ready", "degraded"], { checks })),
    unavailable: answers(
      "PostgreSQL does not respond, or is a standby, and the failed checks are false; or the server is about to stop, and answers until then.",
      state(["not ready", "stopping"], { checks }),
    ),
    handle: ready,
  }),
  operation({
    id: "getMetrics",
    tag: "Server",
    summary: "Metrics for Prometheus",
    details:
      "For processes of this machine, and with `Authorization: Bearer` and the configured `metricsToken`. Otherwise, and if " +
      "metrics are disabled, 404.",
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
