import { batches, type PurgeService, send } from "./purge-service.js";

/** Fastly: https://www.fastly.com/documentation/reference/api/purging/ */

export const fastlyApi = "https://api.fastly.com";

/** Keys that it takes at once. */
const mostInRequest = 256;

export interface FastlyOptions {
  readonly api: string;
  readonly service: string;
  readonly token: string;
  readonly repeatMs: number;
}

export class Fastly implements PurgeService {
  /** It takes 100,000 purges an hour. */
  readonly mostKeys = 4 * mostInRequest;
  readonly repeatMs: number;

  constructor(private readonly options: FastlyOptions) {
    this.repeatMs = options.repeatMs;
  }

  /** Soft: what has not changed is asked for by its ETag, and not loaded again. */
  purge(keys: readonly string[], signal: AbortSignal): Promise<void> {
    return this.send(keys, { isSoft: true, signal });
  }

  forget(keys: readonly string[], signal: AbortSignal): Promise<void> {
    return this.send(keys, { isSoft: false, signal });
  }

  private async send(
    keys: readonly string[],
    { isSoft, signal }: { readonly isSoft: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const { api, service, token } = this.options;
    for (const list of batches(keys, { most: mostInRequest }))
      await send(`${api}/service/${service}/purge`, {
        method: "POST",
        headers: {
          "fastly-key": token,
          accept: "application/json",
          "content-type": "application/json",
          ...(isSoft && { "fastly-soft-purge": "1" }),
        },
        body: JSON.stringify({ surrogate_keys: list }),
        signal,
      });
  }
}
