import { failed } from "../errors.js";

/** Rules for codes and texts of the catalogue. */

/** Longest text that a name, title or comment may be, in UTF-16 units. */
export const maxTextLength = 10_000;

/** What a code of a project, map, folder or layer is like. */
export const codePattern = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Code of a project, map, folder or layer: Latin letters, digits, `_` and `-`, 1 to 64 characters.
 * @throws Failure invalid_code
 */
export function checkCode(code: string): string {
  if (codePattern.test(code)) return code;
  throw failed("invalid_code", "A code has 1 to 64 characters: Latin letters, digits, _ and -.");
}

/**
 * What a column's code is like. No code has a `$`, which PostgreSQL takes in names: where columns go by their codes in
 * SQL, all other names end in one. Elsewhere columns only go by their physical names (`physicalName`).
 */
export const columnCodePattern = /^[A-Za-z_][A-Za-z0-9_]{0,43}$/;

/**
 * Code of a layer's column: Latin letters, digits and `_`, not a digit first, 1 to 44 characters.
 * @throws Failure invalid_code
 */
export function checkColumnCode(code: string): string {
  // Column codes become keys of JSON objects, where this one is not like others.
  if (columnCodePattern.test(code) && code !== "__proto__") return code;
  throw failed(
    "invalid_code",
    "A column code has 1 to 44 characters: Latin letters, digits and _, the first of them no digit.",
  );
}

/** A language that the catalogue names something in, such as `ru`, `en` or `sr-Latn`. */
export const languagePattern = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/;

/** A language that requests ask for and values are kept under: clients also write `EN`, `en_US` and `i-klingon`. */
export const languageTagPattern = /^[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,3}$/;

/** Whether values can be kept under this language. */
export const isLanguageTag = (text: string): boolean => languageTagPattern.test(text);

/**
 * A language code such as `ru`, `en` or `sr-Latn`.
 * @throws Failure invalid_value
 */
export function checkLanguage(language: string): string {
  if (languagePattern.test(language)) return language;
  throw failed("invalid_value", `"${language.slice(0, 20)}" is no language code such as ru or en.`);
}

/**
 * A text that PostgreSQL can store: no NUL, no lone surrogates, at most 10 000 characters.
 * @throws Failure invalid_value with `data.parameter`
 */
export function checkText(text: string, parameter: string): string {
  if (text.length <= maxTextLength && isStorable(text)) return text;
  throw failed("invalid_value", `${parameter} is too long or holds characters that cannot be stored.`, {
    parameter,
  });
}

/** Whether PostgreSQL can store the text as it is: it has no NUL and no lone surrogate. */
export const isStorable = (text: string): boolean => !/\0|\p{Surrogate}/u.test(text);
