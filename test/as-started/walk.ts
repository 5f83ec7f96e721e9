import type { Test } from "tap";
import { backupSteps } from "./steps/backup.js";
import { describedSteps } from "./steps/described.js";
import { externalSteps } from "./steps/external.js";
import { lateSteps } from "./steps/late.js";
import { nameSteps } from "./steps/names.js";
import { objectSteps } from "./steps/objects.js";
import { operatingSteps } from "./steps/operating.js";
import { parameterSteps } from "./steps/parameters.js";
import { pictureSteps } from "./steps/pictures.js";
import { rasterSteps } from "./steps/rasters.js";
import { requestSteps } from "./steps/requests.js";
import { tileSteps } from "./steps/tiles.js";
import { transferSteps } from "./steps/transfers.js";
import { viewerSteps } from "./steps/viewer.js";
import { visualizationSteps } from "./steps/visualizations.js";
import { type Installation, type Step, World } from "./world.js";

const steps: readonly Step[] = [
  ...rasterSteps,
  ...objectSteps,
  ...requestSteps,
  ...nameSteps,
  ...transferSteps,
  ...pictureSteps,
  ...externalSteps,
  ...tileSteps,
  ...parameterSteps,
  ...visualizationSteps,
  ...lateSteps,
  ...viewerSteps,
  ...operatingSteps,
  ...backupSteps,
  ...describedSteps,
];

/** Walks through what the installation can do, each capability a test of its own. @param all else the steps for both */
export async function walk(t: Test, installation: Installation, { all }: { readonly all: boolean }) {
  const world = new World(installation);
  await world.found();
  for (const { name, walk, also } of steps) if (all || also) await t.test(name, (t) => walk(t, world));
}
