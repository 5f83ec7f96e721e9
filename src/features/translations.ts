import type { Column } from "../catalog/state.js";
import { literal } from "./sql.js";

/** Values of localised columns in exported files: one property per language, and its name. */

/** What the names of properties depend on. */
export interface TranslationNames {
  /** The project's languages. */
  readonly languages: readonly string[];
  /** Codes of the layer's columns. */
  readonly codes: ReadonlySet<string>;
}

/**
 * The name of the property of one language: `name_ru`, or `name:ru` when a column has the code `name_ru` or the project
 * does not have the language. Column codes have no colon and languages of projects no underscore, so names are unique.
 */
export function translationName(code: string, language: string, names: TranslationNames): string {
  const plain = `${code}_${language}`;
  return names.languages.includes(language) && !names.codes.has(plain) ? plain : `${code}:${language}`;
}

/** Languages of localised columns to write. */
export interface Translations {
  /** If there is only one, its property has the column's code. */
  readonly languages: readonly [string, ...string[]];
  /** Whether an object's other languages follow; `languages` must then be all of the project's. */
  readonly others: boolean;
  readonly names: TranslationNames;
}

/** Properties in order: name, and SQL of the value as JSON text (never null). */
export function translatedValues(
  column: Column,
  { languages, names }: Translations,
): readonly (readonly [name: string, json: string])[] {
  return languages.map((language) => [
    languages.length === 1 ? column.code : translationName(column.code, language, names),
    `coalesce((${column.physical}->${literal(language)})::text,'null')`,
  ]);
}

/** SQL of the properties of other languages, each preceded by a comma; null when there are none. */
export function otherTranslations(column: Column, { languages }: Translations): string {
  const others = `${column.physical}-array[${languages.map(literal).join(",")}]::text[]`;
  // Languages of the project are listed, so the others always have a colon in their name.
  const name = `to_json(${literal(`${column.code}:`)}||e.key)`;
  const list = `select string_agg(concat(',',${name},':',e.value),'' order by e.key) from jsonb_each(${others}) e`;
  // The check for an empty object is much cheaper than jsonb_each.
  return `case when ${others}<>'{}' then (${list}) end`;
}
