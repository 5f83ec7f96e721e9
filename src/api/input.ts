import { checkLanguage, checkText, isStorable } from "../catalog/codes.js";
import { type LocalizedName, localName } from "../catalog/state.js";
import { badRequest, failed, notFound } from "../errors.js";
import type { Request } from "../http/types.js";

/** Readers that turn what came into typed values, once. */

export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The request's body as a JSON object. @throws Failure bad_request */
export async function bodyObject(request: Request): Promise<Fields> {
  const value = await request.body.json();
  if (!isObject(value)) throw badRequest("The body must be a JSON object.");
  return value;
}

/** A field of its own, null counting as absent. */
export function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined;
}

/** @throws Failure invalid_value when it is no text that can be stored */
export function textField(fields: Fields, name: string): string | undefined {
  const value = own(fields, name);
  if (value === undefined) return undefined;
  if (typeof value !== "string")
    throw failed("invalid_value", `${name} must be a string.`, { parameter: name });
  return checkText(value, name);
}

/** Longest style that is looked at, in UTF-16 units. */
const maxStyleLength = 1_000_000;

/**
 * `css_style`, which is yet to be compiled; undefined when it is absent or blank, which asks for the default.
 * @throws Failure invalid_value, invalid_style for what no style can be
 */
export function cssField(fields: Fields): string | undefined {
  const style = own(fields, "css_style");
  if (style === undefined) return undefined;
  if (typeof style !== "string") {
    throw failed("invalid_value", "css_style must be a string.", { parameter: "css_style" });
  }
  if (style.length > maxStyleLength || !isStorable(style)) {
    throw failed("invalid_style", "The style is too long or holds characters that no style has.");
  }
  return style.trim() === "" ? undefined : style;
}

/** @throws Failure bad_request for what is no finite number */
export function numberField(fields: Fields, name: string): number | undefined {
  const value = own(fields, name);
  if (value === undefined || value === "") return undefined;
  const number = typeof value === "string" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) throw badRequest(`${name} must be a number.`);
  return number;
}

/** `parent_id`: a number, or one written as text; what is none names no parent. @throws Failure not_found */
export function parentField(fields: Fields): number | undefined {
  const value = own(fields, "parent_id");
  if (value === undefined || value === "") return undefined;
  const id = typeof value === "string" ? Number(value) : value;
  if (typeof id !== "number" || !Number.isSafeInteger(id)) throw notFound("parent of that id");
  return id;
}

/** true, false, 1, 0 and their texts. @throws Failure bad_request */
export function flagField(fields: Fields, name: string): boolean | undefined {
  const value = own(fields, name);
  return value === undefined ? undefined : flag(value, name);
}

function flag(value: unknown, name: string): boolean {
  if (value === true || value === 1 || value === "1" || value === "true") return true;
  if (value === false || value === 0 || value === "0" || value === "false") return false;
  throw badRequest(`${name} is 1 or 0.`);
}

export interface NameContext {
  /** Language that a single string is in. */
  readonly language: string;
  readonly main: string;
  /** What the name was; absent for a new element. */
  readonly previous?: LocalizedName;
}

/**
 * The name that `name` (a string, or an object of languages) and `localized_name` give; undefined when neither is
 * there. A string for a name in several languages sets the request's language.
 * @throws Failure invalid_value
 */
export function nameField(fields: Fields, context: NameContext): LocalizedName | undefined {
  const given = own(fields, "name");
  const asked = flagField(fields, "localized_name");
  if (given === undefined && asked === undefined) return undefined;
  const { previous, language, main } = context;
  const localized = asked ?? (isObject(given) || (previous?.localized ?? false));
  if (!localized) {
    if (isObject(given))
      throw failed("invalid_value", "name must be a string while localized_name is not set.");
    return { name: textField(fields, "name") ?? before(context), localized: false, names: {} };
  }
  if (isObject(given)) return { name: "", localized: true, names: namesOf(given) };
  const kept = previous?.localized ? previous.names : previous?.name ? { [main]: previous.name } : {};
  const text = textField(fields, "name");
  const names = text === undefined ? kept : { ...kept, [checkLanguage(language)]: text };
  return { name: "", localized: true, names };
}

const before = ({ previous, language, main }: NameContext): string =>
  previous ? localName(previous, language, main) : "";

function namesOf(given: Fields): Record<string, string> {
  const names: Record<string, string> = {};
  for (const [language, text] of Object.entries(given)) {
    if (typeof text !== "string") throw failed("invalid_value", "Names in languages must be strings.");
    names[checkLanguage(language)] = checkText(text, "name");
  }
  return names;
}
