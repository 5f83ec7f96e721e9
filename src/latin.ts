/** Names in Latin letters. Pure; the console uses it in the browser, too. */

/**
 * Transliteration: pairs of a lower-case letter and its Latin form ("-" = dropped), for letters that Unicode
 * decomposition does not turn into a Latin letter. й, ё, ї and ў would be decomposed, but are letters of their own.
 */
const letters: ReadonlyMap<string, string> = pairs(
  // Cyrillic (ICAO 9303), with letters of other Cyrillic alphabets.
  "а a б b в v г g д d е e ж zh з z и i к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh щ shch ъ - ы y " +
    "ь - э e ю iu я ia й i ё e ї i ў u є ie і i ґ g ђ dj ј j љ lj њ nj ћ c џ dz ә a ғ g қ q ң ng ө o ұ u ү u һ h " +
    // Greek (ISO 843).
    "α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o " +
    // Latin.
    "ß ss æ ae œ oe ø o đ d ð d þ th ł l ħ h ı i ŋ ng ŧ t",
);

function pairs(text: string): Map<string, string> {
  const parts = text.split(" ");
  const map = new Map<string, string>();
  for (let at = 0; at < parts.length; at += 2)
    map.set(parts[at]!, parts[at + 1] === "-" ? "" : parts[at + 1]!);
  return map;
}

/** The name in Latin letters, digits and underscores; may be empty, too long or begin with a digit. */
export function latin(name: string): string {
  let code = "";
  for (const letter of name.normalize("NFC")) {
    const lower = letter.toLowerCase();
    const known = letters.get(lower);
    if (known !== undefined)
      code += letter === lower ? known : known.charAt(0).toUpperCase() + known.slice(1);
    else {
      for (const part of letter.normalize("NFKD")) {
        const base = letters.get(part.toLowerCase()) ?? part;
        if (/^[A-Za-z0-9_]+$/.test(base)) code += base;
        else if (!/\p{Mark}/u.test(part)) code += "_";
      }
    }
  }
  return code.replace(/_{2,}/g, "_").replace(/^_+|_+$/g, "");
}
