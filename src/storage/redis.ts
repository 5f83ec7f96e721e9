import type { Command } from "ioredis";
import { inTime } from "../in-time.js";
import type { Log } from "../log.js";
import { parseRedisUrl, type RedisUrl } from "../redis-url.js";
import type { RedisClient } from "./redis/client.js";
import { type ClusterArguments, GuardedCluster } from "./redis/cluster.js";
import type { ServerOptions } from "./redis/lasting.js";
import { GuardedServer } from "./redis/server.js";
import { RedisState } from "./redis/state.js";

export type Redis = RedisClient;

export interface OpenRedisOptions {
  /** Of the installation's keys. */
  readonly prefix?: string;
  /** What the log calls it. Default: Redis. */
  readonly name?: string;
}

/** After so long without an answer the connection is given up: ms. */
const silentMs = 2_000;
/** Between two connections that are made anew since the server takes no writes: ms. */
const renewMs = 2_000;

const retryMs = (attempt: number): number => Math.min(50 * attempt, 1_000);

const anyServer: ServerOptions = {
  maxRetriesPerRequest: 0,
  // What is sent would pile up in memory; and Sentinel may know of another primary by then.
  socketTimeout: silentMs,
  connectTimeout: silentMs,
  disconnectTimeout: 100,
  // A server that loads its file says for how long it will; most are faster.
  maxLoadingRetryTime: 500,
};

/** Opens a client, which connects when it is told to. @throws Error for an address that is none */
export function openRedis(
  url: string,
  log: Log,
  { prefix = "", name = "Redis" }: OpenRedisOptions = {},
): Redis {
  const place = parseRedisUrl(url);
  if (!place) throw new Error("This is no address of Redis.");
  const findsPrimary = place.kind === "sentinel" || place.kind === "cluster";
  const guard = { state: new RedisState(name, log, findsPrimary), prefix };
  if (place.kind === "cluster") return new GuardedCluster(clusterAt(place), guard);
  const options: ServerOptions = {
    ...anyServer,
    enableOfflineQueue: false,
    retryStrategy: retryMs,
    reconnectOnError: whenReadOnly(),
    lazyConnect: true,
  };
  if (place.kind === "server") return new GuardedServer([place.url, options], guard);
  if (place.kind === "socket") return new GuardedServer([place.path, options], guard);
  const client = new GuardedServer([{ ...options, ...sentinelAt(place) }], guard);
  hearErrorsOfSentinels(client);
  return client;
}

function sentinelAt({
  sentinels,
  name,
  db,
  username,
  password,
}: RedisUrl & { kind: "sentinel" }): ServerOptions {
  return {
    sentinels: [...sentinels],
    name,
    db,
    ...(username === undefined ? {} : { username }),
    // One that wants no password takes any.
    ...(password === undefined ? {} : { password, sentinelPassword: password }),
    sentinelCommandTimeout: silentMs,
    sentinelRetryStrategy: retryMs,
    // A primary that hangs, or is cut off from the others, is left as soon as Sentinel has another one.
    failoverDetector: true,
    sentinelReconnectStrategy: () => 5_000,
  };
}

/** The connections by which it hears of failovers would write each error to the console. */
function hearErrorsOfSentinels(client: GuardedServer): void {
  const { connector } = client as unknown as {
    readonly connector: { connectToSentinel: (...of: unknown[]) => GuardedServer };
  };
  const connect = connector.connectToSentinel;
  connector.connectToSentinel = (...of) => connect.apply(connector, of).on("error", () => undefined);
}

const clusterAt = ({ nodes, username, password }: RedisUrl & { kind: "cluster" }): ClusterArguments => [
  [...nodes],
  {
    redisOptions: {
      ...anyServer,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
    },
    enableOfflineQueue: false,
    clusterRetryStrategy: retryMs,
    // The watch gives up before.
    maxRedirections: 8,
    // Who asks is told at once, and not made to wait.
    retryDelayOnClusterDown: 0,
    slotsRefreshTimeout: silentMs / 2,
    slotsRefreshInterval: 2_000,
    lazyConnect: true,
  },
];

/** Behind the address of a server that has become a replica there may be the new primary by now. */
function whenReadOnly(): (error: Error) => boolean {
  let last = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    const now = performance.now();
    if (!message.startsWith("READONLY") || now - last < renewMs) return false;
    last = now;
    return true;
  };
}

/** The same client for who can do without Redis: its commands are given up after a tenth of a second of silence. */
export const briefly = (redis: Redis): Redis =>
  Object.create(redis, {
    sendCommand: {
      value: (...of: [Command, never, never]) => redis.sendBriefly(...of),
    },
  });

/**
 * Connects, and waits for that no longer than `ms`; the client goes on trying.
 * @throws Error with the reason
 */
export async function connectInTime(
  client: { connect(): Promise<unknown>; on(event: "error", listener: (error: Error) => void): unknown },
  ms = 5_000,
): Promise<void> {
  let reason: Error | undefined;
  client.on("error", (error: Error & { readonly lastNodeError?: Error | null }) => {
    reason = error.lastNodeError ?? error;
  });
  try {
    await inTime(client.connect(), ms, () => {
      throw new Error("it is not ready");
    });
  } catch (error) {
    throw reason ?? error;
  }
}
