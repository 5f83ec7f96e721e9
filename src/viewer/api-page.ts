import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Build, buildOf, readFolder } from "./page-files.js";

/** Files of the page of the API: a frame around Swagger UI. */

const require = createRequire(import.meta.url);

export interface ApiPageFiles extends Build {
  /** The page for a path prefix of the public URL, "" or for example `/geo`. */
  page(prefix: string): Buffer;
}

/** Reads the folders `static/api` and `browser/api` beside this module, and Swagger UI. */
export function loadApiPageFiles(): ApiPageFiles {
  const here = dirname(fileURLToPath(import.meta.url));
  const swagger = dirname(require.resolve("swagger-ui-dist/swagger-ui.css"));
  const entries = new Map<string, Buffer>([
    ...readFolder(join(here, "static", "api")),
    ...readFolder(join(here, "browser", "api")),
    ["favicon.svg", readFileSync(join(here, "static", "favicon.svg"))],
    ...["swagger-ui.css", "swagger-ui-bundle.js"].map(
      (name) => [name, readFileSync(join(swagger, name))] as [string, Buffer],
    ),
  ]);
  const html = entries.get("index.html")?.toString("utf8") ?? "";
  entries.delete("index.html");
  const { build, files } = buildOf(entries);
  const page = html.replaceAll("%build%", build);
  return { build, files, page: (prefix) => Buffer.from(page.replaceAll("%prefix%", escapeHtml(prefix))) };
}

/** Escapes the prefix, which comes from the configuration or a trusted proxy, for an HTML attribute. */
const escapeHtml = (path: string): string =>
  path.replace(/[&"<>]/g, (character) => `&#${character.charCodeAt(0)};`);
