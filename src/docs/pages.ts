import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { pagePaths } from "./contents.js";

/** The pages as Markdown. Those of the program's own knowledge are made by the build, beside the others. */

export interface Page {
  /** `how-to/restyle`. */
  readonly path: string;
  readonly title: string;
  /** The first paragraph, as Markdown. */
  readonly about: string;
  /** What people look for besides what the page says. */
  readonly words: string;
  /** The page whose examples this one goes on from. */
  readonly continues: string | undefined;
  /** Without comments, and with the files that its blocks are of. */
  readonly markdown: string;
}

const here = dirname(fileURLToPath(import.meta.url));

/**
 * The Markdown file of a page.
 * @param folder the default is that of the built program
 */
export const pageFilePath = (path: string, folder = here): string => join(folder, `${path}.md`);

/** What the build makes for `findPages`. */
export const searchIndexPath = join(here, "site/files/search.json");

const comment = (text: string, name: string): string | undefined =>
  new RegExp(`^<!-- ${name}: (.*?) -->$`, "m").exec(text)?.[1];

const checkout = join(here, "../../..");

/** Blocks that are a file of the checkout, `from=config/…`, have nothing of their own. */
const withFiles = (text: string): string =>
  text.replace(
    /^(`{3,}\w+ from=(\S+)\n)(?=`{3,}$)/gm,
    (_, fence: string, file: string) => `${fence}${readFileSync(join(checkout, file), "utf8")}`,
  );

/** Takes a page apart. */
function readPage(path: string, text: string): Page {
  const markdown = withFiles(text.replace(/\n*(?:^<!--[\s\S]*?-->\n+)+/gm, "\n\n").trim());
  const [, title = path, rest = ""] = /^# (.*)\n([\s\S]*)$/.exec(`${markdown}\n`) ?? [];
  const about = rest.trim().split(/\n\s*\n/, 1)[0] ?? "";
  return {
    path,
    title,
    about: about.replaceAll("\n", " "),
    words: comment(text, "words") ?? "",
    continues: comment(text, "continues"),
    markdown,
  };
}

/** All pages that there are, in the order of the contents. */
export function loadPages(folder = here): Page[] {
  return pagePaths
    .filter((path) => existsSync(pageFilePath(path, folder)))
    .map((path) => readPage(path, readFileSync(pageFilePath(path, folder), "utf8")));
}
