import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The disc that an object adds to a heat map, in each of 255 strengths: Mapnik draws a picture of less than full opacity on a
 * canvas of its own, as large as the tile, for each object.
 */
export function makeHeatKernels(folder = "dist/src/visual/kinds/heat") {
  const full = readFileSync("src/visual/kinds/heat.svg", "utf8");
  mkdirSync(folder, { recursive: true });
  for (let level = 1; level <= 255; level++) {
    const weaker = full.replace(
      /stop-opacity="([\d.]+)"/g,
      (_, opacity) => `stop-opacity="${((opacity * level) / 255).toFixed(5)}"`,
    );
    writeFileSync(join(folder, `${level}.svg`), weaker);
  }
}
