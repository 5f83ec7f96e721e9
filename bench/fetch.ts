import { Agent, get } from "node:http";

/** Fetches tiles, each once, some at a time, over keep-alive connections. */

export interface Fetched {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** Bytes of one answer, on average. */
  readonly bytesEach: number;
}

const pngSignature = Buffer.from("89504e470d0a1a0a", "hex");

/** Addresses that are asked for together, so many milliseconds after those before were there. */
export interface View {
  readonly urls: readonly string[];
  readonly afterMs: number;
}

/** @param urls absolute addresses @throws as `fetchViews` */
export const fetchAll = (urls: readonly string[], concurrency: number): Promise<Fetched> =>
  fetchViews([[{ urls, afterMs: 0 }]], concurrency);

/**
 * Persons side by side, each with his views one after the other.
 * @param concurrency requests of each person at a time
 * @throws Error when an answer is not 200 with a PNG: some servers report errors as pages with status 200
 */
export async function fetchViews(
  persons: readonly (readonly View[])[],
  concurrency: number,
): Promise<Fetched> {
  const times: number[] = [];
  let bytes = 0;
  const fetchTile = async (url: string, agent: Agent) => {
    const asked = performance.now();
    const body = await fetchOne(url, { agent });
    if (!body.subarray(0, 8).equals(pngSignature))
      throw new Error(`${url}: ${body.toString("latin1", 0, 500)}`);
    bytes += body.length;
    times.push(performance.now() - asked);
  };
  const person = async (views: readonly View[]) => {
    const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
    try {
      for (const { urls, afterMs } of views) {
        if (afterMs > 0) await new Promise((wait) => setTimeout(wait, afterMs));
        let next = 0;
        const worker = async () => {
          for (let url = urls[next++]; url !== undefined; url = urls[next++]) await fetchTile(url, agent);
        };
        await Promise.all(Array.from({ length: concurrency }, worker));
      }
    } finally {
      agent.destroy();
    }
  };
  const started = performance.now();
  await Promise.all(persons.map(person));
  const seconds = (performance.now() - started) / 1000;
  times.sort((one, other) => one - other);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))]!;
  return {
    perSecond: times.length / seconds,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    p99Ms: at(0.99),
    bytesEach: bytes / times.length,
  };
}

/** The body of one answer. @throws Error when the status is not 200 or the body is empty */
export function fetchOne(
  url: string,
  options: { readonly agent?: Agent; readonly headers?: Record<string, string> } = {},
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const request = get(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const body = Buffer.concat(chunks);
        if (response.statusCode === 200 && body.length > 0) resolve(body);
        else reject(new Error(`${url}: ${response.statusCode}, ${body.length} bytes`));
      });
    });
    request.on("error", reject);
    request.setTimeout(120_000, () => request.destroy(new Error(`${url}: no answer within two minutes`)));
  });
}

/** Seconds that it takes to fetch these, some at a time. Bodies may be empty. @throws Error when a status is not 200 */
export async function fetchEach(
  urls: readonly string[],
  { concurrency, headers }: { readonly concurrency: number; readonly headers: Record<string, string> },
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const one = (url: string) =>
    new Promise<void>((resolve, reject) => {
      const request = get(url, { agent, headers }, (response) => {
        response.resume().on("error", reject);
        response.on("end", () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`${url}: ${response.statusCode}`)),
        );
      });
      request.on("error", reject);
      request.setTimeout(120_000, () => request.destroy(new Error(`${url}: no answer within two minutes`)));
    });
  let next = 0;
  const worker = async () => {
    for (let url = urls[next++]; url !== undefined; url = urls[next++]) await one(url);
  };
  const started = performance.now();
  try {
    await Promise.all(Array.from({ length: concurrency }, worker));
  } finally {
    agent.destroy();
  }
  return (performance.now() - started) / 1000;
}
