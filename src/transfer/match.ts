import { isLanguageTag } from "../catalog/codes.js";
import type { NewColumn } from "../catalog/columns.js";
import { idNames } from "../catalog/id-alias.js";
import { type Column, isId } from "../catalog/state.js";
import { hasValues } from "../column-types/column-types.js";
import { translationName } from "../features/translations.js";
import type { ImportedField } from "../hosts/messages.js";
import { columnCodes } from "./codes.js";

/** Which property goes into which column. Pure. */

/** A property with the column that takes it. */
export interface Matched {
  /** The property's column in staging is `p<index>`. */
  readonly index: number;
  readonly field: ImportedField;
  readonly column: Column;
  /** Language of a localised column that the values are in; undefined = the import's. */
  readonly language?: string | undefined;
}
/** A property that no column of the layer takes yet. */
export interface Unmatched {
  readonly index: number;
  readonly field: ImportedField;
  readonly column: NewColumn;
}

export interface Matching {
  readonly known: readonly Matched[];
  readonly added: readonly Unmatched[];
  /** Index of the property that holds object ids, if the file has it. */
  readonly idIndex: number | undefined;
}

const takesValues = (column: Column): boolean => hasValues(column) && !isId(column);

/** In which languages localised values may come. */
export interface ImportLanguages {
  /** Of values whose property names none. */
  readonly own: string;
  /** The project's. */
  readonly all: readonly string[];
}

/**
 * Properties find columns by their code first, then localised ones by code and language as an export names them, then
 * by their name in any language. Each column takes one property, or one of each language; properties that are left
 * get new columns.
 */
export function matchFields(
  fields: readonly ImportedField[],
  columns: readonly Column[],
  languages: ImportLanguages,
): Matching {
  const free = new Set(columns.filter(takesValues));
  const found = new Map<number, { readonly column: Column; readonly language?: string }>();
  // The first of the id's names that the file has is taken; what it has under the others is the same once more.
  const ids = idNames(columns).flatMap((id) => {
    const index = fields.findIndex(({ name }) => name === id);
    return index < 0 ? [] : [index];
  });
  const take = (fits: (column: Column, name: string) => boolean) => {
    fields.forEach(({ name }, index) => {
      if (ids.includes(index) || found.has(index)) return;
      for (const column of free) {
        if (!fits(column, name)) continue;
        found.set(index, { column });
        free.delete(column);
        return;
      }
    });
  };
  take((column, name) => column.code === name);
  const translated = translationReader(columns, languages.all);
  fields.forEach(({ name }, index) => {
    if (ids.includes(index) || found.has(index)) return;
    const place = translated(name);
    // The property of the column's own code has this language already.
    if (!place || (place.language === languages.own && !free.has(place.column))) return;
    found.set(index, place);
  });
  for (const { column } of found.values()) free.delete(column);
  take((column, name) => (column.localized ? Object.values(column.names) : [column.name]).includes(name));

  const rest = fields
    .map((field, index) => ({ field, index }))
    .filter(({ index }) => !ids.includes(index) && !found.has(index));
  const codes = columnCodes(
    rest.map(({ field }) => field.name),
    columns.map((column) => column.code),
  );
  return {
    known: [...found].map(([index, place]) => ({ index, field: fields[index]!, ...place })),
    added: rest.map(({ field, index }, place) => ({
      field,
      index,
      column: {
        code: codes[place]!,
        type: field.type,
        name: { name: field.name, localized: false, names: {} },
      },
    })),
    idIndex: ids[0],
  };
}

/** What tells the localised column and the language of a property that an export named. */
function translationReader(columns: readonly Column[], languages: readonly string[]) {
  const codes = new Set(columns.map((column) => column.code));
  const localised = new Map(
    columns
      .filter((column) => takesValues(column) && column.localizedValue)
      .map((column) => [column.code, column]),
  );
  const named = new Map(
    [...localised.values()].flatMap((column) =>
      languages.map((language) => [
        translationName(column.code, language, { languages, codes }),
        { column, language },
      ]),
    ),
  );
  return (name: string) => {
    const known = named.get(name);
    if (known) return known;
    const colon = name.indexOf(":");
    const column = colon > 0 ? localised.get(name.slice(0, colon)) : undefined;
    const language = name.slice(colon + 1);
    // A language of the project has its own name, which the file may have as well.
    return column && isLanguageTag(language) && !languages.includes(language)
      ? { column, language }
      : undefined;
  };
}
