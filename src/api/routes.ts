import type { Route } from "../http/types.js";
import type { Operation } from "./request/operation.js";
import { accessKeyOperations } from "./resources/access-keys.js";
import { descriptionOperation } from "./resources/api-description.js";
import { binOperations } from "./resources/bin.js";
import { constraintOperations } from "./resources/constraints.js";
import { copyLayerOperations } from "./resources/copy-layer.js";
import { exportOperations } from "./resources/export.js";
import { tileExportOperations } from "./resources/export-tiles.js";
import { fileOperations } from "./resources/files.js";
import { folderOperations } from "./resources/folders.js";
import { fontOperations } from "./resources/fonts.js";
import { healthOperations } from "./resources/health.js";
import { historyOperations } from "./resources/history.js";
import { iconOperations } from "./resources/icons.js";
import { identifyOperations } from "./resources/identify.js";
import { imageOperations } from "./resources/images.js";
import { importOperations } from "./resources/import.js";
import { importJobOperations } from "./resources/import-jobs.js";
import { installationOperations } from "./resources/installation.js";
import { invitationOperations } from "./resources/invitations.js";
import { layerEditOperations } from "./resources/layer-edits.js";
import { treeOperations } from "./resources/layer-tree.js";
import { layerOperations } from "./resources/layers.js";
import { legendOperations } from "./resources/legends.js";
import { linkedFileOperations } from "./resources/linked-file.js";
import { makevalidOperations } from "./resources/makevalid.js";
import { mapChangeOperations } from "./resources/map-changes.js";
import { mapEditOperations } from "./resources/map-edits.js";
import { mapListOperations } from "./resources/map-lists.js";
import { mapOperations } from "./resources/maps.js";
import { memberOperations } from "./resources/members.js";
import { objectBulkOperations } from "./resources/object-bulk.js";
import { objectGeometryOperations } from "./resources/object-geometry.js";
import { objectListOperations } from "./resources/object-lists.js";
import { objectShapeOperations } from "./resources/object-shapes.js";
import { objectOperations } from "./resources/objects.js";
import { pictureOperations } from "./resources/pictures.js";
import { previewOperations } from "./resources/preview.js";
import { publishOperations } from "./resources/publish.js";
import { refreshOperations } from "./resources/refresh.js";
import { searchOperations } from "./resources/search.js";
import { sessionOperations } from "./resources/sessions.js";
import { startOperation } from "./resources/start.js";
import { structureOperations } from "./resources/structure.js";
import { structureHistoryOperations } from "./resources/structure-history.js";
import { tileKeyOperations } from "./resources/tile-keys.js";
import { tileMapOperation } from "./resources/tile-map.js";
import { tileOperations } from "./resources/tiles.js";
import { vectorTileOperations } from "./resources/vector-tiles.js";
import { visualizationOperations } from "./resources/visualization.js";
import type { Services } from "./services.js";
import { routesOf } from "./versions/older.js";
import { version20 } from "./versions/v20.js";
import { version22 } from "./versions/v22.js";

const resources: readonly Operation[] = [
  ...tileOperations,
  tileMapOperation,
  ...mapChangeOperations,
  ...vectorTileOperations,
  ...tileKeyOperations,
  ...accessKeyOperations,
  ...memberOperations,
  ...invitationOperations,
  ...sessionOperations,
  ...mapOperations,
  ...mapEditOperations,
  ...mapListOperations,
  ...binOperations,
  ...pictureOperations,
  ...fontOperations,
  ...folderOperations,
  ...treeOperations,
  ...publishOperations,
  ...layerOperations,
  ...layerEditOperations,
  ...structureOperations,
  ...constraintOperations,
  ...objectListOperations,
  ...objectOperations,
  ...objectBulkOperations,
  ...objectShapeOperations,
  ...historyOperations,
  ...structureHistoryOperations,
  ...objectGeometryOperations,
  ...identifyOperations,
  ...fileOperations,
  ...imageOperations,
  ...iconOperations,
  ...legendOperations,
  ...searchOperations,
  ...copyLayerOperations,
  ...refreshOperations,
  ...makevalidOperations,
  ...visualizationOperations,
  ...previewOperations,
  ...importOperations,
  ...linkedFileOperations,
  ...importJobOperations,
  ...exportOperations,
  ...tileExportOperations,
  ...healthOperations,
  ...installationOperations,
  startOperation,
];

/** All routes except those of pages and older versions. `test/api/rights-table.test.ts` has a line for each. */
export const apiRoutes: readonly Operation[] = [...resources, descriptionOperation(resources)];

/** The routes of the older versions: the same handlers, so the same rights. */
export const olderRoutes: readonly Route<Services>[] = [version20, version22].flatMap((version) =>
  routesOf(version, apiRoutes),
);
