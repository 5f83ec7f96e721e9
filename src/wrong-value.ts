import type { z } from "zod";
import { counted } from "./counted.js";

/** What is wrong with a value that a schema refuses, in words for who sent it. */

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

const units: Readonly<Record<string, string>> = { string: "character", array: "item" };

const bound = (word: string, origin: string, limit: number | bigint): string =>
  origin in units
    ? `must have ${word} ${counted(Number(limit), units[origin]!)}`
    : `must be ${word} ${limit}`;

/**
 * Completes the sentence that begins with the name of the value: `must be a number`. For `safeParse`, as `error`: a schema's
 * own words go before these. Undefined where there are none.
 */
export function wrongValue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined && issue.code.startsWith("invalid_")) return "is missing";
  switch (issue.code) {
    case "invalid_type":
      return kinds[issue.expected] && `must be ${kinds[issue.expected]}`;
    case "too_small":
      if (issue.inclusive === false) return `must be greater than ${issue.minimum}`;
      return bound("at least", issue.origin, issue.minimum);
    case "too_big":
      return bound("at most", issue.origin, issue.maximum);
    case "invalid_format":
      return issue.format === "uuid" ? "must be a UUID" : undefined;
    case "invalid_value":
      return `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.join(", ")}`;
    case "invalid_union":
      return issue.errors.map(([first]) => first?.message).join(", or ");
    case "invalid_key":
      return `has a name that ${issue.issues[0]?.message}`;
    default:
      return undefined;
  }
}
