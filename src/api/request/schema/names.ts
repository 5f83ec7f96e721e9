import { checkLanguage, checkText, languagePattern, maxTextLength } from "../../../catalog/codes.js";
import { type LocalizedName, localName } from "../../../catalog/state.js";
import { failed } from "../../../errors.js";
import { anything, flag, isObject, type JsonObject } from "./fields.js";
import type { Values } from "./schema.js";

/** Names that may be in several languages, as bodies give them. */

export const nameFields = {
  name: anything("The name: a string, or an object with one per language code.", {
    anyOf: [
      { type: "string", maxLength: maxTextLength },
      {
        type: "object",
        additionalProperties: { type: "string" },
        propertyNames: { pattern: languagePattern.source },
      },
    ],
  }).optional(),
  localized_name: flag("Whether the name is in several languages; default: as `name` is given.").optional(),
};

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
export function nameOf(
  { name, localized_name: asked }: Values<typeof nameFields>,
  context: NameContext,
): LocalizedName | undefined {
  const given = name ?? undefined;
  if (given === undefined && asked === undefined) return undefined;
  const { previous, language, main } = context;
  const localized = asked ?? (isObject(given) || (previous?.localized ?? false));
  if (!localized) {
    if (isObject(given))
      throw failed("invalid_value", "name must be a string while localized_name is not set.");
    return { name: textOf(given) ?? before(context), localized: false, names: {} };
  }
  if (isObject(given)) return { name: "", localized: true, names: namesOf(given) };
  const kept = previous?.localized ? previous.names : previous?.name ? { [main]: previous.name } : {};
  const single = textOf(given);
  const names = single === undefined ? kept : { ...kept, [checkLanguage(language)]: single };
  return { name: "", localized: true, names };
}

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
  for (const [language, single] of Object.entries(given)) {
    if (typeof single !== "string") throw failed("invalid_value", "Names in languages must be strings.");
    names[checkLanguage(language)] = checkText(single, "name");
  }
  return names;
}
