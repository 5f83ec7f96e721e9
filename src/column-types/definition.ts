/** Definition of a column type: how its values are stored, read, shown, compared and imported. One file per type. */
export interface ColumnTypeDefinition {
  /** For the API's documentation. */
  readonly description: string;
  /** PostgreSQL type of the physical column. Localised columns are `jsonb` instead, with a key for each language. */
  readonly sqlType: string;
  /** Whether values are text, for pattern and substring filters; empty text counts as no value. */
  readonly isText: boolean;
  /** Whether values can be compared for equality, for filters, constraints and names of objects. */
  readonly isComparable: boolean;
  /** Whether values have an order. */
  readonly isOrdered: boolean;
  /** Whether the search covers the values. */
  readonly isSearchable: boolean;
  /** SQL constant that counts as empty, besides null. */
  readonly emptyConstant?: string;

  /** Reads a value that a client sent, other than null; of a localised column, one language's value. */
  readonly read: (value: unknown) => ColumnValue;
  /** Reads a literal of a filter; absent = `read`. */
  readonly readFilter?: (text: string) => ColumnValue;

  /** SQL of the value as JSON text, never null. */
  readonly jsonText: (value: string) => string;
  /** SQL of the value as text in exported files that are not JSON; null when there is none. */
  readonly fileText: (value: string) => string;
  /** SQL of the value as `jsonb`, as in a localised column; null for values that JSON cannot represent. */
  readonly toJsonb: (value: string) => string;
  /** Inverse of `toJsonb`, for `jsonb` that is known to be a value of this type. */
  readonly fromJsonb: (json: string) => string;
  /** SQL of one language's value in a localised column's `jsonb`; absent = `convert_value`. */
  readonly fromLanguage?: (json: string) => string;
  /** SQL of the value as text, to group by; absent for comparable types, which are grouped as they are. */
  readonly categoryText?: (value: string) => string;
  /** SQL of the value's text in search results; absent = PostgreSQL's text output. */
  readonly searchText?: (value: string) => string;
  /** Values in vector tiles; absent = the texts of `fileText`. */
  readonly vector?: VectorValues;
  /** SQL of the value for styles. */
  readonly styleValue: (value: string) => string;
  /** SQL of the value as the text of a label; absent = as Mapnik writes that of `styleValue`. */
  readonly labelText?: (value: string) => string;
  /** For numeric types and others with a numeric scale. */
  readonly measure?: Measure;

  readonly imported: ImportedValues;
}

/** Values as numbers, for class borders and ranges. */
export interface Measure {
  /** SQL of the number. */
  readonly number: (value: string) => string;
  /** As `number`, but null for infinities and NaN, which SQL clients can store. */
  readonly finiteNumber: (value: string) => string;
  /** The value of the API's JSON for a number. */
  readonly shown: (number: number) => number | string;
}

/** Values in vector tiles that are no texts. */
export interface VectorValues {
  /** As TileJSON names it. */
  readonly type: "Number" | "Boolean";
  /** SQL of the value, a number or boolean of PostgreSQL; null when there is none. */
  readonly value: (value: string) => string;
}

/** Values of imported files in the staging table, where all of them are text. */
export interface ImportedValues {
  /**
   * SQL of the value.
   * @param text SQL of the staged text
   */
  readonly value: (text: string, property: ImportedProperty) => string;
  /** SQL of whether the text is a valid value; absent if all text is. */
  readonly fits?: (text: string) => string;
}

/** A property of an imported file. */
export interface ImportedProperty {
  /** Column type that fits its values. */
  readonly type: string;
  /** Whether `type` is a text type. */
  readonly isText: boolean;
  /** Its index in the file; `s.texts` lists the indexes of a row's string values. */
  readonly index: number;
}

/** A value that was read: as the API shows it in JSON, and as the SQL parameter. `null` = no value. */
export type ColumnValue =
  | { readonly ok: true; readonly json: unknown; readonly bound: unknown }
  | { readonly ok: false; readonly reason: string };

export const refuse = (reason: string): ColumnValue => ({ ok: false, reason });
export const accept = (value: unknown): ColumnValue => ({ ok: true, json: value, bound: value });
export const empty: ColumnValue = accept(null);

/** Matches text that PostgreSQL cannot store: with a NUL or a lone surrogate. */
export const unstorable = /\0|\p{Surrogate}/u;
