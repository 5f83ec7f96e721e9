import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * `node gallery.js FOLDER`: one page of the pictures that the tests have written to the folder, each as it is drawn now,
 * as its reference, and what differs. The page has all pictures in itself.
 */

const [folder = ""] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const files = new Set(readdirSync(folder));
const names = [...files].flatMap((file) => /^(.+)\.drawn\.png$/.exec(file)?.[1] ?? []).sort();

const picture = (name: string, kind: string): string => {
  const file = `${name}.${kind}.png`;
  if (!files.has(file)) return "<td>none</td>";
  const data = readFileSync(join(folder, file)).toString("base64");
  return `<td><img alt="${kind}" src="data:image/png;base64,${data}"></td>`;
};

const isVisual = (name: string) => name.startsWith("visual-");
const isDefault = (name: string) => name.startsWith("default-");
const sections = [
  { id: "visual", title: "Visualizations", has: isVisual },
  { id: "default", title: "Default styles", has: isDefault },
  { id: "css", title: "CartoCSS", has: (name: string) => !isVisual(name) && !isDefault(name) },
];
const parts = sections.map(({ id, title, has }) => {
  const rows = names
    .filter(has)
    .map(
      (name) =>
        `<tr><th>${name}</th>${["drawn", "reference", "difference"].map((kind) => picture(name, kind)).join("")}</tr>`,
    );
  return `<h2 id="${id}">${title}</h2>
<table>
<tr><th>name</th><th>drawn</th><th>reference</th><th>difference</th></tr>
${rows.join("\n")}
</table>`;
});
const links = sections.map(({ id, title }) => `<a href="#${id}">${title}</a>`);

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Pictures of Mapwright</title>
<style>
  body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem; color: #223; }
  table { border-collapse: collapse; }
  th { text-align: left; font-weight: 500; padding: 0.5rem 1rem 0.5rem 0; vertical-align: top; }
  td { padding: 0.5rem; vertical-align: top; }
  img { background: #fff; box-shadow: 0 0 0 1px #ccd; max-width: 512px; }
</style>
<h1>Pictures</h1>
<p>As they are drawn now, the references, and what differs: red is more than the tests tolerate.</p>
<p>${links.join(" · ")}</p>
${parts.join("\n")}
</html>
`;
const target = join(folder, "gallery.html");
writeFileSync(target, page);
console.log(`${names.length} pictures: ${target}`);
