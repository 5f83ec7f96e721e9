import type { Language } from "./language.js";
import type { english, Text, Texts } from "./texts/english.js";

/** The texts of the viewer. Another language is a file in texts/, a line here, and one in language.ts. */

export type TextKey = keyof typeof english;

/** Each is a script of its own, so that a page loads one. */
const dictionaries: Readonly<Record<Language, () => Promise<Texts>>> = {
  en: async () => (await import("./texts/english.js")).english,
  ru: async () => (await import("./texts/russian.js")).russian,
  de: async () => (await import("./texts/german.js")).german,
  fr: async () => (await import("./texts/french.js")).french,
  es: async () => (await import("./texts/spanish.js")).spanish,
};
export type Translate = (key: TextKey, values?: Readonly<Record<string, string | number>>) => string;

/** The texts in a language. @throws TypeError when they cannot be loaded */
export const loadTexts = (language: Language): Promise<Texts> => dictionaries[language]();

/** Translates keys; `{name}` is replaced by the value of that name, and `n` selects the plural form of the language. */
export function translator(language: Language, texts: Texts): Translate {
  const plurals = new Intl.PluralRules(language);
  return (key, values = {}) => {
    const entry: Text = texts[key];
    const text = typeof entry === "string" ? entry : (entry[plurals.select(Number(values.n))] ?? entry.other);
    return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
  };
}
