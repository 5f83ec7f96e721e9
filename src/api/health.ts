import { busy, notFound } from "../errors.js";
import { json, type Reply, type Request, type Route } from "../http/types.js";
import type { Services } from "./services.js";

/** What load balancers and operators ask: is the process alive, can it serve, what does it do. */

export const healthRoutes: readonly Route<Services>[] = [
  { methods: ["GET"], path: "/health/live", handler: () => json({ status: "live" }) },
  { methods: ["GET"], path: "/health/ready", handler: ready },
  { methods: ["GET"], path: "/metrics", handler: metrics },
];

const checkMs = 2_000;

/** 200 when PostgreSQL, Redis and the hosts answer, else 503; the body names each. */
async function ready(_request: Request, services: Services): Promise<Reply> {
  const [database, redis] = await Promise.all([
    answers(services.db.query("select 1")),
    answers(services.redis.ping()),
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

async function answers(question: Promise<unknown>): Promise<boolean> {
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
