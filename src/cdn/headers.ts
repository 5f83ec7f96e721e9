import type { Config } from "../config.js";

/** Headers that tell the caches in front of the server how long they may keep a public answer, and what it is made of. */

export type CdnKind = Config["edge"]["kind"];

export interface CdnHeaderOptions {
  readonly edge: Pick<Config["edge"], "kind" | "seconds" | "name">;
  readonly tiles: Pick<Config["tiles"], "cacheControl">;
}

type Headers = Readonly<Record<string, string>>;

/** Kept, and asked for each time. */
export const revalidated = "public, max-age=0, must-revalidate";

/** Of what is not current: kept by nobody. */
export const notKept: Headers = { "cache-control": "no-store" };

/** Names of headers by which answers are kept, found and told from others. */
const keeping =
  /^(?:etag|cache-control|surrogate-control|cdn-cache-control|x-accel-expires|surrogate-key|cache-tag)$/;

/** The headers of an answer that turns out not to be current. What only its caller sees is kept by nobody anyway. */
export const withoutKeeping = (headers: Headers): Headers =>
  headers["cache-control"]?.includes("no-store")
    ? headers
    : {
        ...Object.fromEntries(Object.entries(headers).filter(([name]) => !keeping.test(name))),
        ...notKept,
      };

/** Whether the CDN is told what to drop. */
const isPurged = (kind: CdnKind): boolean => kind !== "none" && kind !== "nginx";

export class CdnHeaders {
  /** Whether keys are of use: somebody drops answers by them. */
  readonly isPurged: boolean;
  /** Whether what has keys is kept without being asked for each time. */
  readonly isKept: boolean;

  constructor(private readonly options: CdnHeaderOptions) {
    this.isPurged = isPurged(options.edge.kind);
    this.isKept = this.isPurged || options.tiles.cacheControl !== "";
  }

  /**
   * Headers of a public answer that is dropped by its keys when it changes.
   * @param keys at most 2 kB; proxies in between refuse heads beyond 4 kB
   * @param secondsLeft how long it may be shown at most; undefined = as long as nothing changes
   */
  keyed(keys: readonly string[], secondsLeft?: number): Headers {
    const { edge, tiles } = this.options;
    // Without a CDN they would be of no use to anybody.
    const named = this.isPurged ? namesOf(edge.kind, [edge.name, ...keys]) : {};
    if (tiles.cacheControl !== "")
      return { "cache-control": bounded(tiles.cacheControl, secondsLeft), ...named };
    const seconds = Math.min(edge.seconds, secondsLeft ?? edge.seconds);
    switch (edge.kind) {
      case "none":
        return { "cache-control": revalidated };
      case "nginx":
        // In this order: nginx before 1.23 obeys the first.
        return { "x-accel-expires": inThePast, "cache-control": revalidated };
      // Their own headers, so that no other cache on the way, which nobody tells, keeps it as long.
      case "fastly":
        return { "cache-control": revalidated, "surrogate-control": `max-age=${seconds}`, ...named };
      case "cloudflare":
        return { "cache-control": revalidated, "cdn-cache-control": `public, max-age=${seconds}`, ...named };
      case "varnish":
      case "hook":
        return { "cache-control": `public, max-age=0, s-maxage=${seconds}`, ...named };
    }
  }
}

const namesOf = (kind: CdnKind, keys: readonly string[]): Headers =>
  kind === "cloudflare" ? { "cache-tag": keys.join(",") } : { "surrogate-key": keys.join(" ") };

/** nginx keeps what has expired, and asks whether it is current; what must not be kept for any time it does not keep at all. */
const inThePast = "@1";

/** `Cache-Control` with no time longer than the answer holds, as nobody purges caches of what is not ours. */
const bounded = (header: string, secondsLeft: number | undefined): string =>
  secondsLeft === undefined
    ? header
    : header.replace(/(?<=\b(?:max-age|s-maxage|stale-[a-z-]+)=)\d+/g, (seconds) =>
        String(Math.min(Number(seconds), secondsLeft)),
      );
