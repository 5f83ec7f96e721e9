import type { ValueRule } from "./allowed.js";
import { checkImageFilters, checkTransform } from "./effects.js";
import { printNumber } from "./expression.js";
import { StyleError } from "./lexer.js";
import { pictureName } from "./picture-path.js";
import { checkColor, checkNumber, constant, type ValueContext, wrong } from "./scalars.js";

/**
 * The value in Mapnik's notation; undefined when the property is to be left out.
 * @throws StyleError naming the property and what it may be
 */
export function checkValue(rule: ValueRule, text: string, context: ValueContext): string | undefined {
  switch (rule.kind) {
    case "number":
      return checkNumber(rule, text, context);
    case "keyword":
      if (rule.values.includes(text)) return text;
      throw wrong(context, `one of ${rule.values.join(", ")}`, text);
    case "boolean":
      if (text === "true" || text === "false") return text;
      throw wrong(context, "true or false", text);
    case "color":
      return checkColor(text, context);
    case "dashes":
      return checkDashes(text, context);
    case "transform":
      return checkTransform(text, context);
    case "picture": {
      if (text === "none") return undefined;
      const name = pictureName(text);
      if (name !== undefined) return name;
      throw wrong(context, "a picture such as url(symbols/tree.svg) or url(icon:star)", text);
    }
    case "placements":
      return checkPlacements(text, context);
    case "character":
      if (/^[\p{L}\p{N}\p{P}\p{S} ]$/u.test(text)) return text;
      throw wrong(context, "one character", text);
    case "imageFilters":
      return checkImageFilters(text, context);
    case "featureSettings":
      return checkFeatureSettings(text, context);
    case "ignored":
      if (rule.value) checkValue(rule.value, text, context);
      return undefined;
    case "text":
    case "face":
    case "stops":
      throw new StyleError(`${context.property} cannot be used here.`);
  }
}

function checkDashes(text: string, context: ValueContext): string {
  const numbers = text.split(",").map((part) => constant(part));
  const bounded = numbers.every((value) => value !== undefined && value >= 0 && value <= 1000);
  const sum = numbers.reduce((total: number, value) => total + (value ?? 0), 0);
  // With a pattern of length 0 Mapnik would never reach the end of the line.
  if (numbers.length > 16 || !bounded || sum < 1) {
    throw wrong(context, "at most 16 lengths from 0 to 1000, together at least 1", text);
  }
  return numbers.map((value) => printNumber(value as number)).join(",");
}

function checkPlacements(text: string, context: ValueContext): string {
  const parts = text.split(",").map((part) => part.trim());
  const firstSize = parts.findIndex((part) => /^\d+$/.test(part));
  const places = firstSize < 0 ? parts : parts.slice(0, firstSize);
  const sizes = firstSize < 0 ? [] : parts.slice(firstSize).map((part) => constant(part) ?? 0);
  const fine =
    parts.length <= 16 &&
    places.every((place) => /^(?:X|N|S|E|W|NE|NW|SE|SW)$/.test(place)) &&
    sizes.every((size) => Number.isInteger(size) && size >= 1 && size <= 256);
  if (!fine) throw wrong(context, 'places and sizes such as "N,S,E,W,12,10"', text);
  return parts.join(",");
}

function checkFeatureSettings(text: string, context: ValueContext): string {
  const settings = text.split(",").map((part) => part.trim().replace(/^(['"])([A-Za-z0-9]{4})\1/, "$2"));
  if (
    settings.length > 16 ||
    !settings.every((part) => /^[A-Za-z0-9]{4}(?:(?:=| )(?:\d{1,3}|on|off))?$/.test(part))
  ) {
    throw wrong(context, 'OpenType features such as "kern 1, liga 0"', text);
  }
  return settings.join(", ");
}
