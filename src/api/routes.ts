import type { Route } from "../http/types.js";
import { constraintOperations } from "./constraints.js";
import { descriptionOperation } from "./docs.js";
import { exportOperations } from "./export.js";
import { fileOperations } from "./files.js";
import { folderOperations } from "./folders.js";
import { healthOperations } from "./health.js";
import { iconOperations } from "./icons.js";
import { imageOperations } from "./images.js";
import { layerEditOperations } from "./layer-edit.js";
import { layerOperations } from "./layers.js";
import { makevalidOperations } from "./makevalid.js";
import { mapListOperations } from "./map-lists.js";
import { mapOperations } from "./maps.js";
import { objectGeometryOperations } from "./object-geometry.js";
import { objectListOperations } from "./object-list.js";
import { objectOperations } from "./objects.js";
import type { Operation } from "./operation.js";
import { publishOperations } from "./publish.js";
import { refreshOperations } from "./refresh.js";
import { searchOperations } from "./search.js";
import type { Services } from "./services.js";
import { sessionOperations } from "./sessions.js";
import { structureOperations } from "./structure.js";
import { tileOperations } from "./tiles.js";
import { transferOperations } from "./transfer.js";
import { treeOperations } from "./tree.js";
import { routesOf } from "./versions/older.js";
import { version20 } from "./versions/v20.js";
import { version22 } from "./versions/v22.js";
import { visualizationOperations } from "./visualization.js";

const resources: readonly Operation[] = [
  ...tileOperations,
  ...sessionOperations,
  ...mapOperations,
  ...mapListOperations,
  ...folderOperations,
  ...treeOperations,
  ...publishOperations,
  ...layerOperations,
  ...layerEditOperations,
  ...structureOperations,
  ...constraintOperations,
  ...objectListOperations,
  ...objectOperations,
  ...objectGeometryOperations,
  ...fileOperations,
  ...imageOperations,
  ...iconOperations,
  ...searchOperations,
  ...refreshOperations,
  ...makevalidOperations,
  ...visualizationOperations,
  ...transferOperations,
  ...exportOperations,
  ...healthOperations,
];

/** Every route but the pages' and the older versions'. `test/api/rights-table.test.ts` has a line for each. */
export const apiRoutes: readonly Operation[] = [...resources, descriptionOperation(resources)];

/** The routes of the older versions: the same handlers, so the same rights. */
export const olderRoutes: readonly Route<Services>[] = [version20, version22].flatMap((version) =>
  routesOf(version, apiRoutes),
);
