import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import MiniSearch from "minisearch";
import sharp from "sharp";
import { programVersion } from "../../version.js";
import { sections } from "../contents.js";
import { missingPageFile } from "../documentation.js";
import { loadPages, type Page, pageFilePath } from "../pages.js";
import { type Part, searchOptions } from "../search.js";
import { pageHtml } from "./layout.js";
import { headingsOf, type PictureSizes } from "./markdown.js";
import { generated } from "./reference/generated.js";

/** Makes the site below `dist/src/docs/site` from the Markdown beside this folder; a part of `npm run build`. */

const docs = join(dirname(fileURLToPath(import.meta.url)), "..");
const siteFolder = join(docs, "site");

/** Parts of the pages, one for each heading of the second level or the third. */
function partsOf(pages: readonly Page[]): Part[] {
  const parts: Omit<Part, "id">[] = [];
  for (const { path, title, markdown, words } of pages) {
    const headings = headingsOf(markdown).values();
    let heading = headings.next().value;
    const add = (lines: readonly string[], isFirst: boolean) => {
      const text = lines.join("\n").replace(/\]\([^)]*\)/g, "]");
      parts.push({
        address: isFirst ? path : `${path}#${heading?.id}`,
        page: title,
        title: isFirst ? title : "",
        heading: isFirst ? "" : (heading?.text ?? ""),
        words: isFirst ? `${words} ${path.replace(/^.*\//, "").replaceAll("-", " ")}` : "",
        text,
      });
    };
    let lines: string[] = [];
    let isFirst = true;
    let inCode = false;
    for (const line of markdown.split("\n").slice(1)) {
      if (/^```/.test(line)) inCode = !inCode;
      if (!inCode && /^#{2,4} /.test(line)) {
        add(lines, isFirst);
        isFirst = false;
        lines = [];
        heading = headings.next().value;
      } else lines.push(line);
    }
    add(lines, isFirst);
  }
  return parts.map((part, id) => ({ id, ...part }));
}

/** The first page: what there is. */
function contentsPage(pages: readonly Page[]): string {
  const byPath = new Map(pages.map((page) => [page.path, page]));
  const lists = sections.map(({ folder, title, about, groups }) => {
    const shown = groups.map((group) => {
      const rows = group.pages.flatMap((name) => {
        const page = byPath.get(`${folder}/${name}`);
        return page ? [`- [${page.title}](${page.path}.md)`] : [];
      });
      return `${group.title && `### ${group.title}\n\n`}${rows.join("\n")}`;
    });
    return `## ${title}\n\n${about}\n\n${shown.join("\n\n")}`;
  });
  return `# Documentation\n\nMapwright publishes maps and geodata: import layers, style them, share them. New here? Begin with [your first map](tutorials/first-map.md).\n\n${lists.join("\n\n")}\n`;
}

/** Shown in place of any page that there is not, two folders deep as these are. */
const missingPage = {
  path: "missing/page",
  title: "There is no such page",
  about: "The address names no page of the documentation.",
  markdown:
    "# There is no such page\n\nThe address is misspelt, or the page has another name in this version. Search for it above, or choose one from the contents.\n",
};

async function pictureSizes(): Promise<PictureSizes> {
  const folder = join(docs, "pictures");
  const entries = readdirSync(folder).map(async (name) => {
    const { width, height } = await sharp(join(folder, name)).metadata();
    return [name, { width, height }] as const;
  });
  return new Map(await Promise.all(entries));
}

export async function buildSite(): Promise<void> {
  for (const [path, text] of await generated()) {
    mkdirSync(dirname(pageFilePath(path)), { recursive: true });
    writeFileSync(pageFilePath(path), text);
  }
  const pages = loadPages();
  rmSync(siteFolder, { recursive: true, force: true });
  mkdirSync(join(siteFolder, "files"), { recursive: true });
  const version = programVersion();
  const sizes = await pictureSizes();
  for (const page of pages) {
    const file = join(siteFolder, `${page.path}.html`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, pageHtml(page, pages, version, sizes));
  }
  const markdown = contentsPage(pages);
  const first = { path: "", title: "Documentation", about: "Everything about Mapwright.", markdown };
  writeFileSync(join(siteFolder, "index.html"), pageHtml(first, pages, version, sizes));
  writeFileSync(join(siteFolder, missingPageFile), pageHtml(missingPage, pages, version, sizes));
  const index = new MiniSearch<Part>(searchOptions);
  index.addAll(partsOf(pages));
  writeFileSync(join(siteFolder, "files", "search.json"), JSON.stringify(index));
  for (const folder of ["pictures", "static"]) {
    const from = join(docs, folder);
    if (!existsSync(from)) continue;
    for (const name of readdirSync(from)) copyFileSync(join(from, name), join(siteFolder, "files", name));
  }
  copyFileSync(join(docs, "../viewer/static/favicon.svg"), join(siteFolder, "files", "favicon.svg"));
}
