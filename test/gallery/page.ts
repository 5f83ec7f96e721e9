import type { GalleryMap } from "./maps.js";

/** The page of the maps: each large, and below it at other zooms, for sharper screens, and as the colour-blind see it. */

export interface Picture {
  /** Beside the page. */
  readonly file: string;
  readonly caption: string;
}

const pictureOf = ({ file, caption }: Picture) =>
  `<figure><a href="${file}"><img src="${file}" alt="${caption}" loading="lazy"></a><figcaption>${caption}</figcaption></figure>`;

const partOf = ({ map, pictures }: { map: GalleryMap; pictures: readonly Picture[] }) => {
  const large = pictures.find(({ caption }) => caption === `zoom ${map.zooms[1]}, 2×`);
  return `<section id="${map.code}">
<h2>${map.title}</h2>
<p>${map.about}</p>
${large ? `<a href="${large.file}"><img src="${large.file}" alt="${map.title}"></a>` : ""}
<div class="others">${pictures.map(pictureOf).join("\n")}</div>
</section>`;
};

export const pageOf = (
  parts: readonly { map: GalleryMap; pictures: readonly Picture[] }[],
): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Twelve maps of Mapwright</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1200px; padding: 0 1rem; color: #223; }
  section { margin: 0 0 4rem; }
  img { display: block; width: 100%; box-shadow: 0 0 0 1px #ccd; }
  .others { display: grid; grid-template-columns: repeat(auto-fill, minmax(170px, 1fr)); gap: 1rem; margin-top: 1rem; }
  figure { margin: 0; }
  figcaption { font-size: 13px; color: #556; }
</style>
<h1>Twelve maps of Mapwright</h1>
<p>Real data, imported as files and shown by the viewer. What the text of a map does not name is the default of the program.</p>
<p>${parts.map(({ map }) => `<a href="#${map.code}">${map.title}</a>`).join(" · ")}</p>
${parts.map(partOf).join("\n")}
</html>
`;
