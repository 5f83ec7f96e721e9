/**
 * What a request may hold, told once: the definitions that read and check the parts of a request carry the JSON Schema
 * (2020-12) that the API's description shows of them.
 */

export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * A named member of a request: a parameter of the query, a header, or a field of a body.
 * `In` is what came under its name, undefined when nothing did; `Out` is what the handler works with.
 */
export interface Member<In, Out> {
  /** @throws Failure by the contract for a value that cannot be read */
  readonly read: (given: In | undefined, name: string) => Out;
  readonly schema: JsonSchema;
  readonly description: string;
  /** Absent or null, it is named in `required_parameters` and not read. */
  readonly required?: boolean;
  /** It has to be there as well, but it is `read` that refuses its absence, in another way. */
  readonly refusesAbsence?: boolean;
  /** Other names that clients use for it; its own comes first. */
  readonly aliases?: readonly string[];
}

export type Members<In> = Readonly<Record<string, Member<In, unknown>>>;

/** The values that members give. */
export type Values<M> = {
  readonly [Name in keyof M]: M[Name] extends Member<never, infer Out> ? Out : never;
};

/** Another description for the place where a member stands. */
export const described = <M extends Member<never, unknown>>(member: M, description: string): M => ({
  ...member,
  description,
});

/** The definition of `components.schemas` of that name. */
export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
