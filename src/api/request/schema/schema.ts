import { z } from "zod";
import { Failure } from "../../../errors.js";
import { onceForEach } from "../../../once.js";

/**
 * Schemas of requests. The zod schemas validate and convert members, and the JSON Schema (2020-12) of the OpenAPI
 * document is generated from them. `Rules` add error codes and aliases.
 *
 * A schema describes what clients should send. Other accepted input (a number as a string, 1 for true) is converted by
 * `z.preprocess`, which does not appear in the JSON Schema.
 */

export type JsonSchema = { readonly [keyword: string]: unknown };

/** Named members of a request: parameters of the query, headers, or fields of a body. */
export type Members = Readonly<Record<string, z.ZodType>>;

/** The parsed values of members. */
export type Values<M> = M extends Members ? Readonly<z.output<z.ZodObject<M>>> : unknown;

/** Makes the error for an invalid value; `what` completes the sentence that begins with the name. */
export type Refuse = (name: string, what: string) => Failure;

/** Rules of a member beyond its schema. */
export interface Rules {
  /** Default: a bad request. */
  readonly refuse?: Refuse;
  /** Makes the error when it is missing; default: one error with all missing members. */
  readonly absent?: () => Failure;
  /** Values that count as absent; default: null and the empty string. */
  readonly blanks?: readonly unknown[];
  /** Alternative names; the own name takes precedence. */
  readonly aliases?: readonly string[];
}

const registry = z.registry<Rules>();

/** A copy of the schema with these rules. */
export function ruled<S extends z.ZodType>(schema: S, rules: Rules): S {
  const copy = schema.clone();
  registry.add(copy, rules);
  return copy;
}

/** The rules of a schema and of its inner schema. */
export function rulesOf(schema: z.ZodType): Rules {
  const { innerType, in: input } = schema.def as { innerType?: z.ZodType; in?: z.ZodType };
  const wrapped = innerType ?? input;
  return { ...(wrapped && rulesOf(wrapped)), ...registry.get(schema) };
}

/** Alternative names of members. */
export const aliasesOf = (members: Members): readonly string[] =>
  Object.values(members).flatMap((member) => rulesOf(member).aliases ?? []);

/** Parameters of a check (`refine`) that has an error of its own. */
export const failing = (failure: () => Failure) => ({ params: { failure } });

/** The failure of a check with `failing`, or of `readBy`. */
export const failureOf = (issue: z.core.$ZodIssue): Failure | undefined =>
  issue.code === "custom" ? (issue.params?.failure as (() => Failure) | undefined)?.() : undefined;

/** A value converted by a function. @param read throws a Failure for invalid values */
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

const inputSchemas: z.core.ToJSONSchemaParams = {
  io: "input",
  unrepresentable: "any",
  override: ({ zodSchema, jsonSchema: made }) => {
    // zod omits defaults and examples of converted values. Ours are as clients send them.
    if (zodSchema instanceof z.ZodDefault) made.default = zodSchema.def.defaultValue;
    const { examples } = z.globalRegistry.get(zodSchema) ?? {};
    if (examples) made.examples = examples as unknown[];
    // The limits of safe integers are no information.
    if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
    if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
  },
};

/** The JSON Schema of the input. */
export function jsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, inputSchemas);
  return json;
}

/** JSON Schemas of named objects, which refer to each other with `$ref`. */
export function namedSchemas(schemas: Members): Readonly<Record<string, JsonSchema>> {
  const names = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) names.add(schema, { id });
  const made = z.toJSONSchema(names, { ...inputSchemas, uri: pathOf }).schemas;
  return Object.fromEntries(
    Object.entries(made).map(([name, { $schema: _, $id: __, ...json }]) => [name, json]),
  );
}

export interface ObjectSchema extends JsonSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/**
 * The schema of an object with these members; additional ones are allowed and ignored. Kept, because generating those of all
 * operations takes some 40 ms.
 */
export const objectSchema = onceForEach((members: Members) => jsonSchema(z.object(members)) as ObjectSchema);

const pathOf = (name: string): string => `#/components/schemas/${name}`;

/** A `$ref` to the schema of that name in `components.schemas`. */
export const ref = (name: string): JsonSchema => ({ $ref: pathOf(name) });
