import {
  allowedMap,
  allowedProperties,
  allowedStyle,
  allowedSymbolizers,
  functionsByKind,
  type ValueRule,
} from "../../../../style/allowed.js";
import { faces } from "../../../../style/fonts.js";

/** The words of CartoCSS, from what the server checks styles by. Does not depend on the DOM. */

const rules: ReadonlyMap<string, ValueRule> = new Map(
  [...Object.values(allowedSymbolizers), allowedStyle, allowedMap].flatMap((properties) =>
    Object.entries(properties).map(([name, { value }]) => [name, value] as const),
  ),
);

/** Of `Map { … }`, which the style of a layer does not have. */
const ofMap = new Set(Object.keys(allowedMap));

export const properties: readonly string[] = [...allowedProperties].filter((name) => !ofMap.has(name)).sort();

export interface Value {
  readonly text: string;
  readonly isFunction?: true;
}

const plain = (texts: readonly string[]): Value[] => texts.map((text) => ({ text }));
const calls = (kind: keyof typeof functionsByKind): Value[] =>
  functionsByKind[kind].map((text) => ({ text, isFunction: true }));

/** What a property can be, as far as it has words for it. */
export function valuesOf(property: string): readonly Value[] {
  const rule = rules.get(property);
  // The switch of a symbolizer, such as `line`.
  if (!rule) return allowedProperties.has(property) ? plain(["none"]) : [];
  switch (rule.kind) {
    case "keyword":
      return plain(rule.values);
    case "boolean":
      return plain(["true", "false"]);
    case "color":
      return [...plain(["transparent"]), ...calls("color")];
    case "face":
      return plain(faces.map((face) => `"${face}"`));
    case "picture":
      return [{ text: "url", isFunction: true }, ...plain(["none"])];
    case "transform":
    case "imageFilters":
    case "stops":
      return calls(rule.kind);
    default:
      return [];
  }
}

/** Whether a property can be an expression over columns. */
export function takesColumns(property: string): boolean {
  const rule = rules.get(property);
  return rule?.kind === "text" || (rule?.kind === "number" && rule.expression === true);
}

/** The range of a property that is a number; "" = it is none. */
export function rangeOf(property: string): string {
  const rule = rules.get(property);
  return rule?.kind === "number" ? `${rule.min} – ${rule.max}` : "";
}

export const isColour = (property: string): boolean => rules.get(property)?.kind === "color";
