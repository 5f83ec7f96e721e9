import { english, type Text, type Texts } from "./texts/english.js";
import { french } from "./texts/french.js";
import { german } from "./texts/german.js";
import { russian } from "./texts/russian.js";
import { spanish } from "./texts/spanish.js";

/** The viewer's languages. Another one is a file in texts/ and a line here. */

export type TextKey = keyof typeof english;

const dictionaries = {
  en: english as Texts,
  ru: russian,
  de: german,
  fr: french,
  es: spanish,
} as const;
export type Language = keyof typeof dictionaries;
export const languages = Object.keys(dictionaries) as Language[];

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

export type Translate = (key: TextKey, values?: Readonly<Record<string, string | number>>) => string;

/** Translates keys to a language; `{name}` is replaced by the value of that name, and `n` selects the plural form. */
export function translator(language: Language): Translate {
  const plurals = new Intl.PluralRules(language);
  return (key, values = {}) => {
    const entry: Text = dictionaries[language][key];
    const text = typeof entry === "string" ? entry : (entry[plurals.select(Number(values.n))] ?? entry.other);
    return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
  };
}
