import { createLayer } from "../src/catalog/layers.js";
import { createMap } from "../src/catalog/maps.js";
import { createProject } from "../src/catalog/projects.js";
import { createTransferHost } from "../src/hosts/transfer.js";
import { type ImportDependencies, importIntoLayer } from "../src/import/import-layer.js";
import { openDatabase } from "../src/storage/postgres.js";
import type { TileAddress } from "../src/tiles/address.js";
import { png } from "../src/tiles/formats.js";
import type { World } from "./world.js";

/** A map's style and files, one GeoJSON feature a line each. */
export interface MapFiles {
  /** CartoCSS in which `#code` selects a layer. */
  readonly style: string;
  /** From the top of the tree to its bottom: the first is drawn over the others. */
  readonly layers: readonly { readonly code: string; readonly path: string }[];
}

/** Project and map code are the same. */
export const mapCode = "bench";

/** Makes the map and imports its files through the product; leaves alone what an earlier run has imported. */
export async function importMap(
  world: World,
  files: MapFiles,
  progress: (text: string) => void,
): Promise<void> {
  await withImports(world, async ({ db, transfer, log, config }) => {
    const [done] = await db.query("select 1 from project where code = $1", [`${mapCode}-done`]);
    if (done) return;
    const project = await createProject(db, { code: mapCode });
    const map = await createMap(db, project, { code: mapCode, cssStyle: files.style });
    for (const { code, path } of files.layers) {
      const started = performance.now();
      const { id } = await createLayer(db, map, { code, cssStyle: "" });
      const { rows, vertices } = await importIntoLayer(
        { db, transfer, log, config },
        { layerId: id, language: "en" },
        { files: [{ path, name: "features.geojsonl" }], action: "replace" },
      );
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      progress(`imported ${code}: ${rows} objects, ${vertices} vertices, ${seconds} s`);
    }
    await createProject(db, { code: `${mapCode}-done` });
  });
}

/** Gives `work` what imports need, which is ended afterwards. */
export async function withImports(
  world: World,
  work: (deps: ImportDependencies) => Promise<void>,
): Promise<void> {
  const config = world.config();
  const db = openDatabase({
    url: config.databaseUrl,
    connections: 4,
    statementTimeoutMs: 600_000,
    log: world.log,
  });
  const transfer = createTransferHost(config, world.log);
  try {
    await transfer.whenReady();
    await work({ db, transfer, log: world.log, config });
  } finally {
    await transfer.stop();
    await db.close();
  }
}

/** XYZ address of a tile of the map, without the base map. */
export const tilePath = ({ z, x, y }: { z: number; x: number; y: number }): string =>
  `/tms/${mapCode}/${mapCode}/${z}/${x}/${y}.png?base=0`;

/** What the planner is asked for a tile of that address, besides its coordinates. */
export const tileOptions: Omit<TileAddress, "coord"> = {
  base: false,
  layers: undefined,
  scale: 1,
  language: undefined,
  format: png,
  quality: 0,
};
