import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { systemClock } from "../clock.js";
import { createRasterServices } from "../external/services.js";
import { createImageHost } from "../hosts/image.js";
import { type RenderHost, startRenderHost } from "../hosts/render.js";
import { openBlobs } from "../storage/open-blobs.js";
import { localOperatorFolder } from "../storage/operator-files.js";
import { loadIcons } from "../style/icons.js";
import { type TilePath, wireTilePath } from "../tile-path.js";
import { PictureFolder } from "../tiles/picture-folder.js";
import type { TileSource } from "../tiles/tile-service.js";
import { loadPlugins } from "../visual/plugins.js";
import type { CommandServices } from "./environment.js";

export interface CommandTilePath extends TilePath<never> {
  readonly render: RenderHost;
}

/**
 * Draws tiles in processes of the command's own, and with the tiles in Redis of the running nodes. It is not told of
 * changes, and looks at the database for each tile.
 * @param onServed is told where each tile came from
 */
export async function withTilePath<T>(
  { config, log, db, redis: connect, tilesRedis: connectTiles }: CommandServices,
  work: (path: CommandTilePath) => Promise<T>,
  onServed: (source: TileSource) => void = () => undefined,
): Promise<T> {
  const redis = await connect();
  const tilesRedis = await connectTiles();
  const blobs = await openBlobs(config);
  const image = createImageHost(config, log);
  const pictures = await PictureFolder.open(join(config.dataDir, "drawn-pictures"), { blobs, image });
  const render = startRenderHost(config, log, pictures.path, () => db.address);
  const nothing = () => undefined;
  const services = createRasterServices(config, { image, log, onImage: nothing });
  try {
    const ownIcons = await localOperatorFolder(config, "icons", log);
    const icons = await loadIcons({ own: ownIcons.path, folder: pictures.path, image, log });
    await ownIcons.stop();
    const { plugins } = await loadPlugins(config.visualPlugins);
    const path = wireTilePath<never>({
      config,
      db,
      redis,
      tilesRedis,
      render,
      blobs,
      services,
      nodeId: randomBytes(6).toString("hex"),
      clock: systemClock,
      log,
      pictures,
      plugins,
      thinnings: { want: nothing },
      icons,
      on: {
        served: onServed,
        rendered: nothing,
        leftOut: nothing,
        catalogueChanged: nothing,
        imported: nothing,
        noted: nothing,
        cdnPurged: nothing,
        purged: nothing,
        historyChanged: () => render.renew(),
      },
    });
    return await work({ ...path, render });
  } finally {
    services.close();
    await Promise.all([render.stop(), image.stop()]);
    await pictures.remove();
  }
}
