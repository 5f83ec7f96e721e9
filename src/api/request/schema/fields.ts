import { checkText, codePattern, isStorable } from "../../../catalog/codes.js";
import { badRequest, type Failure, failed, notFound } from "../../../errors.js";
import { readMembers } from "./read.js";
import type { JsonSchema, Member, Members, Values } from "./schema.js";

/** Fields of JSON bodies: values of any kind that become typed ones once, at the edge. */

/** A field of a JSON object. null counts as absent where nothing else is said. */
export type Field<Out> = Member<unknown, Out>;
export type FieldDefinitions = Members<unknown>;

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A field of its own, null counting as absent. */
export function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined;
}

/** @throws Failure required_parameters; what the fields throw */
export const readFields = <D extends FieldDefinitions>(definitions: D, object: JsonObject): Values<D> =>
  readMembers<unknown, D>(definitions, (name) => (Object.hasOwn(object, name) ? object[name] : undefined));

/** The schema of an object with these fields; others may be there and are not looked at. */
export function objectSchema(definitions: Members<never>): JsonSchema {
  const required = Object.keys(definitions).filter(
    (name) => definitions[name]!.required || definitions[name]!.refusesAbsence,
  );
  return {
    type: "object",
    properties: Object.fromEntries(
      Object.entries(definitions).map(([name, { schema, description }]) => [
        name,
        { description, ...schema },
      ]),
    ),
    ...(required.length > 0 ? { required } : {}),
  };
}

/** A field that must be there. */
export const needed = <Out>(field: Field<Out>): Field<Exclude<Out, undefined>> =>
  ({ ...field, required: true }) as Field<Exclude<Out, undefined>>;

/** How a value that cannot be read is refused; `what` it should be. */
export type Refuse = (name: string, what: string) => Failure;

const unreadable: Refuse = (name, what) => badRequest(`${name} ${what}.`);
export const invalid: Refuse = (name, what) =>
  failed("invalid_value", `${name} ${what}.`, { parameter: name });

/** A text that can be stored. Else invalid_value. */
export const text = (description: string): Field<string | undefined> => ({
  description,
  schema: { type: "string", maxLength: 10_000 },
  read: (given, name) => {
    if (given === undefined || given === null) return undefined;
    if (typeof given !== "string") throw invalid(name, "must be a string");
    return checkText(given, name);
  },
});

/** The code of a map, folder or layer, which is yet to be checked. Else invalid_value. */
export const code = (description: string): Field<string | undefined> => ({
  ...text(description),
  schema: { type: "string", pattern: codePattern.source },
});

/** A finite number, or one written as text. Else a bad request, or what `refuse` makes. */
export const number = (description: string, refuse = unreadable): Field<number | undefined> => ({
  description,
  schema: { type: "number" },
  read: (given, name) => {
    if (given === undefined || given === null || given === "") return undefined;
    const value = typeof given === "string" ? Number(given) : given;
    if (typeof value !== "number" || !Number.isFinite(value)) throw refuse(name, "must be a number");
    return value;
  },
});

/** A whole number that must be there, or one written as text. Else a bad request, or what `refuse` makes. */
export function integer(description: string, refuse = unreadable): Field<number> {
  const { read } = number(description, refuse);
  return {
    description,
    schema: { type: "integer" },
    required: true,
    read: (given, name) => {
      const value = read(given, name);
      if (!Number.isSafeInteger(value)) throw refuse(name, "must be a whole number");
      return value as number;
    },
  };
}

/** true, false, 1, 0 and their texts. Else a bad request, or what `refuse` makes. */
export const flag = <Otherwise extends boolean | undefined = undefined>(
  description: string,
  otherwise?: Otherwise,
  refuse = unreadable,
): Field<boolean | Otherwise> => ({
  description,
  schema: { type: "boolean", ...(otherwise === undefined ? {} : { default: otherwise }) },
  read: (given, name) => {
    if (given === undefined || given === null) return otherwise as Otherwise;
    if (given === true || given === 1 || given === "1" || given === "true") return true;
    if (given === false || given === 0 || given === "0" || given === "false") return false;
    throw refuse(name, "is 1 or 0");
  },
});

/** The id of a parent in the tree of layers: a number, or one written as text. What is none names no parent: not found. */
export const parent = (description: string): Field<number | undefined> => ({
  description,
  schema: { type: "integer" },
  read: (given) => {
    if (given === undefined || given === null || given === "") return undefined;
    const id = typeof given === "string" ? Number(given) : given;
    if (typeof id !== "number" || !Number.isSafeInteger(id)) throw notFound("parent of that id");
    return id;
  },
});

/** As `parent`, for elements that are changed. Without it, there is no such parent either. */
export function neededParent(description: string): Field<number> {
  const { read, schema } = parent(description);
  return {
    description,
    schema,
    refusesAbsence: true,
    read: (given, name) => {
      const id = read(given, name);
      if (id === undefined) throw notFound(`parent: ${name} is required`);
      return id;
    },
  };
}

/** Longest style that is looked at, in UTF-16 units. */
const maxStyleLength = 1_000_000;

/** A style that is yet to be compiled; undefined when it is absent, "" when it is blank. Else invalid_value, invalid_style. */
export const style = (description: string): Field<string | undefined> => ({
  description,
  schema: { type: "string", contentMediaType: "text/css", maxLength: maxStyleLength },
  read: (given, name) => {
    if (given === undefined || given === null) return undefined;
    if (typeof given !== "string") throw invalid(name, "must be a string");
    if (given.length > maxStyleLength || !isStorable(given)) {
      throw failed("invalid_style", "The style is too long or holds characters that no style has.");
    }
    return given.trim() === "" ? "" : given;
  },
});

/** Values of any kind, which the handler looks at. */
export const anything = <Out = unknown>(description: string, schema: JsonSchema): Field<Out> => ({
  description,
  schema,
  read: (given) => given as Out,
});
