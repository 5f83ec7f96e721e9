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

const known: ReadonlyMap<string, Face> = new Map(faces.map((face) => [face.toLowerCase(), face]));

/** The first of the faces named that is available, else the one most similar to the first name. */
export function faceFor(names: readonly string[]): Face {
  const plain = names.map((name) => name.trim().replace(/\s+/g, " ").toLowerCase()).filter(Boolean);
  for (const name of plain) {
    const face = known.get(name) ?? known.get(`${name} book`);
    if (face) return face;
  }
  return plain[0] === undefined ? defaultFace : similarFace(plain[0]);
}

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
export const faceChain = (face: Face): readonly Face[] =>
  face === defaultFace ? [face] : [face, defaultFace];

export const isFace = (name: string): name is Face => known.get(name.toLowerCase()) === name;
