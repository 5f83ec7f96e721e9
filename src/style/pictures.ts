import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { ProjectState, StoredFont, StoredPicture } from "../catalog/state.js";
import { bufferPixelsOf, transformBuffer } from "./buffer-size.js";
import { plainFace, projectFace } from "./fonts.js";
import type { CompiledStyle, Symbolizer } from "./model.js";
import { withOwnOpacity } from "./opacity.js";
import { columnsIn, pathsOf } from "./picture-path.js";

/** From the pictures and fonts that a style names to the files that it is drawn with. */

/** Icons of the installation by `icon:name`. */
export type Icons = Pick<ReadonlyMap<string, StoredPicture>, "get">;

export interface Pictures {
  /** The picture of a path or of `icon:name`. */
  get(name: string): StoredPicture | undefined;
  /** The pictures that a name with columns can stand for, with their paths: of the project only. */
  matching(name: string): readonly (readonly [path: string, StoredPicture])[];
  /** The project's font of a name. */
  font(name: string): StoredFont | undefined;
}

/** What the styles of a project may show: its own pictures and fonts, and the installation's pictures. */
export const picturesOf = (
  { pictures, fonts }: Pick<ProjectState, "pictures" | "fonts">,
  icons: Icons,
): Pictures => ({
  get: (name) => pictures.get(name) ?? icons.get(name),
  matching: (name) => {
    const known = matches.get(pictures) ?? new LRUCache({ max: 50 });
    matches.set(pictures, known);
    let found = known.get(name);
    if (!found) {
      const paths = pathsOf(name);
      found = [...pictures].filter(([path]) => paths.test(path));
      known.set(name, found);
    }
    return found;
  },
  font: (name) => {
    let known = fontsByName.get(fonts);
    if (!known) {
      known = new Map();
      for (const font of fonts.values())
        for (const name of font.names.map(plainFace)) if (!known.has(name)) known.set(name, font);
      fontsByName.set(fonts, known);
    }
    return known.get(plainFace(name));
  },
});

/** Of the fonts of a project. Of two with one name the first by path is meant. */
const fontsByName = new WeakMap<object, Map<string, StoredFont>>();

/** What names with columns stand for, by the pictures of a project: the layers of a map look for the same ones. */
const matches = new WeakMap<object, LRUCache<string, [string, StoredPicture][]>>();

/** What is in the file of a font. The render host finds it by the face's name. */
export interface FontContent extends Pick<StoredFont, "blob" | "digest" | "bytes"> {
  readonly format: "font";
}

/** A file in the folder of pictures. */
export interface PictureFile {
  /** Path in the folder. */
  readonly name: string;
  readonly picture: StoredPicture | FontContent;
  /** How many times it is enlarged, where that is not 1. */
  readonly scale?: number;
}

export interface IllustratedStyle {
  readonly style: CompiledStyle;
  /** What the folder has to hold before the style is drawn. */
  readonly files: readonly PictureFile[];
}

/** Sides of patterns in pixels, after transformations: Mapnik paints the whole of one first. */
const maxPatternSide = 2_048;

/** The suffix of the names of columns whose values are made safe for names of files (tiles/datasource.ts). */
export const safeColumn = (code: string): string => `${code}$file`;

/**
 * The style with the files of its pictures and fonts. Symbolizers whose picture there is none of are left out.
 * @param scale of the image, 2 for retina: Mapnik enlarges all but patterns of bitmaps
 */
export function illustrate(style: CompiledStyle, pictures: Pictures, scale: number): IllustratedStyle {
  if (!style.pictures && !style.faces) return { style, files: [] };
  const found = new Map((style.pictures ?? []).map(({ name }) => [name, find(name, pictures)]));
  const enlarged = new Map(
    scale === 1 ? [] : [...found].map(([name, one]) => [name, one && enlarge(one, scale)]),
  );
  const used = new Set<PictureFile>();
  const usedFonts = new Map<string, PictureFile>();
  const written = (symbolizer: Symbolizer): Symbolizer => {
    const { faces, ...rest } = symbolizer;
    const font = faces && projectFont(faces, pictures);
    if (!font) return symbolizer;
    usedFonts.set(font.digest, fontFile(font));
    return { ...rest, attributes: { ...rest.attributes, "face-name": projectFace(font.digest) } };
  };
  const shown = (symbolizer: Symbolizer): Symbolizer[] => {
    const { picture, ...rest } = symbolizer;
    if (picture === undefined) return [symbolizer];
    const own = found.get(picture);
    if (!own || isTooLarge(symbolizer, own.side)) return [];
    const file = (isPattern(symbolizer) && enlarged.get(picture)) || own;
    for (const one of file.files) used.add(one);
    // Icons are taken as one shape; other pictures may have several, of opacities of their own.
    const isShape = rest.type === "MarkersSymbolizer" && picture.startsWith("icon:");
    const attributes = isShape ? withOwnOpacity(rest.attributes) : rest.attributes;
    return [{ ...rest, attributes: { ...attributes, file: file.name } }];
  };
  const sideOf = ({ picture }: Symbolizer) => (picture === undefined ? undefined : found.get(picture)?.side);
  const styles = style.styles.map((one) => ({
    ...one,
    rules: one.rules.map((rule) => ({ ...rule, symbolizers: rule.symbolizers.flatMap(shown).map(written) })),
  }));
  return {
    style: {
      ...style,
      styles,
      // Of a visualization it is more than its symbols take.
      bufferPixels: Math.max(style.query ? style.bufferPixels : 0, bufferPixelsOf(style.styles, sideOf)),
    },
    files: [...used, ...usedFonts.values()],
  };
}

