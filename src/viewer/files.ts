import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Build, buildOf, type PageFile, pageFile, readFolder } from "./page-files.js";

const require = createRequire(import.meta.url);

export interface ViewerFiles extends Build {
  /** The HTML page, which refers to the other files as `viewer/<build>/<name>`. */
  readonly index: PageFile;
}

/**
 * Reads the built viewer (the folders `static` and `scripts` beside this module) and Leaflet. Files are named as `app.js`,
 * `tools/table.js` or `images/layers.png`.
 * @throws Error when the viewer has not been built
 */
export function loadViewerFiles(): ViewerFiles {
  const here = dirname(fileURLToPath(import.meta.url));
  const leaflet = dirname(require.resolve("leaflet/dist/leaflet.js"));
  const entries = new Map<string, Buffer>([
    ...readFolder(join(here, "static")),
    ...readFolder(join(here, "scripts")),
    ...readFolder(join(here, "scripts", "tools"), "tools/"),
    ...readFolder(join(here, "scripts", "texts"), "texts/"),
    ["leaflet.js", readFileSync(join(leaflet, "leaflet.js"))],
    ["leaflet.css", readFileSync(join(leaflet, "leaflet.css"))],
    ...readFolder(join(leaflet, "images"), "images/"),
  ]);
  const page = entries.get("index.html");
  if (!page || !entries.has("app.js")) {
    throw new Error("The viewer has not been built: run `npm run build`.");
  }
  entries.delete("index.html");
  const { build, files } = buildOf(entries);
  const html = page.toString("utf8").replaceAll("viewer/build/", `viewer/${build}/`);
  return { index: pageFile("index.html", Buffer.from(html)), build, files };
}
