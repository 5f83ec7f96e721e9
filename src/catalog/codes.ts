import { failed } from "../errors.js";

/** Rules for codes and texts of the catalogue. */

/** Longest name, title or comment, in UTF-16 units. */
export const maxTextLength = 10_000;

/** Codes of projects, maps, folders and layers. */
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
 * Codes of columns. They have no `$`, which PostgreSQL allows in identifiers: where SQL uses codes as identifiers, all
 * other identifiers end in `$` and so cannot collide. Elsewhere SQL uses physical names (`physicalName`).
 */
export const columnCodePattern = /^[A-Za-z_][A-Za-z0-9_]{0,43}$/;

/**
 * Code of a layer's column: Latin letters, digits and `_`, not a digit first, 1 to 44 characters.
 * @throws Failure invalid_code
 */
export function checkColumnCode(code: string): string {
  // Column codes are keys of JavaScript objects, where `__proto__` is special.
  if (columnCodePattern.test(code) && code !== "__proto__") return code;
  throw failed(
    "invalid_code",
    "A column code has 1 to 44 characters: Latin letters, digits and _, the first of them no digit.",
  );
}

/** Languages of names in the catalogue, such as `ru`, `en` or `sr-Latn`. */
export const languagePattern = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/;

/** Languages of requests and values; more lenient, as clients also send `EN`, `en_US` and `i-klingon`. */
export const languageTagPattern = /^[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,7}$/;

/** Whether localised values can have this language. */
export const isLanguageTag = (text: string): boolean => languageTagPattern.test(text);

/**
 * A language code such as `ru`, `en` or `sr-Latn`.
 * @throws Failure invalid_value
 */
export function checkLanguage(language: string): string {
  if (languagePattern.test(language)) return language;
  throw failed("invalid_value", `"${language.slice(0, 20)}" is not a language code such as ru or en.`);
}

/**
 * Checks that PostgreSQL can store a text: no NUL, no lone surrogates, at most 10 000 characters.
 * @throws Failure invalid_value with `data.parameter`
 */
export function checkText(text: string, parameter: string): string {
  if (text.length <= maxTextLength && isStorable(text)) return text;
  throw failed("invalid_value", `${parameter} is too long or holds characters that cannot be stored.`, {
    parameter,
  });
}

/** Whether PostgreSQL can store the text: it has no NUL and no lone surrogate. */
export const isStorable = (text: string): boolean => !/\0|\p{Surrogate}/u.test(text);
