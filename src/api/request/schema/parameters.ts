import { badRequest, required } from "../../../errors.js";
import type { Parameters } from "../../../http/types.js";
import { readMembers } from "./read.js";
import type { Member, Members, Values } from "./schema.js";

/**
 * Parameters of queries, forms and headers: texts that become typed values once, at the edge. One that is absent or
 * empty counts as not given; one that cannot be read is a bad request that names it.
 */

export type Parameter<Out> = Member<string, Out>;
export type ParameterDefinitions = Members<string>;

/** @throws Failure required_parameters, bad_request */
export const readParameters = <D extends ParameterDefinitions>(
  definitions: D,
  given: Parameters,
): Values<D> => readMembers<string, D>(definitions, (name) => given.get(name));

/** A record of a body (form or JSON) seen as parameters: numbers and flags as text, lists joined by commas. */
export function parametersOf(record: Readonly<Record<string, unknown>>): Parameters {
  const get = (name: string): string | undefined => {
    const value = Object.hasOwn(record, name) ? record[name] : undefined;
    if (value === undefined || value === null) return undefined;
    return typeof value === "object" && !Array.isArray(value) ? JSON.stringify(value) : String(value);
  };
  return { get, has: (name) => get(name) !== undefined, names: () => Object.keys(record) };
}

/** Parameters of the first of two places that has them; an empty one counts where the other place has none. */
export const firstOf = (one: Parameters, other: Parameters): Parameters => ({
  get: (name) => one.get(name) || (other.get(name) ?? one.get(name)),
  has: (name) => one.has(name) || other.has(name),
  names: () => new Set([...one.names(), ...other.names()]),
});

/** A parameter that must be there and not be empty. */
export const needed = <Out>(parameter: Parameter<Out>): Parameter<Exclude<Out, undefined>> => ({
  ...parameter,
  required: true,
  read: (given, name) => {
    const value = parameter.read(given, name);
    if (value === undefined) throw required([name]);
    return value as Exclude<Out, undefined>;
  },
});

/** A parameter with the value that it has when it is not given. */
export const orElse = <Out>(
  parameter: Parameter<Out>,
  value: Exclude<Out, undefined>,
): Parameter<Exclude<Out, undefined>> => ({
  ...parameter,
  schema: { ...parameter.schema, default: value },
  read: (given, name) => (parameter.read(given, name) ?? value) as Exclude<Out, undefined>,
});

/** Any text of at most `most` characters. Else a bad request. */
export const text = (description: string, most = 10_000): Parameter<string | undefined> => ({
  description,
  schema: { type: "string", maxLength: most },
  read: (given, name) => {
    if (given !== undefined && given.length > most)
      throw badRequest(`${name} has at most ${most} characters.`);
    return given || undefined;
  },
});

/** One of the contract's that nothing looks at yet. */
export const withoutEffect: Parameter<string | undefined> = text("Accepted; it has no effect yet.");

/** Digits, or digits with a whole exponent: 1000 and 1e3. */
const wholeNumber = /^[+-]?\d+(?:e\+?\d{1,2})?$/i;

/** A whole number from `least` (default 0) to `most`. */
export function integer(
  description: string,
  { least = 0, most = Number.MAX_SAFE_INTEGER }: { least?: number; most?: number } = {},
): Parameter<number | undefined> {
  const unbounded = most === Number.MAX_SAFE_INTEGER;
  return {
    description,
    schema: { type: "integer", minimum: least, ...(unbounded ? {} : { maximum: most }) },
    read: (given, name) => {
      if (!given) return undefined;
      const value = wholeNumber.test(given) ? Number(given) : Number.NaN;
      if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
      throw badRequest(
        unbounded
          ? `${name} must be a whole number, at least ${least}.`
          : `${name} must be a whole number from ${least} to ${most}.`,
      );
    },
  };
}

/** 1 or 0, also true or false; absent = false. */
export const flag = (description: string): Parameter<boolean> => ({
  description,
  schema: { enum: [0, 1, true, false], default: 0 },
  read: (given, name) => {
    switch (given?.toLowerCase()) {
      case undefined:
      case "":
      case "0":
      case "false":
        return false;
      case "1":
      case "true":
        return true;
      default:
        throw badRequest(`${name} must be 1 or 0.`);
    }
  },
});

/** One of some words; the first is what counts when none is given. */
export const choice = <const Word extends string>(
  description: string,
  words: readonly [Word, ...Word[]],
): Parameter<Word> => ({
  description,
  schema: { enum: words, default: words[0] },
  read: (given, name) => {
    if (!given) return words[0];
    if ((words as readonly string[]).includes(given)) return given as Word;
    throw badRequest(`${name} is one of ${words.join(", ")}.`);
  },
});

/** A reference system: 4326 (default) or 3857. */
export const srid = (description: string): Parameter<4326 | 3857> => ({
  description,
  schema: { enum: [4326, 3857], default: 4326 },
  read: (given, name) => {
    if (!given || given === "4326") return 4326;
    if (given === "3857") return 3857;
    throw badRequest(`${name} must be 4326 or 3857.`);
  },
});

/**
 * The parts of a list, blank ones too. What is beyond the limit is not even looked at.
 * @throws Failure bad_request when there are more than `most`
 */
export function split(name: string, list: string, { separator, most }: ListForm): string[] {
  const parts = list.split(separator, most + 1);
  if (parts.length > most) throw badRequest(`${name} has at most ${most} members.`);
  return parts;
}

export interface ListForm {
  readonly separator: string;
  readonly most: number;
}

/** An object's id in a path. @throws Failure bad_request */
export function objectId(segment: string | undefined): number {
  const id = segment !== undefined && /^-?\d{1,16}$/.test(segment) ? Number(segment) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw badRequest("The id of an object must be a whole number.");
  return id;
}
