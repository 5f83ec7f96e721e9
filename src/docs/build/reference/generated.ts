import { loadPages } from "../../pages.js";
import { cartocssPage } from "./cartocss.js";
import { commandsPage } from "./commands.js";
import { errorsPage } from "./errors.js";
import { formatsPage } from "./formats.js";
import { operationPages } from "./operations.js";
import { settingsPage } from "./settings.js";
import { visualizationsPage } from "./visualizations.js";

/** Pages that are made of what the program knows of itself, by their paths. */
export async function generated(): Promise<ReadonlyMap<string, string>> {
  const written = loadPages().filter(
    ({ path }) => path.startsWith("reference/api-") || path === "operating/health-and-metrics",
  );
  return new Map([
    ["reference/settings", settingsPage()],
    ["reference/commands", await commandsPage()],
    ["reference/errors", errorsPage()],
    ["reference/formats", formatsPage()],
    ["reference/cartocss", cartocssPage()],
    ["reference/visualizations", visualizationsPage()],
    ...operationPages(written).pages,
  ]);
}
