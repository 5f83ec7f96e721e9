import { pagesOf, sections } from "../contents.js";
import type { Page } from "../pages.js";
import type { Heading, PictureSizes } from "./markdown.js";
import { renderMarkdown } from "./markdown.js";

/** The frame around a page: header with search, contents, what is on the page, and the ways on. */

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Stands for `/docs/` as seen from a page: relative, so that a path prefix of the installation needs no place in the file. */
const rootFrom = (path: string): string => "../".repeat(path === "" ? 0 : path.split("/").length);

function contents(pages: readonly Page[], current: string): string {
  const root = rootFrom(current);
  const parts = sections.map((section) => {
    const { folder, title } = section;
    const names = pagesOf(section);
    const own = pages.filter(
      ({ path }) => path.startsWith(`${folder}/`) && names.includes(path.split("/")[1]!),
    );
    const rows = own.map(({ path, title: name }) => {
      const here = path === current ? ' aria-current="page"' : "";
      return `<li><a href="${root}${path}/"${here}>${escapeHtml(name)}</a></li>`;
    });
    const open = current === "" || current.startsWith(`${folder}/`) ? " open" : "";
    return `<details${open}><summary>${escapeHtml(title)}</summary><ul>${rows.join("")}</ul></details>`;
  });
  return parts.join("\n");
}

const onThisPage = (headings: readonly Heading[]): string => {
  const shown = headings.filter(({ level }) => level <= 3);
  if (shown.length < 2) return "";
  const rows = shown.map(
    // Long names of settings end their lines at a dot.
    ({ id, text, level }) =>
      `<li class="level-${level}"><a href="#${id}">${escapeHtml(text).replace(/\.(?=\w)/g, ".<wbr>")}</a></li>`,
  );
  return `<nav class="on-page" aria-label="On this page"><h2>On this page</h2><ul>${rows.join("")}</ul></nav>`;
};

function foot(pages: readonly Page[], current: string): string {
  const at = pages.findIndex(({ path }) => path === current);
  const root = rootFrom(current);
  const way = (page: Page | undefined, kind: "next" | "previous") =>
    page
      ? `<a class="${kind}" rel="${kind === "next" ? "next" : "prev"}" href="${root}${page.path}/"><small>${
          kind === "next" ? "Next" : "Previous"
        }</small>${escapeHtml(page.title)}</a>`
      : "";
  return `<nav class="ways" aria-label="Next and previous page">${way(pages[at - 1], "previous")}${way(pages[at + 1], "next")}</nav>`;
}

/** Lists of pages side by side, where there is room. */
const sideBySide = (html: string): string =>
  html.replace(/<h3[\s\S]*?(?=<h2|$)/g, (groups) => {
    const each = groups.replace(/<h3[\s\S]*?(?=<h3|$)/g, "<div>\n$&</div>\n");
    return `<div class="groups">\n${each}</div>\n`;
  });

/** A page of the site. `%build%` stands for the hash of its files. */
export function pageHtml(
  { path, title, about, markdown }: Pick<Page, "path" | "title" | "about" | "markdown">,
  pages: readonly Page[],
  version: string,
  sizes: PictureSizes,
): string {
  const root = rootFrom(path);
  const files = `${root}files/%build%/`;
  const { html, headings } = renderMarkdown(path, markdown, sizes);
  const description = about.replace(/[`*]|\[([^\]]*)\]\([^)]*\)/g, "$1");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escapeHtml(title)} · Mapwright</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${escapeHtml(description)}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${files}favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${files}docs.css">
<script src="${files}docs.js" type="module"></script>
</head>
<body data-root="${root}" data-index="${files}search.json">
<a class="skip" href="#page">Skip to the text</a>
<header>
<a class="home" href="${root}../"><img src="${files}favicon.svg" alt="" width="28" height="28">Mapwright</a>
<a class="docs" href="${root === "" ? "./" : root}">Documentation</a>
<form class="search" role="search"><input type="search" name="q" placeholder="Search" aria-label="Search the documentation" autocomplete="off" spellcheck="false" hidden><div class="results" hidden></div></form>
<a class="api" href="${root}api/">API</a>
<small class="version">${escapeHtml(version)}</small>
</header>
<div class="columns">
<nav class="contents" aria-label="Contents"><details class="all" open><summary>Contents</summary>
${contents(pages, path)}
</details></nav>
<main id="page">
<h1>${escapeHtml(title)}</h1>
${onThisPage(headings)}
<article>
${path === "" ? sideBySide(html) : html}</article>
${foot(pages, path)}
</main>
</div>
</body>
</html>
`;
}
