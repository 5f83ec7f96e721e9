import { maxPicturePath, pathsWith } from "./picture-path.js";

/** The font faces for labels: DejaVu, which has Latin, Cyrillic, Greek and more. */
export const faces = [
  "DejaVu Sans Book",
  "DejaVu Sans Bold",
  "DejaVu Sans Oblique",
  "DejaVu Sans Bold Oblique",
  "DejaVu Sans ExtraLight",
  "DejaVu Sans Condensed",
  "DejaVu Sans Condensed Bold",
  "DejaVu Sans Condensed Oblique",
  "DejaVu Sans Condensed Bold Oblique",
  "DejaVu Sans Mono Book",
  "DejaVu Sans Mono Bold",
  "DejaVu Sans Mono Oblique",
  "DejaVu Sans Mono Bold Oblique",
  "DejaVu Serif Book",
  "DejaVu Serif Bold",
  "DejaVu Serif Italic",
  "DejaVu Serif Bold Italic",
  "DejaVu Serif Condensed",
  "DejaVu Serif Condensed Bold",
  "DejaVu Serif Condensed Italic",
  "DejaVu Serif Condensed Bold Italic",
] as const;
export type Face = (typeof faces)[number];

/** For characters that a face lacks, and for labels without a face. */
export const defaultFace: Face = "DejaVu Sans Book";

/** The name of a face as it is compared. */
export const plainFace = (name: string): string => name.trim().replace(/\s+/g, " ").toLowerCase();

const known: ReadonlyMap<string, Face> = new Map(faces.map((face) => [face.toLowerCase(), face]));

/** The first of the faces named that is available, else the one most similar to the first name. */
export function faceFor(names: readonly string[]): Face {
  const first = names.map(plainFace).find(Boolean);
  return installedFace(names) ?? (first === undefined ? defaultFace : similarFace(first));
}

/** The first of the faces named that the installation has; undefined = it has none of them. */
export const installedFace = (names: readonly string[]): Face | undefined => {
  for (const name of names) {
    const face = known.get(plainFace(name)) ?? known.get(`${plainFace(name)} book`);
    if (face) return face;
  }
  return undefined;
};

/** "Open Sans Semibold Italic" → DejaVu Sans Bold Oblique. */
function similarFace(name: string): Face {
  const is = (words: RegExp): boolean => words.test(name);
  const bold = is(/\b(semi|demi|extra|ultra)?-?bold\b|\bblack\b|\bheavy\b/);
  const slanted = is(/\bitalic\b|\boblique\b/);
  const mono = is(/\bmono(space)?\b|\bcourier\b|\bconsolas\b|\bcode\b/);
  const serif =
    !mono &&
    (is(/\btimes\b|\bgeorgia\b|\bgaramond\b|\bmerriweather\b/) || (is(/\bserif\b/) && !is(/\bsans\b/)));
  const condensed = !mono && is(/\bcondensed\b|\bnarrow\b/);
  const words = ["DejaVu", mono ? "Sans Mono" : serif ? "Serif" : "Sans"];
  if (condensed) words.push("Condensed");
  if (bold) words.push("Bold");
  if (slanted) words.push(serif ? "Italic" : "Oblique");
  return (
    known.get(words.join(" ").toLowerCase()) ??
    known.get(`${words.join(" ")} book`.toLowerCase()) ??
    defaultFace
  );
}

/** Fallback order for the characters of a label. */
export const faceChain = (face: string): readonly string[] =>
  face === defaultFace ? [face] : [face, defaultFace];

export const isFace = (name: string): name is Face => known.get(name.toLowerCase()) === name;

const fontPaths = pathsWith("ttf|otf");

/** Whether a font of a project can have this path. */
export const isFontPath = (path: string): boolean => path.length <= maxPicturePath && fontPaths.test(path);

/** The names that come before all that the installation has: a project may have fonts of them. */
export function foreignFaces(names: readonly string[]): string[] {
  const first = names.findIndex((name) => installedFace([name]) !== undefined);
  return (first < 0 ? names : names.slice(0, first)).map((name) => name.trim()).filter(Boolean);
}

/** What Mapnik calls the only face of a project's font. */
export const projectFace = (digest: string): string => `${digest} Regular`;

export const isProjectFace = (name: string): boolean => /^[0-9a-f]{64} Regular$/.test(name);
