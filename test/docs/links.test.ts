import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { configKeys, environmentName } from "../../src/config.js";
import { headingsOf, pageOfLink } from "../../src/docs/build/markdown.js";
import { pagePaths } from "../../src/docs/contents.js";
import { loadPages } from "../../src/docs/pages.js";
import { executionCodes } from "../../src/errors.js";
import { looks, pictureLine, readmeLook, readmePicture } from "./pictures.support.js";

/** What the pages refer to is there: other pages, their headings, pictures, files of the project, settings. */

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const pages = loadPages();
const byPath = new Map(pages.map((page) => [page.path, page]));
const ids = new Map(
  pages.map(({ path, markdown }) => [path, new Set(headingsOf(markdown).map(({ id }) => id))]),
);
const pictureFile = (name: string) => join(root, "src/docs/pictures", `${name}.webp`);
const withoutCode = (markdown: string) =>
  markdown.replace(/^(`{3,})[\s\S]*?^\1/gm, "").replace(/`[^`\n]*`/g, "");

t.test("each page of the contents is there, and each file is in the contents", async (t) => {
  t.same(
    pagePaths.filter((path) => !byPath.has(path)),
    [],
  );
  const listed = new Set(pagePaths);
  for (const folder of ["tutorials", "how-to", "operating", "reference", "explanation"])
    for (const name of readdirSync(join(root, "src/docs", folder)))
      t.ok(listed.has(`${folder}/${name.replace(/\.md$/, "")}`), `${folder}/${name}`);
});

t.test("pages have a title, and say what they are for", async (t) => {
  for (const { path, title, about, markdown } of pages) {
    t.not(title, path, path);
    t.ok(about.length >= 30 && !/^[#|`<-]/.test(about), `${path}: ${about}`);
    t.equal(headingsOf(markdown).filter(({ level }) => level === 1).length, 1, `${path} has one title`);
  }
});

t.test("links lead to pages and headings that there are", async (t) => {
  for (const { path, markdown } of pages)
    for (const [, link = ""] of withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) continue;
      const page = pageOfLink(path, link);
      if (page) {
        t.ok(byPath.has(page.path), `${path}: ${link}`);
        if (page.fragment !== "") t.ok(ids.get(page.path)?.has(page.fragment), `${path}: ${link}`);
      } else if (!link.startsWith("/"))
        t.ok(existsSync(join(root, "src/docs", dirname(path), link)), `${path}: ${link}`);
      else t.match(link, /^\/(?:docs\/api\/|docs\/|openapi\.json|metrics|health\/\w+|)$/, `${path}: ${link}`);
    }
});

t.test(
  "pictures of the product are those that `npm run pictures` takes, each in a page, and small",
  async (t) => {
    const shown = pages.flatMap(({ markdown }) =>
      markdown.split(pictureLine).filter((_, at) => at % 2 === 1),
    );
    t.same(shown.sort(), [...looks.keys()].sort());
    const sizes = [...looks].map(([name, { maxBytes }]) => {
      const { size } = statSync(pictureFile(name));
      t.ok(size <= maxBytes, `${name}: ${size} bytes`);
      return size;
    });
    t.ok(sizes.reduce((sum, size) => sum + size, 0) <= 700_000);
    t.ok(statSync(join(root, readmePicture)).size <= readmeLook("").maxBytes);
  },
);

t.test("a tutorial says how to be rid of the files that it has made", async (t) => {
  for (const { path, markdown } of pages.filter(({ path }) => path.startsWith("tutorials/"))) {
    const removed = new Set(
      [...markdown.matchAll(/`rm ([^`]*)`/g)].flatMap(([, names = ""]) => names.split(" ")),
    );
    for (const [, name = ""] of markdown.matchAll(/^```\w+ file=(\S+)/gm))
      t.ok(removed.has(name), `${path}: ${name}`);
  }
});

t.test("settings that the pages name are settings", async (t) => {
  // The last one is shown as a slip of the pen.
  const variables = new Set([...configKeys().map(environmentName), "MAPWRIGHT_CONFIG", "MAPWRIGHT_PROT"]);
  for (const { path, markdown } of pages)
    for (const [name] of markdown.matchAll(/\bMAPWRIGHT_[A-Z][A-Z_]*[A-Z]\b/g))
      t.ok(variables.has(name), `${path}: ${name}`);
  const groups = new Set(configKeys().flatMap((key) => (key.includes(".") ? [key.split(".")[0]!] : [])));
  const keys = new Set(configKeys());
  for (const { path, markdown } of pages)
    for (const [, name = "", group = ""] of markdown.matchAll(/`((\w+)\.[a-z]\w+)`/g))
      if (groups.has(group) && !/\.(?:json|md|js|ts|png|svg|zip|html|css)$/.test(name))
        t.ok(keys.has(name), `${path}: ${name}`);
});

t.test("each error code has its place among the errors", async (t) => {
  for (const code of executionCodes) t.ok(ids.get("reference/errors")?.has(code), code);
  for (const status of [400, 401, 403, 404, 405, 412, 413, 415, 429])
    t.ok(ids.get("reference/errors")?.has(String(status)), String(status));
});

t.test("the README is short, and its links lead somewhere", async (t) => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  t.ok(Buffer.byteLength(readme) <= 6_000, `${Buffer.byteLength(readme)} bytes`);
  for (const [, link = ""] of readme.matchAll(/\]\(([^)\s]+)\)/g))
    if (!/^https?:/.test(link)) t.ok(existsSync(join(root, link.replace(/#.*/, ""))), link);
});
