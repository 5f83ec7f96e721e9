import { isLanguageTag } from "../catalog/codes.js";
import type { NewColumn } from "../catalog/columns.js";
import { idNames } from "../catalog/id-alias.js";
import { type Column, isId } from "../catalog/state.js";
import { hasValues, type ValueType } from "../column-types/column-types.js";
import { translationName } from "../features/translations.js";
import type { ImportedField } from "../hosts/import-messages.js";
import { columnCodes } from "./codes.js";

/** Matches properties of a file with columns of a layer. Pure. */

/** A property as it is read. */
export interface FileField extends ImportedField {
  /** Its name in the file; absent = `name`. */
  readonly nameInFile?: string;
  /** The type that its column shall have; absent = what there is, or `type`. */
  readonly wanted?: Exclude<ValueType, "file">;
  /** Whether it is not known that all texts are of the type, in the notation. */
  readonly isDoubtful?: boolean;
  readonly isLeftOut?: boolean;
}

/** A property with the column that its values are written to. */
export interface Matched {
  /** The property is column `p<index>` of the staging table. */
  readonly index: number;
  readonly field: FileField;
  readonly column: Column;
  /** Language of the values, for a localised column; undefined = the language of the import. */
  readonly language?: string | undefined;
}
/** A property without a matching column, and the column to add for it. */
export interface Unmatched {
  readonly index: number;
  readonly field: FileField;
  readonly column: NewColumn;
}

export interface Matching {
  readonly known: readonly Matched[];
  readonly added: readonly Unmatched[];
  /** Index of the property with object ids, if the file has one. */
  readonly idIndex: number | undefined;
  readonly leftOut: readonly { readonly index: number; readonly field: FileField }[];
}

const takesValues = (column: Column): boolean => hasValues(column) && !isId(column);

/** Languages of localised values. */
export interface ImportLanguages {
  /** For properties without a language in their name. */
  readonly own: string;
  /** Languages of the project. */
  readonly all: readonly string[];
}

/**
 * Matches properties with columns by column code, then by code and language as in an export (localised columns), then by
 * column name in any language. Each column takes one property, or one per language; for the other properties new columns
 * are added.
 */
export function matchFields(
  fields: readonly FileField[],
  columns: readonly Column[],
  languages: ImportLanguages,
): Matching {
  const unmatched = new Set(columns.filter(takesValues));
  const matches = new Map<number, { readonly column: Column; readonly language?: string }>();
  // The first id property in the file is used; properties with the other names of the id are ignored, as duplicates.
  const ids = idNames(columns).flatMap((id) => {
    const index = fields.findIndex(({ name, isLeftOut }) => name === id && !isLeftOut);
    return index < 0 ? [] : [index];
  });
  const isFree = (index: number) => !ids.includes(index) && !matches.has(index) && !fields[index]!.isLeftOut;
  const match = (fits: (column: Column, name: string) => boolean) => {
    fields.forEach(({ name }, index) => {
      if (!isFree(index)) return;
      for (const column of unmatched) {
        if (!fits(column, name)) continue;
        matches.set(index, { column });
        unmatched.delete(column);
        return;
      }
    });
  };
  match((column, name) => column.code === name);
  const translated = translationReader(columns, languages.all);
  fields.forEach(({ name }, index) => {
    if (!isFree(index)) return;
    const place = translated(name);
    // The property with the column's code already has this language.
    if (!place || (place.language === languages.own && !unmatched.has(place.column))) return;
    matches.set(index, place);
  });
  for (const { column } of matches.values()) unmatched.delete(column);
  match((column, name) => (column.localized ? Object.values(column.names) : [column.name]).includes(name));

  const indexed = fields.map((field, index) => ({ field, index }));
  const remaining = indexed.filter(({ index }) => isFree(index));
  const codes = columnCodes(
    remaining.map(({ field }) => field.name),
    columns.map((column) => column.code),
  );
  return {
    known: [...matches].map(([index, place]) => ({ index, field: fields[index]!, ...place })),
    added: remaining.map(({ field, index }, place) => ({
      field,
      index,
      column: {
        code: codes[place]!,
        type: field.wanted ?? field.type,
        name: { name: field.name, localized: false, names: {} },
      },
    })),
    idIndex: ids[0],
    leftOut: indexed.filter(({ field }) => field.isLeftOut),
  };
}

/** A function that returns the localised column and the language of a property name from an export. */
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
    // Properties of the project's languages have other names, see `translationName`.
    return column && isLanguageTag(language) && !languages.includes(language)
      ? { column, language }
      : undefined;
  };
}
