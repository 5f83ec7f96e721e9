import type { Column } from "../catalog/state.js";
import { literal } from "./sql.js";

/** Values of localised columns in files: a property for each language, and how it is named. */

/** What decides over the names of a layer's properties. */
export interface TranslationNames {
  /** The project's languages. */
  readonly languages: readonly string[];
  /** Codes of the layer's columns. */
  readonly codes: ReadonlySet<string>;
}

/**
 * The property of one language: `name_ru`, or `name:ru` where a column has that code or the language is none of the
 * project's. No column code has a colon, and no language of a project an underscore, so that names never meet.
 */
export function translationName(code: string, language: string, names: TranslationNames): string {
  const plain = `${code}_${language}`;
  return names.languages.includes(language) && !names.codes.has(plain) ? plain : `${code}:${language}`;
}

/** Languages of localised columns that are written. */
export interface Translations {
  /** At least one; where it is one alone, its property has the column's own code. */
  readonly languages: readonly [string, ...string[]];
  /** Whether others that an object has follow; `languages` are then all of the project's. */
  readonly others: boolean;
  readonly names: TranslationNames;
}

/** Names of properties in their order, each with the SQL of its value as JSON text, never null. */
export function translatedValues(
  column: Column,
  { languages, names }: Translations,
): readonly (readonly [name: string, json: string])[] {
  return languages.map((language) => [
    languages.length === 1 ? column.code : translationName(column.code, language, names),
    `coalesce((${column.physical}->${literal(language)})::text,'null')`,
  ]);
}

/** SQL of the properties of languages that are not listed, each with a comma before it; null where there is none. */
export function otherTranslations(column: Column, { languages }: Translations): string {
  const others = `${column.physical}-array[${languages.map(literal).join(",")}]::text[]`;
  // Those of the project are listed, so that no other name has to be found for these.
  const name = `to_json(${literal(`${column.code}:`)}||e.key)`;
  const list = `select string_agg(concat(',',${name},':',e.value),'' order by e.key) from jsonb_each(${others}) e`;
  // Taking languages apart costs much more than to see that there is none.
  return `case when ${others}<>'{}' then (${list}) end`;
}
