import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The viewer's files, read once at start into a fixed table: what is not in the table is not served. */

export interface ViewerFile {
  readonly body: Buffer;
  readonly type: string;
  /** Strong, with quotes. */
  readonly etag: string;
}

export interface ViewerFiles {
  /** The page; it names the other files under `viewer/<build>/`. */
  readonly index: ViewerFile;
  /** Hash over all files: an address that holds it always means the same bytes. */
  readonly build: string;
  /** By name (`app.js`), or by folder and name (`images/layers.png`). */
  readonly files: ReadonlyMap<string, ViewerFile>;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
};

const hash = (body: Buffer): string => createHash("sha256").update(body).digest("base64url").slice(0, 22);

function viewerFile(name: string, body: Buffer): ViewerFile {
  return { body, type: types[extname(name)] ?? "application/octet-stream", etag: `"${hash(body)}"` };
}

/** Files of a folder whose type is known, by name. */
function readFolder(folder: string, prefix = ""): [name: string, body: Buffer][] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && extname(entry.name) in types)
    .map((entry) => [prefix + entry.name, readFileSync(join(folder, entry.name))]);
}

/** Source maps are not served, so the line that points at one would only cost a request. */
const withoutSourceMap = (body: Buffer): Buffer =>
  Buffer.from(body.toString("utf8").replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, "\n"));

/**
 * Reads the built viewer (the folders `static` and `browser` beside this module) and Leaflet.
 * @throws when the viewer has not been built
 */
export function loadViewerFiles(): ViewerFiles {
  const here = dirname(fileURLToPath(import.meta.url));
  const leaflet = dirname(createRequire(import.meta.url).resolve("leaflet/dist/leaflet.js"));
  const entries = new Map<string, Buffer>([
    ...readFolder(join(here, "static")),
    ...readFolder(join(here, "browser")),
    ["leaflet.js", readFileSync(join(leaflet, "leaflet.js"))],
    ["leaflet.css", readFileSync(join(leaflet, "leaflet.css"))],
    ...readFolder(join(leaflet, "images"), "images/"),
  ]);
  const page = entries.get("index.html");
  if (!page || !entries.has("app.js")) {
    throw new Error("The viewer has not been built: run `npm run build`.");
  }
  entries.delete("index.html");
  const files = new Map<string, ViewerFile>();
  const all = createHash("sha256");
  for (const [name, raw] of [...entries].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const file = viewerFile(name, extname(name) === ".js" ? withoutSourceMap(raw) : raw);
    files.set(name, file);
    all.update(`${name}\n${file.etag}\n`);
  }
  const build = all.digest("base64url").slice(0, 12);
  // The modules import each other by relative address; told at once, the browser asks for all of them in parallel.
  const preloads = [...files.keys()]
    .filter((name) => name.endsWith(".js") && name !== "app.js" && name !== "leaflet.js")
    .map((name) => `<link rel="modulepreload" href="viewer/build/${name}">`)
    .join("\n    ");
  const html = page
    .toString("utf8")
    .replace("<!-- modulepreload -->", preloads)
    .replaceAll("viewer/build/", `viewer/${build}/`);
  return { index: viewerFile("index.html", Buffer.from(html)), build, files };
}
