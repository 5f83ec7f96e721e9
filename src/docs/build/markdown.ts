import { createRequire } from "node:module";
import { dirname, join } from "node:path/posix";
import MarkdownIt from "markdown-it";

/** Markdown of a page to HTML. */

export interface Heading {
  readonly level: number;
  readonly id: string;
  /** Plain text. */
  readonly text: string;
}

export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
}

/** Width and height of pictures in pixels, by the names of their files. */
export type PictureSizes = ReadonlyMap<string, { readonly width: number; readonly height: number }>;

/** Its own types would bring those of browsers into all of the server. */
interface Highlighter {
  getLanguage(name: string): object | undefined;
  highlight(code: string, options: { readonly language: string }): { readonly value: string };
}
const hljs = createRequire(import.meta.url)("highlight.js") as Highlighter;

/** Names that highlight.js has for the languages of our blocks. */
const grammars: Readonly<Record<string, string>> = {
  sh: "bash",
  caddy: "nginx",
  haproxy: "nginx",
  csv: "plaintext",
  text: "plaintext",
};

const markdown = new MarkdownIt({
  html: false,
  linkify: false,
  highlight: (code, info) => {
    const [given = "text"] = info.split(/\s/);
    const language = grammars[given] ?? given;
    return hljs.getLanguage(language) ? hljs.highlight(code, { language }).value : "";
  },
});

/** A line of the text ends between the words of a code; within a word only where it is long, best at a dot. */
markdown.renderer.rules.code_inline = (tokens, at) => {
  const words = tokens[at]!.content.split(" ").map((word) => {
    const text = markdown.utils.escapeHtml(word);
    return word.length > 20 ? text.replace(/\.(?=\w)/g, ".<wbr>") : `<span class="word">${text}</span>`;
  });
  return `<code>${words.join(" ")}</code>`;
};

/** As GitHub makes them: `#change-the-colours`. */
export const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

const plain = (text: string): string => text.replace(/`/g, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");

/** Headings of a Markdown text, those in code blocks left out. */
export function headingsOf(text: string): Heading[] {
  const used = new Map<string, number>();
  const withoutCode = text.replace(/^(`{3,})[\s\S]*?^\1/gm, "");
  return [...withoutCode.matchAll(/^(#{1,4}) +(.+?)\s*$/gm)].map(([, marks = "", title = ""]) => {
    const base = slug(plain(title));
    const count = used.get(base) ?? 0;
    used.set(base, count + 1);
    return { level: marks.length, id: count === 0 ? base : `${base}-${count}`, text: plain(title) };
  });
}

/**
 * Where a link of a page leads.
 * @param from path of the page, `how-to/restyle`
 * @param link as it is written: `../reference/settings.md#port`
 */
export function pageOfLink(from: string, link: string): { path: string; fragment: string } | undefined {
  const [, file = "", fragment = ""] = /^([^#]*)(?:#(.*))?$/.exec(link) ?? [];
  if (/^[a-z]+:|^\//.test(link) || (file !== "" && !file.endsWith(".md"))) return undefined;
  const path = file === "" ? from : join(dirname(from), file).replace(/\.md$/, "");
  return { path, fragment };
}

/** Addresses in the page, which is served as `/docs/<path>/`. */
function addressOf(from: string, link: string): string {
  const up = "../".repeat(from === "" ? 0 : from.split("/").length);
  const page = pageOfLink(from, link);
  if (page) return `${page.path === from ? "" : `${up}${page.path}/`}${page.fragment && `#${page.fragment}`}`;
  if (/^[a-z]+:|^\//.test(link)) return link.startsWith("/") ? `${up}..${link}` : link;
  return `${up}files/%build%/${link.replace(/^.*\//, "")}`;
}

/** The page's body, without its title. */
export function renderMarkdown(path: string, text: string, sizes: PictureSizes): Rendered {
  const headings = headingsOf(text);
  const ids = headings.values();
  const tokens = markdown.parse(text, {});
  const visit = (list: typeof tokens) => {
    for (const token of list) {
      if (token.type === "heading_open") token.attrSet("id", ids.next().value?.id ?? "");
      if (token.type === "fence") {
        token.attrJoin("class", "code");
        const file = /\s(?:file|from)=(\S+)/.exec(token.info)?.[1];
        if (file) token.attrSet("data-file", file);
      }
      if (token.type === "link_open") {
        const link = String(token.attrGet("href") ?? "");
        token.attrSet("href", addressOf(path, link));
        if (/^https?:/.test(link)) token.attrSet("rel", "noreferrer");
      }
      if (token.type === "image") {
        const source = String(token.attrGet("src") ?? "");
        token.attrSet("src", addressOf(path, source));
        token.attrSet("loading", "lazy");
        // So that the text below does not move when the picture comes.
        const size = sizes.get(source.replace(/^.*\//, ""));
        if (size) {
          token.attrSet("width", String(size.width));
          token.attrSet("height", String(size.height));
        }
      }
      if (token.children) visit(token.children);
    }
  };
  visit(tokens);
  const html = markdown.renderer
    .render(tokens, markdown.options, {})
    .replace(/^<h1.*?<\/h1>\n?/, "")
    // Wide tables scroll by themselves, and a keyboard reaches them.
    .replaceAll("<table>", '<div class="table" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>");
  return { html, headings: headings.filter(({ level }) => level > 1) };
}
