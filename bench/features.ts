import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { numbers } from "./names.js";

/** Many features to import, the same each time. */

export interface FeatureFiles {
  /** Points clustered around some places, with a number and a text, as GeoJSON lines. */
  readonly points: string;
  /** Buildings of 22 m, as GeoJSON lines. */
  readonly squares: string;
}

export async function featureFiles(folder: string, points: number, squares: number): Promise<FeatureFiles> {
  const next = numbers(11);
  /** About normally distributed, with variance 1. */
  const normal = () => (next() + next() + next() + next() - 2) * Math.sqrt(3);
  const places = Array.from({ length: 500 }, () => [next() * 340 - 170, next() * 140 - 70] as const);
  const files = { points: join(folder, "points.geojsonl"), squares: join(folder, "squares.geojsonl") };
  await write(files.points, points, (index) => {
    const [x, y] = places[Math.floor(next() * places.length)]!;
    const at = `${(x + normal() * 0.05).toFixed(6)},${(y + normal() * 0.05).toFixed(6)}`;
    const properties = `"k":${index % 7},"v":${(next() * 100).toFixed(2)},"name":"place ${index}"`;
    return `{"type":"Feature","properties":{${properties}},"geometry":{"type":"Point","coordinates":[${at}]}}\n`;
  });
  await write(files.squares, squares, (index) => {
    const [x, y, side] = [7 + normal() * 0.3, 50.5 + normal() * 0.3, 0.0002];
    const ring = [
      [x, y],
      [x + side, y],
      [x + side, y + side],
      [x, y + side],
      [x, y],
    ].map(([east, north]) => `[${east!.toFixed(6)},${north!.toFixed(6)}]`);
    return (
      `{"type":"Feature","properties":{"k":${index % 7}},` +
      `"geometry":{"type":"Polygon","coordinates":[[${ring.join(",")}]]}}\n`
    );
  });
  return files;
}

async function write(path: string, count: number, line: (index: number) => string): Promise<void> {
  const file = createWriteStream(path);
  for (let index = 0; index < count; ) {
    let text = "";
    for (const until = Math.min(count, index + 1_000); index < until; index++) text += line(index);
    if (!file.write(text)) await once(file, "drain");
  }
  file.end();
  await once(file, "finish");
}
