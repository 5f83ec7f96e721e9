import type { TestServer } from "./server.js";

/** Creates maps, layers and objects through the API, for tests of tiles. */

export interface CreatedLayer {
  readonly id: number;
  readonly code: string;
}

/** Creates a published map; returns its id. */
export async function makeMap(server: TestServer, code: string, css = ""): Promise<number> {
  const token = await server.token("admin");
  const answer = await server.api("POST", "", { token, body: { code, css_style: css } });
  if (answer.status !== 200) throw new Error(`map ${code}: ${answer.status} ${answer.text}`);
  return answer.json.id;
}

export async function makeStyledLayer(
  server: TestServer,
  map: string,
  code: string,
  css: string,
): Promise<CreatedLayer> {
  const token = await server.token("editor");
  const answer = await server.api("POST", `${map}/layers/`, { token, body: { code, css_style: css } });
  if (answer.status !== 200) throw new Error(`layer ${code}: ${answer.status} ${answer.text}`);
  return { id: answer.json.id, code };
}

/** A square of `size` degrees with its lower left corner at lon, lat. */
export const square = (lon: number, lat: number, size: number) => ({
  type: "Polygon",
  coordinates: [
    [
      [lon, lat],
      [lon + size, lat],
      [lon + size, lat + size],
      [lon, lat + size],
      [lon, lat],
    ],
  ],
});

/** Adds an object; returns its id. */
export async function addObject(
  server: TestServer,
  layer: string,
  geom: unknown,
  options: { map: string; node?: number },
): Promise<number> {
  const token = await server.token("editor");
  const answer = await server.api("POST", `${options.map}/layers/${layer}/objects/`, {
    token,
    body: { fields: {}, geom },
    node: options.node ?? 0,
  });
  if (answer.status !== 200) throw new Error(`object: ${answer.status} ${answer.text}`);
  return answer.json.id;
}

/** URL of the tile (TMS) that contains lon, lat at zoom z, on a node. */
export function tileUrl(
  server: TestServer,
  map: string,
  place: { lon: number; lat: number; z: number },
  query = "",
  node = 0,
): string {
  const side = 2 ** place.z;
  const x = Math.floor(((place.lon + 180) / 360) * side);
  const radians = (place.lat * Math.PI) / 180;
  const y = Math.floor(((1 - Math.log(Math.tan(radians) + 1 / Math.cos(radians)) / Math.PI) / 2) * side);
  return `${server.urls[node]}/tms/p/${map}/?x=${x}&y=${side - 1 - y}&z=${place.z}${query}`;
}
