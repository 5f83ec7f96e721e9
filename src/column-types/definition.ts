/** What a type of column is, wherever values are stored, read, shown, compared or imported. One file a type has it all. */
export interface ColumnTypeDefinition {
  /** For the description of the API: what values are. */
  readonly description: string;
  /** PostgreSQL type of the physical column. Localised values are `jsonb` instead: an object of languages. */
  readonly sqlType: string;
  /** Whether values are text, which a pattern or part of it may be asked of; empty text counts as no value. */
  readonly isText: boolean;
  /** Whether values are equal or not: filters, constraints and names of objects need it. */
  readonly isComparable: boolean;
  /** Whether a value comes before another one. */
  readonly isOrdered: boolean;
  /** Whether the search looks into it. */
  readonly isSearchable: boolean;
  /** SQL constant that counts as empty beside null. */
  readonly emptyConstant?: string;

  /** Reads what a client sent, which is not null, for one language of a localised column too. */
  readonly read: (value: unknown) => ColumnValue;
  /** Reads a filter's text; absent = as `read`. */
  readonly readFilter?: (text: string) => ColumnValue;

  /** SQL of the value as JSON text, never null. */
  readonly jsonText: (value: string) => string;
  /** SQL of the value as `jsonb`, as it stands in an object of languages; null for what JSON cannot hold. */
  readonly toJsonb: (value: string) => string;
  /** SQL of the value that such `jsonb` has, which is known to be one of this type. */
  readonly fromJsonb: (json: string) => string;
  /** SQL of the value in a localised column's `jsonb` of one language; absent = by `convert_value`. */
  readonly fromLanguage?: (json: string) => string;
  /** SQL of the value as text for categories; absent for comparable types, which need none. */
  readonly categoryText?: (value: string) => string;
  /** SQL of the value as people read it in results of the search; absent = PostgreSQL's text of it. */
  readonly searchText?: (value: string) => string;
  /** SQL of the value as styles see it. */
  readonly styleValue: (value: string) => string;
  /** For types whose values lie on a scale. */
  readonly measure?: Measure;

  readonly imported: ImportedValues;
}

/** A scale of finite numbers. */
export interface Measure {
  /** SQL of the number. */
  readonly number: (value: string) => string;
  /** As `number`; null for infinities and NaN, which SQL clients can store. */
  readonly finiteNumber: (value: string) => string;
  /** What the API's JSON shows for a number of the scale. */
  readonly shown: (number: number) => number | string;
}

/** Values of files in staging, where all of them are text. */
export interface ImportedValues {
  /**
   * SQL of the value.
   * @param text SQL of the staged text
   */
  readonly value: (text: string, property: ImportedProperty) => string;
  /** SQL that is true for text which is a value; absent when all text is. */
  readonly fits?: (text: string) => string;
}

/** A property of an imported file. */
export interface ImportedProperty {
  /** Type of column that its values would make. */
  readonly type: string;
  /** Whether `type` is one of text. */
  readonly isText: boolean;
  /** Its place in the file; `s.texts` lists those of a row whose value was a string. */
  readonly index: number;
}

/** A value that a column takes: as JSON would show it, and as it is bound. `null` empties the column. */
export type ColumnValue =
  | { readonly ok: true; readonly json: unknown; readonly bound: unknown }
  | { readonly ok: false; readonly reason: string };

export const refuse = (reason: string): ColumnValue => ({ ok: false, reason });
export const accept = (value: unknown): ColumnValue => ({ ok: true, json: value, bound: value });
export const empty: ColumnValue = accept(null);

/** Text that PostgreSQL cannot store: a NUL, or half of a surrogate pair. */
export const unstorable = /\0|\p{Surrogate}/u;
