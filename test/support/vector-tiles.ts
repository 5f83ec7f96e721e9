import { VectorTile } from "@mapbox/vector-tile";
import { PbfReader } from "pbf";
import type { TestServer } from "./server.js";

/** Vector tiles as tests look at them. */

export interface DecodedFeature {
  readonly id: number | undefined;
  readonly type: "Unknown" | "Point" | "LineString" | "Polygon";
  readonly properties: Readonly<Record<string, number | string | boolean>>;
  /** Rings, lines or points in units of the tile, 4096 a side, y downwards. */
  readonly geometry: readonly (readonly { readonly x: number; readonly y: number }[])[];
}

export interface VectorAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Bytes after decompression. */
  readonly bytes: Uint8Array;
  /** Names of the layers in their order, with their features. */
  readonly layers: ReadonlyMap<string, readonly DecodedFeature[]>;
}

const types = ["Unknown", "Point", "LineString", "Polygon"] as const;

export function decodeTile(bytes: Uint8Array): VectorAnswer["layers"] {
  const { layers } = new VectorTile(new PbfReader(bytes));
  return new Map(
    Object.entries(layers).map(([name, layer]) => [
      name,
      Array.from({ length: layer.length }, (_, index) => {
        const feature = layer.feature(index);
        return {
          id: feature.id,
          type: types[feature.type]!,
          properties: feature.properties,
          geometry: feature.loadGeometry(),
        };
      }),
    ]),
  );
}

export async function fetchVectors(url: string, headers: Record<string, string> = {}): Promise<VectorAnswer> {
  const answer = await fetch(url, { headers });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return {
    status: answer.status,
    headers: answer.headers,
    bytes,
    layers: answer.status === 200 ? decodeTile(bytes) : new Map(),
  };
}

/** Address of the vector tile of a map of project `p` that contains lon, lat at zoom z, on a node. */
export function vectorUrl(
  server: Pick<TestServer, "urls">,
  map: string,
  { lon, lat, z }: { readonly lon: number; readonly lat: number; readonly z: number },
  query = "",
  node = 0,
): string {
  const side = 2 ** z;
  const x = Math.floor(((lon + 180) / 360) * side);
  const radians = (lat * Math.PI) / 180;
  const y = Math.floor(((1 - Math.log(Math.tan(radians) + 1 / Math.cos(radians)) / Math.PI) / 2) * side);
  return `${server.urls[node]}/tms/p/${map}/${z}/${x}/${y}.mvt${query}`;
}
