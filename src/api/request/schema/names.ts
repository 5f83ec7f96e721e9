import { checkLanguage, checkText, languagePattern, maxTextLength } from "../../../catalog/codes.js";
import { type LocalizedName, localName } from "../../../catalog/state.js";
import { failed } from "../../../errors.js";
import { anything, flag, isObject, type JsonObject } from "./fields.js";
import type { Values } from "./schema.js";

/** Names in one or several languages, in request bodies. */

export const nameFields = {
  name: anything("The name: a string, or an object with one string per language code.", {
    anyOf: [
      { type: "string", maxLength: maxTextLength },
      {
        type: "object",
        additionalProperties: { type: "string" },
        propertyNames: { pattern: languagePattern.source },
      },
    ],
  }).optional(),
  localized_name: flag(
    "Whether the name is in several languages; default: true for an object, else unchanged.",
  ).optional(),
};

export interface NameContext {
  /** Language of a name given as a single string. */
  readonly language: string;
  readonly main: string;
  /** The current name; absent for a new element. */
  readonly previous?: LocalizedName;
}

/**
 * The name given by `name` (a string, or an object by language) and `localized_name`; undefined when both are missing.
 * A single string for a localized name sets the name in the language of the request.
 * @throws Failure invalid_value
 */
export function nameOf(
  { name, localized_name: wanted }: Values<typeof nameFields>,
  context: NameContext,
): LocalizedName | undefined {
  const given = name ?? undefined;
  if (given === undefined && wanted === undefined) return undefined;
  const { previous, language, main } = context;
  const localized = wanted ?? (isObject(given) || (previous?.localized ?? false));
  if (!localized) {
    if (isObject(given))
      throw failed("invalid_value", "name must be a string while localized_name is not set.");
    return { name: textOf(given) ?? before(context), localized: false, names: {} };
  }
  if (isObject(given)) return { name: "", localized: true, names: namesOf(given) };
  const kept = previous?.localized ? previous.names : previous?.name ? { [main]: previous.name } : {};
  const single = textOf(given);
  const names = single === undefined ? kept : { ...kept, [checkLanguage(language)]: single };
  if (Object.keys(names).length > maxLanguages) throw tooManyLanguages();
  return { name: "", localized: true, names };
}

const maxLanguages = 100;
const tooManyLanguages = () =>
  failed("invalid_value", `A name has at most ${maxLanguages} languages.`, { parameter: "name" });

const before = ({ previous, language, main }: NameContext): string =>
  previous ? localName(previous, language, main) : "";

function textOf(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== "string")
    throw failed("invalid_value", "name must be a string.", { parameter: "name" });
  return checkText(given, "name");
}

function namesOf(given: JsonObject): Record<string, string> {
  const names: Record<string, string> = {};
  const entries = Object.entries(given);
  if (entries.length > maxLanguages) throw tooManyLanguages();
  for (const [language, single] of entries) {
    if (typeof single !== "string") throw failed("invalid_value", "Names in languages must be strings.");
    names[checkLanguage(language)] = checkText(single, "name");
  }
  return names;
}
