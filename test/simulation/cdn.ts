import { legendOperations } from "../../src/api/resources/legends.js";
import { objectListOperations } from "../../src/api/resources/object-lists.js";
import type { Services } from "../../src/api/services.js";
import { CdnHeaders } from "../../src/cdn/headers.js";
import { configSchema } from "../../src/config.js";
import type { Headers, Reply, Request } from "../../src/http/types.js";
import type { TilePath } from "../../src/tile-path.js";
import type { SimulatedStatistics } from "./database.js";

/**
 * A simulated cache in front of the nodes. It keeps what it may keep until one of its keys is dropped, and has no other way of
 * knowing what is old. The answers besides tiles are those of the real operations, with what they ask services for.
 */

/** When it is told again, for what was on its way: longer than anything is. */
export const repeatMs = 1_200;
/** When another node tells it, if one does not come to it. */
export const untoldMs = 4_000;

const config = configSchema.parse({ edge: { kind: "hook", urls: ["http://edge.example"] } });
export const cdnHeaders = new CdnHeaders(config);

interface Kept<Answer> {
  readonly answer: Answer;
  readonly keys: ReadonlySet<string>;
}

export class SimulatedCdn<Answer> {
  readonly kept = new Map<string, Kept<Answer>>();
  /** Changes that it has not been told of for the second time. */
  untold = 0;

  /** It has received an answer. */
  receive(address: string, answer: Answer, headers: Headers): void {
    const seconds = /s-maxage=(\d+)/.exec(headers["cache-control"] ?? "")?.[1];
    if (Number(seconds ?? 0) > 0)
      this.kept.set(address, { answer, keys: new Set((headers["surrogate-key"] ?? "").split(" ")) });
  }

  drop(keys: readonly string[]): void {
    for (const [address, { keys: own }] of this.kept)
      if (keys.some((key) => own.has(key))) this.kept.delete(address);
  }
}

/** What the CDN is asked for besides tiles: a number of objects, which takes long, and statistics, which may be late. */
export const readings = {
  count: {
    handler: objectListOperations.find(({ description }) => description.id === "countObjects")!.handler,
    query: "precise=1",
    numberIn: (reply: Reply) => (reply as Extract<Reply, { kind: "json" }>).value as number,
  },
  legend: {
    handler: legendOperations.find(({ description }) => description.id === "getLegend")!.handler,
    query: "",
    numberIn: (reply: Reply) =>
      JSON.parse(String((reply as Extract<Reply, { kind: "bytes" }>).body)).minValue as number,
  },
} as const;
export type Reading = keyof typeof readings;

export const pathOf = (reading: Reading, { project, map, layer }: SimulatedStatistics): string =>
  `/api/2.8/${project}/${map}/layers/${layer}/${reading}/`;

/** The answer of a node to the public. @throws what the operation throws */
export async function read(
  reading: Reading,
  of: SimulatedStatistics,
  node: Pick<TilePath<unknown>, "catalog" | "changes" | "slices" | "visuals"> &
    Pick<Services, "texts"> & { readonly db: unknown },
): Promise<{ readonly value: number; readonly headers: Headers }> {
  const { handler, query, numberIn } = readings[reading];
  const services = {
    ...{ config, cdnHeaders, plugins: new Map(), db: node.db },
    ...{ catalog: node.catalog, visuals: node.visuals, changes: node.changes, versions: node.changes },
    ...{ limits: { applies: () => false }, slices: node.slices, texts: node.texts },
  } as unknown as Services;
  const given = new URLSearchParams(query);
  const request = {
    ...{ id: "", method: "GET", path: pathOf(reading, of), rawQuery: query, baseUrl: "", remoteAddress: "" },
    params: { project: of.project, map: of.map, layer: of.layer },
    query: {
      get: (name: string) => given.get(name) ?? undefined,
      has: (name: string) => given.has(name),
      names: () => given.keys(),
    },
    header: () => undefined,
    signal: new AbortController().signal,
  } as unknown as Request;
  const reply = await handler(request, services);
  return { value: numberIn(reply), headers: reply.headers ?? {} };
}
