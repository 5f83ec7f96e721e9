import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Build, buildOf, type PageFile, pageFile, readFolder } from "../viewer/page-files.js";

/** The built site, read once at start; only these files are served. */

export interface Documentation extends Build {
  /** By path: "" is the first page, others are as `how-to/restyle`. */
  readonly pages: ReadonlyMap<string, PageFile>;
  /** In place of a page that there is not. */
  readonly missing: PageFile;
}

/** In the folder of the site. */
export const missingPageFile = "404.html";

/** @throws Error when the site has not been built */
export function loadDocumentation(): Documentation {
  const site = join(dirname(fileURLToPath(import.meta.url)), "site");
  if (!existsSync(join(site, "index.html")))
    throw new Error("The documentation has not been built: run `npm run build`.");
  const { build, files } = buildOf(new Map(readFolder(join(site, "files"))));
  const read = (name: string): PageFile =>
    pageFile(name, Buffer.from(readFileSync(join(site, name), "utf8").replaceAll("%build%", build)));
  const pages = new Map<string, PageFile>();
  for (const name of readdirSync(site, { recursive: true, encoding: "utf8" })) {
    if (extname(name) !== ".html") continue;
    if (name !== missingPageFile)
      pages.set(name === "index.html" ? "" : name.slice(0, -".html".length), read(name));
  }
  return { build, files, pages, missing: read(missingPageFile) };
}
