import { randomUUID } from "node:crypto";
import type { Client } from "./client.js";
import type { Random } from "./random.js";

/** The project that everybody works on: a public map with places to read, notes that are edited, and imported points. */

export const cityCode = "city";
const map = "/api/2.8/city/world/";

/** Path of a layer of the map. */
export const layerPath = (code: string): string => `${map}layers/${code}/`;
export const mapPath = map;
export const cityLogin = "/api/2.8/city/login/";
/** Path of the tile addresses; continues with z/x/y and an extension. */
export const tilesPath = "/tms/city/world/";

const styles: Readonly<Record<string, string>> = {
  places: "#places { marker-width: 5; marker-fill: #c33; marker-allow-overlap: true; }",
  notes: "#notes { marker-width: 9; marker-fill: #36c; marker-allow-overlap: true; }",
  imported: "#imported { marker-width: 3; marker-fill: #393; marker-allow-overlap: true; }",
};

export interface City {
  /** Id of the layer of places, which nobody edits. */
  readonly placesId: number;
  /** Ids of some places. */
  readonly places: readonly number[];
}

/** Makes the map with so many places. @param client of an administrator @throws Error when a request fails */
export async function makeCity(client: Client, random: Random, count: number): Promise<City> {
  const post = async <T>(path: string, body: unknown): Promise<T> => {
    const headers = { "idempotency-key": randomUUID() };
    const answer = await client.json<T>({ as: "set-up", method: "POST", path, body, token: true, headers });
    if (answer === undefined) throw new Error(`${path} failed.`);
    return answer;
  };
  await post("/api/2.8/city/", { code: "world" });
  const ids: Record<string, number> = {};
  for (const [code, css] of Object.entries(styles)) {
    ids[code] = (await post<{ id: number }>(`${map}layers/`, { code, css_style: css })).id;
    await post(`${layerPath(code)}structure/`, { code: "text", type: "string" });
  }
  const features = Array.from({ length: count }, (_, index) => feature(random, `place ${index}`));
  await post(`${layerPath("places")}import/`, { type: "FeatureCollection", features });
  const some = await client.json<{ id: number }[]>({
    as: "set-up",
    path: `${layerPath("places")}objects/?limit=500`,
  });
  return { placesId: ids.places!, places: (some ?? []).map(({ id }) => id) };
}

/** Somewhere where people live. */
export const point = (random: Random) => ({
  type: "Point" as const,
  coordinates: [random.next() * 300 - 150, random.next() * 120 - 60],
});

export const feature = (random: Random, text: string) => ({
  type: "Feature" as const,
  properties: { text },
  geometry: point(random),
});

/** All texts of a layer, as a node lists them. */
export async function textsOf(client: Client, layer: string): Promise<string[] | undefined> {
  const objects = await client.json<{ fields: { text: string } }[]>({
    as: "audit",
    path: `${layerPath(layer)}objects/?fields=text`,
  });
  return objects?.map(({ fields }) => fields.text);
}
