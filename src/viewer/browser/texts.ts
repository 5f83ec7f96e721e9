import type { Language } from "./language.js";
import { english, type Text, type Texts } from "./texts/english.js";
import { french } from "./texts/french.js";
import { german } from "./texts/german.js";
import { russian } from "./texts/russian.js";
import { spanish } from "./texts/spanish.js";

/** The texts of the viewer. Another language is a file in texts/, a line here, and one in language.ts. */

export type TextKey = keyof typeof english;

const dictionaries: Readonly<Record<Language, Texts>> = {
  en: english,
  ru: russian,
  de: german,
  fr: french,
  es: spanish,
};
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
