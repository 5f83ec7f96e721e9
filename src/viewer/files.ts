import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Build, buildOf, type PageFile, pageFile, readFolder } from "./page-files.js";

const require = createRequire(import.meta.url);

export interface ViewerFiles extends Build {
  /** The HTML page, which refers to the other files as `viewer/<build>/<name>`. */
  readonly index: PageFile;
  /** The page of the console, which refers to them likewise. */
  readonly console: PageFile;
  /** Of the script in it, as a Content-Security-Policy names it. */
  readonly scriptHash: string;
}

/**
 * Reads the built viewer (the folders `static` and `scripts` beside this module) and Leaflet's pictures. Files are named as `app.js`,
 * `tools/table.js` or `images/layers.png`.
 * @throws Error when the viewer has not been built
 */
export function loadViewerFiles(): ViewerFiles {
  const here = dirname(fileURLToPath(import.meta.url));
  const leaflet = dirname(require.resolve("leaflet"));
  const entries = new Map<string, Buffer>([
    ...readFolder(join(here, "static")),
    ...readFolder(join(here, "scripts")),
    ...readFolder(join(here, "scripts", "tools"), "tools/"),
    ...readFolder(join(here, "scripts", "objects"), "objects/"),
    ...readFolder(join(here, "scripts", "carto"), "carto/"),
    ...readFolder(join(here, "scripts", "people"), "people/"),
    ...readFolder(join(here, "scripts", "reading"), "reading/"),
    ...readFolder(join(here, "scripts", "texts"), "texts/"),
    ...readFolder(join(leaflet, "images"), "images/"),
  ]);
  const page = entries.get("index.html")?.toString("utf8");
  const early = entries.get("early.js")?.toString("utf8");
  const consolePage = entries.get("console.html")?.toString("utf8");
  if (!page || !early || !consolePage || !entries.has("app.js") || !entries.has("console.js")) {
    throw new Error("The viewer has not been built: run `npm run build`.");
  }
  entries.delete("index.html");
  entries.delete("console.html");
  entries.delete("early.js");
  const { build, files } = buildOf(entries);
  const named = (text: string) => text.replaceAll("viewer/build/", `viewer/${build}/`);
  const script = named(early);
  const html = named(page).replace("early.js", () => script);
  const scriptHash = `sha256-${createHash("sha256").update(script).digest("base64")}`;
  return {
    index: pageFile("index.html", Buffer.from(html)),
    console: pageFile("console.html", Buffer.from(named(consolePage))),
    ...{ scriptHash, build, files },
  };
}
