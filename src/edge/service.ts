import type { Config } from "../config.js";
import { Cloudflare, cloudflareApi } from "./cloudflare.js";
import { Fastly, fastlyApi } from "./fastly.js";
import { Hook } from "./hook.js";
import type { PurgeService } from "./purge-service.js";
import { Varnish } from "./varnish.js";

/** Names the edge, so that another one drops everything. */
export const edgeTarget = ({ edge: { kind, urls, service } }: Pick<Config, "edge">): string =>
  [kind, ...urls, service].join(" ");

/** The service of the configured edge; undefined when there is none to be told. The configuration was checked for what it needs. */
export function purgeServiceOf({ edge }: Pick<Config, "edge">): PurgeService | undefined {
  const { kind, urls, service, token, perMinute } = edge;
  const repeatMs = 1_000 * edge.repeatSeconds;
  const api = (own: string) => (urls[0] ?? own).replace(/\/$/, "");
  switch (kind) {
    case "none":
    case "nginx":
      return undefined;
    case "varnish":
      return new Varnish(urls);
    case "fastly":
      return new Fastly({ api: api(fastlyApi), service, token, repeatMs });
    case "cloudflare":
      return new Cloudflare({ api: api(cloudflareApi), zone: service, token, repeatMs, perMinute });
    case "hook":
      return new Hook({ url: urls[0]!, token, repeatMs });
  }
}
