import { z } from "zod";
import { badRequest, type Failure, required } from "../../../errors.js";
import { wrongValue } from "../../../wrong-value.js";
import { failureOf, type Members, rulesOf, type Values } from "./schema.js";

const defaultBlanks: readonly unknown[] = [null, ""];

/** Values of a request by name; undefined = absent. */
export interface Given {
  get(name: string): unknown;
}

/**
 * Returns a function that validates and converts members. It throws Failure: required_parameters with the names of all
 * missing members, or the error of the first invalid member if that comes before a missing one. It takes some 3 µs for
 * the 16 parameters of a list of objects.
 */
export function reader<M extends Members>(members: M): (given: Given) => Values<M> {
  const schema = z.object(members);
  const lookups = Object.entries(members).map(([name, member]) => {
    const { aliases = [], blanks = defaultBlanks } = rulesOf(member);
    return { name, names: [name, ...aliases], blanks };
  });
  return (source) => {
    const given: Record<string, unknown> = {};
    for (const { name, names, blanks } of lookups) {
      let value: unknown;
      for (let i = 0; value === undefined && i < names.length; i++) value = source.get(names[i]!);
      given[name] = blanks.includes(value) ? undefined : value;
    }
    const read = schema.safeParse(given, { error: wrongValue });
    if (read.success) return read.data as Values<M>;
    throw refusal(members, given, read.error.issues);
  };
}

/** The failure for the first invalid member. */
function refusal(
  members: Members,
  given: Readonly<Record<string, unknown>>,
  issues: readonly z.core.$ZodIssue[],
): Failure {
  const issue = issues[0]!;
  const name = String(issue.path[0]);
  const failure = failureOf(issue);
  if (failure) return failure;
  const { absent, refuse } = rulesOf(members[name]!);
  if (given[name] !== undefined) return (refuse ?? malformed)(name, issue.message);
  if (absent) return absent();
  const isMissing = (one: string) => given[one] === undefined && !rulesOf(members[one]!).absent;
  return required([...new Set(issues.map(({ path }) => String(path[0])))].filter(isMissing));
}

const malformed = (name: string, what: string): Failure => badRequest(`${name} ${what}.`);
