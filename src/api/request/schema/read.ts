import { z } from "zod";
import { badRequest, type Failure, required } from "../../../errors.js";
import { failureOf, type Members, rulesOf, type Values } from "./schema.js";

const defaultBlanks: readonly unknown[] = [null, ""];

/** What came, by its names; undefined = nothing. */
export interface Given {
  get(name: string): unknown;
}

/**
 * Makes a function that reads members. It throws Failure: required_parameters with all that are missing, or the refusal
 * of another member when that one comes first and is wrong. It takes some 3 µs for the 16 parameters of a list of objects.
 */
export function reader<M extends Members>(members: M): (given: Given) => Values<M> {
  const schema = z.object(members);
  const known = Object.entries(members).map(([name, member]) => {
    const { aliases = [], blanks = defaultBlanks } = rulesOf(member);
    return { name, names: [name, ...aliases], blanks };
  });
  return (source) => {
    const given: Record<string, unknown> = {};
    for (const { name, names, blanks } of known) {
      let value: unknown;
      for (let i = 0; value === undefined && i < names.length; i++) value = source.get(names[i]!);
      given[name] = blanks.includes(value) ? undefined : value;
    }
    const read = schema.safeParse(given);
    if (read.success) return read.data as Values<M>;
    throw refusal(members, given, read.error.issues);
  };
}

/** The failure for the first member that is wrong. */
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
  if (given[name] !== undefined) return (refuse ?? unreadable)(name, issue.message);
  if (absent) return absent();
  const isMissing = (one: string) => given[one] === undefined && !rulesOf(members[one]!).absent;
  return required([...new Set(issues.map(({ path }) => String(path[0])))].filter(isMissing));
}

const unreadable = (name: string, what: string): Failure => badRequest(`${name} ${what}.`);
