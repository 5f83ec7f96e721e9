import { z } from "zod";
import { Failure } from "../../../errors.js";

/**
 * What a request may hold, told once: zod's schemas read and check its members, and the JSON Schema (2020-12) that the
 * API's description shows is made of them. The contract's codes are told by `Rules`.
 *
 * A schema describes what clients should send. What else they do send (a number as text, 1 for true) is made into that
 * by `z.preprocess`, which JSON Schema does not show.
 */

export type JsonSchema = { readonly [keyword: string]: unknown };

/** Named members of a request: parameters of the query, headers, or fields of a body. */
export type Members = Readonly<Record<string, z.ZodType>>;

/** The values that members give. */
export type Values<M> = M extends Members ? Readonly<z.output<z.ZodObject<M>>> : unknown;

/** How a value that cannot be read is refused; `what` it should be. */
export type Refuse = (name: string, what: string) => Failure;

/** What the contract says of a member beyond its schema. */
export interface Rules {
  /** Default: a bad request. */
  readonly refuse?: Refuse;
  /** How its absence is refused; default: by one error that names all missing members. */
  readonly absent?: () => Failure;
  /** Values that count as absent; default: null and the empty text. */
  readonly blanks?: readonly unknown[];
  /** Other names that clients use for it; its own comes first. */
  readonly aliases?: readonly string[];
}

const registry = z.registry<Rules>();

/** The same schema under these rules too. */
export function ruled<S extends z.ZodType>(schema: S, rules: Rules): S {
  const copy = schema.clone();
  registry.add(copy, rules);
  return copy;
}

/** The rules of a schema and of the one that it wraps. */
export function rulesOf(schema: z.ZodType): Rules {
  const { innerType, in: input } = schema.def as { innerType?: z.ZodType; in?: z.ZodType };
  const wrapped = innerType ?? input;
  return { ...(wrapped && rulesOf(wrapped)), ...registry.get(schema) };
}

/** For checks (`refine`) that refuse a value in another way than the member's other checks. */
export const failing = (failure: () => Failure) => ({ params: { failure } });

/** The failure that a check or `readBy` refused a value with. */
export const failureOf = (issue: z.core.$ZodIssue): Failure | undefined =>
  issue.code === "custom" ? (issue.params?.failure as (() => Failure) | undefined)?.() : undefined;

/** A value that a function reads. @param read refuses it by a Failure */
export const readBy = <In, Out>(schema: z.ZodType<In>, read: (given: In) => Out) =>
  schema.transform((given, context) => {
    try {
      return read(given);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      context.addIssue({ code: "custom", ...failing(() => error) });
      return z.NEVER;
    }
  });

const asSent: z.core.ToJSONSchemaParams = {
  io: "input",
  unrepresentable: "any",
  override: ({ zodSchema, jsonSchema: made }) => {
    // zod leaves these out where values are converted. Ours are as clients send them.
    if (zodSchema instanceof z.ZodDefault) made.default = zodSchema.def.defaultValue;
    const { examples } = z.globalRegistry.get(zodSchema) ?? {};
    if (examples) made.examples = examples as unknown[];
    // Every whole number is within these.
    if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
    if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
  },
};

/** The JSON Schema of what is sent. */
export function jsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, asSent);
  return json;
}

/** The JSON Schemas of objects with names, which refer to each other as `ref` does. */
export function namedSchemas(schemas: Members): Readonly<Record<string, JsonSchema>> {
  const names = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) names.add(schema, { id });
  const made = z.toJSONSchema(names, { ...asSent, uri: pathOf }).schemas;
  return Object.fromEntries(
    Object.entries(made).map(([name, { $schema: _, $id: __, ...json }]) => [name, json]),
  );
}

export interface ObjectSchema extends JsonSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** Made once of each: those of all operations take some 40 ms. */
const objectSchemas = new WeakMap<Members, ObjectSchema>();

/** The schema of an object with these members; others may be there and are not looked at. */
export function objectSchema(members: Members): ObjectSchema {
  const known = objectSchemas.get(members);
  if (known) return known;
  const made = jsonSchema(z.object(members)) as ObjectSchema;
  objectSchemas.set(members, made);
  return made;
}

const pathOf = (name: string): string => `#/components/schemas/${name}`;

/** The definition of `components.schemas` of that name. */
export const ref = (name: string): JsonSchema => ({ $ref: pathOf(name) });
