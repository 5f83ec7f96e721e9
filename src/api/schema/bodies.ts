import { badRequest } from "../../errors.js";
import type { Request } from "../../http/types.js";
import { type FieldDefinitions, isObject, objectSchema, readFields } from "./fields.js";
import { firstOf, type ParameterDefinitions, parametersOf, readParameters } from "./parameters.js";
import type { JsonSchema, Values } from "./schema.js";

/** Bodies of requests: how they are read, and what the API's description says of them. */

export interface BodyDefinition<Out> {
  /** @throws Failure bad_request, required_parameters, too_large; what its fields throw */
  readonly read: (request: Request) => Promise<Out>;
  /** Schemas by media type. */
  readonly content: Readonly<Record<string, JsonSchema>>;
  readonly optional?: boolean;
  readonly description?: string;
}

/** A JSON object with these fields. */
export const jsonObject = <D extends FieldDefinitions>(fields: D): BodyDefinition<Values<D>> => ({
  content: { "application/json": objectSchema(fields) },
  read: async (request) => {
    const value = await request.body.json();
    if (!isObject(value)) throw badRequest("The body must be a JSON object.");
    return readFields(fields, value);
  },
});

/** JSON of any form; `read` turns what was parsed into what the handler works with. */
export const jsonValue = <Out>(schema: JsonSchema, read: (value: unknown) => Out): BodyDefinition<Out> => ({
  content: { "application/json": schema },
  read: async (request) => read(await request.body.json()),
});

/** Parameters that may come in a urlencoded or multipart form, a JSON object, or the query, which comes first. */
export function form<D extends ParameterDefinitions>(parameters: D): BodyDefinition<Values<D>> {
  const schema = objectSchema(parameters);
  const isOptional = !Object.values(parameters).some(({ required }) => required);
  return {
    content: {
      "application/x-www-form-urlencoded": schema,
      "multipart/form-data": schema,
      "application/json": schema,
    },
    ...(isOptional ? { optional: true } : {}),
    read: async (request) =>
      readParameters(parameters, firstOf(request.query, parametersOf(await request.body.fields()))),
  };
}
