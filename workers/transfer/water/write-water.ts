import { writeFile } from "node:fs/promises";
import type { Feature } from "geojson";
import type { WaterRequest } from "../../../src/hosts/messages.js";
import { lakes, rivers } from "./gshhg.js";

/** Writes rivers or lakes of GSHHG as a file that can be imported. */
export async function writeWater({ source, what, target }: WaterRequest): Promise<null> {
  await writeFile(target, lines(what === "rivers" ? riverFeatures(source) : lakeFeatures(source)), {
    flag: "wx",
    mode: 0o600,
  });
  return null;
}

const riverFeatures = (source: string): Feature[] =>
  rivers(source).map(({ rank, geometry }) => ({ type: "Feature", properties: { rank }, geometry }));

const lakeFeatures = (source: string): Feature[] =>
  lakes(source).map(({ squareKilometres, geometry }) => ({
    type: "Feature",
    properties: { km2: squareKilometres },
    geometry,
  }));

function* lines(features: readonly Feature[]): Iterable<string> {
  for (const feature of features) yield `${JSON.stringify(feature)}\n`;
}
