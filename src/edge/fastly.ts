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

  async purge(keys: readonly string[], signal: AbortSignal): Promise<void> {
    // Soft: what has not changed is asked for by its ETag, and not loaded again.
    for (const list of batches(keys, { most: mostInRequest }))
      await this.post("purge", { body: JSON.stringify({ surrogate_keys: list }), isSoft: true, signal });
  }

  async purgeAll(signal: AbortSignal): Promise<void> {
    await this.post("purge_all", { signal });
  }

  private post(
    path: string,
    {
      body,
      isSoft,
      signal,
    }: { readonly body?: string; readonly isSoft?: boolean; readonly signal: AbortSignal },
  ): Promise<string> {
    const { api, service, token } = this.options;
    return send(`${api}/service/${service}/${path}`, {
      method: "POST",
      headers: {
        "fastly-key": token,
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(isSoft && { "fastly-soft-purge": "1" }),
      },
      ...(body !== undefined && { body }),
      signal,
    });
  }
}
