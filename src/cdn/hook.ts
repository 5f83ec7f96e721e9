import { batches, type PurgeService, send } from "./purge-service.js";

/** Any other cache, told by `POST` of JSON: `{"keys": […]}`. It answers 2xx when the answers are dropped. */

/** About 100 kB. */
const mostInRequest = 5_000;

export interface HookOptions {
  readonly url: string;
  /** Sent as a bearer token; "" = none. */
  readonly token: string;
  readonly repeatMs: number;
}

export class Hook implements PurgeService {
  readonly mostKeys = 20_000;
  readonly repeatMs: number;

  constructor(private readonly options: HookOptions) {
    this.repeatMs = options.repeatMs;
  }

  async purge(keys: readonly string[], signal: AbortSignal): Promise<void> {
    for (const list of batches(keys, { most: mostInRequest })) await this.post({ keys: list }, signal);
  }

  forget(keys: readonly string[], signal: AbortSignal): Promise<void> {
    return this.purge(keys, signal);
  }

  private async post(body: object, signal: AbortSignal): Promise<void> {
    const { url, token } = this.options;
    await send(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token !== "" && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
      signal,
    });
  }
}
