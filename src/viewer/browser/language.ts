/** The languages of the interface. */
export const languages = ["en", "ru", "de", "fr", "es"] as const;
export type Language = (typeof languages)[number];

const storageKey = "mapwright.language";

/** The language that the user chose, else the first supported language of the browser, else English. */
export function chooseLanguage(): Language {
  const known = (tag: string | null): Language | undefined =>
    languages.find((language) => tag?.toLowerCase().split("-")[0] === language);
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem(storageKey);
  } catch {
    // Storage is disabled: use the browser's languages.
  }
  return known(chosen) ?? navigator.languages.map(known).find((language) => language !== undefined) ?? "en";
}

export function rememberLanguage(language: Language): void {
  try {
    localStorage.setItem(storageKey, language);
  } catch {
    // Without storage the choice is lost.
  }
}