/** Why the style cannot show its pictures: a sentence for its author; undefined = it can. */
export function missingPicture(style: CompiledStyle, pictures: Pictures): string | undefined {
  for (const { name, place, patternGrowth } of style.pictures ?? []) {
    const found = find(name, pictures);
    const at = place === "" ? "" : `${place}: `;
    if (!found) return `${at}There is no ${name.startsWith("icon:") ? "icon" : "picture"} ${name}.`;
    if (found.side * patternGrowth > maxPatternSide)
      return `${at}The pattern ${name} is larger than ${maxPatternSide} pixels.`;
  }
  return undefined;
}

/** The fonts that the style names and there are none of: sentences for its author. */
export const missingFonts = (style: CompiledStyle, pictures: Pictures): string[] =>
  (style.faces ?? []).flatMap(({ names, place, instead }) =>
    instead === undefined || projectFont(names, pictures)
      ? []
      : [`${place === "" ? "" : `${place}: `}There is no font ${names[0]}: labels are drawn in ${instead}.`],
  );

function projectFont(names: readonly string[], pictures: Pictures): StoredFont | undefined {
  for (const name of names) {
    const font = pictures.font(name);
    if (font) return font;
  }
  return undefined;
}

function fontFile({ blob, digest, bytes }: StoredFont): PictureFile {
  const picture: FontContent = { blob, digest, bytes, format: "font" };
  return { name: contentName(picture), picture };
}

const isPattern = ({ type }: Symbolizer): boolean =>
  type === "PolygonPatternSymbolizer" || type === "LinePatternSymbolizer";

const isTooLarge = (symbolizer: Symbolizer, side: number): boolean =>
  isPattern(symbolizer) && side * transformBuffer(symbolizer.attributes.transform).scale > maxPatternSide;

/** The same with its bitmaps enlarged. */
function enlarge(found: Found, scale: number): Found {
  const named = (name: string) => name.replace(/\.png$/, `@${scale}x.png`);
  const files = found.files.map((file) =>
    file.picture.format === "png" ? { ...file, name: named(file.name), scale } : file,
  );
  return { ...found, name: named(found.name), files };
}

interface Found {
  /** Mapnik's name of the file, in which columns may stand. */
  readonly name: string;
  readonly files: readonly PictureFile[];
  /** The largest side in pixels. */
  readonly side: number;
}

function find(name: string, pictures: Pictures): Found | undefined {
  const columns = columnsIn(name);
  if (columns.length === 0) {
    const picture = pictures.get(name);
    if (!picture) return undefined;
    const file = { name: contentName(picture), picture };
    return { name: file.name, files: [file], side: sideOf(picture) };
  }
  // The folder's name stands for all pictures that the name can mean, so that a change of one makes new tiles.
  const all = pictures.matching(name);
  if (all.length === 0) return undefined;
  const folder = createHash("sha256")
    .update(JSON.stringify(all.map(([path, { digest }]) => [path, digest])))
    .digest("hex");
  return {
    name: columns.reduce(
      (text, code) => text.replace(`[${code}]`, `[${safeColumn(code)}]`),
      `${folder}/${flat(name)}`,
    ),
    files: all.map(([path, picture]) => ({ name: `${folder}/${flat(path)}`, picture })),
    side: Math.max(...all.map(([, picture]) => sideOf(picture))),
  };
}

const sideOf = ({ width, height }: StoredPicture): number => Math.max(width, height);

/** The name of the file that has the picture as it is. Icons of the installation, which have no blob, have their own. */
export const contentName = ({ blob, digest, format }: PictureFile["picture"]): string =>
  `${blob === "" ? "icon-" : ""}${digest}.${format}`;

/** A path as the name of one file; WebP is stored as PNG. */
const flat = (path: string): string =>
  path.replaceAll("/", ",").replace(/\.\w+$/, (ending) => (/svg/i.test(ending) ? ".svg" : ".png"));
