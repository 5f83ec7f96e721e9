import type { Config } from "../config.js";
import { Cloudflare, cloudflareApi } from "./cloudflare.js";
import { Fastly, fastlyApi } from "./fastly.js";
import { Hook } from "./hook.js";
import type { PurgeService } from "./purge-service.js";
import { Varnish } from "./varnish.js";

/** Names the CDN, so that another one drops everything. */
export const cdnTarget = ({ edge: { kind, urls, service, name } }: Pick<Config, "edge">): string =>
  [kind, ...urls, service, name].join(" ");

/** Whether edits wait for the CDN: those that answer a purge when it is done, and at once. */
export const isWaitedFor = ({ edge: { kind, wait } }: Pick<Config, "edge">): boolean =>
  wait && (kind === "varnish" || kind === "hook");

/**
 * The services of the configured CDN by names of their own, one for each instance; none when there is none to be told. The
 * configuration was checked for what it needs.
 */
export function purgeServicesOf({ edge }: Pick<Config, "edge">): ReadonlyMap<string, PurgeService> {
  const { kind, urls, service, token, perMinute } = edge;
  const repeatMs = 1_000 * edge.repeatSeconds;
  const api = (own: string) => (urls[0] ?? own).replace(/\/$/, "");
  switch (kind) {
    case "none":
    case "nginx":
      return new Map();
    case "varnish":
      return new Map(urls.map((url) => [url, new Varnish(url)]));
    case "fastly":
      return new Map([[kind, new Fastly({ api: api(fastlyApi), service, token, repeatMs })]]);
    case "cloudflare":
      return new Map([
        [kind, new Cloudflare({ api: api(cloudflareApi), zone: service, token, repeatMs, perMinute })],
      ]);
    case "hook":
      return new Map([[kind, new Hook({ url: urls[0]!, token, repeatMs })]]);
  }
}
