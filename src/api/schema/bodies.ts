import { badRequest } from "../../errors.js";
import type { Request, UploadedFile } from "../../http/types.js";
import { mediaType } from "../caller.js";
import { type FieldDefinitions, isObject, objectSchema, readFields } from "./fields.js";
import { firstOf, type ParameterDefinitions, parametersOf, readParameters } from "./parameters.js";
import { readMembers } from "./read.js";
import type { JsonSchema, Values } from "./schema.js";

/** Bodies of requests: how they are read, and what the API's description says of them. */

/** The media type of forms that may hold files. */
export const multipart = "multipart/form-data";

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
      [multipart]: schema,
      "application/json": schema,
    },
    ...(isOptional ? { optional: true } : {}),
    read: async (request) =>
      readParameters(parameters, firstOf(request.query, parametersOf(await request.body.fields()))),
  };
}

/** The schema of bytes that are no text. */
export const binary: JsonSchema = { type: "string", format: "binary" };

/** What came with a file. Rights may come between receiving it and reading what it says. */
export interface Upload<Out> {
  /** The token that a form may bring. */
  readonly token: string | undefined;
  /** @throws Failure required_parameters; what the parameters throw */
  readonly read: () => Out;
}

export interface UploadDefinition {
  /** What the description says of the file. */
  readonly file: string;
  /** Schemas by media types of bodies that are the file itself; without them it only comes in a form. */
  readonly raw?: Readonly<Record<string, JsonSchema>>;
}

/** A file in the field `file` of a multipart form, with parameters beside it or in the query, which comes first. */
export function upload<D extends ParameterDefinitions>(
  parameters: D,
  { file: description, raw }: UploadDefinition,
): BodyDefinition<Upload<Values<D> & { readonly file: UploadedFile }>> {
  const file = {
    description,
    schema: binary,
    required: true,
    read: (given: UploadedFile | undefined) => given,
  };
  const members = { ...parameters, file };
  return {
    content: { [multipart]: objectSchema(members), ...raw },
    read: async (request) => {
      const received =
        raw && mediaType(request) !== multipart
          ? { file: await request.body.toFile(), fields: {} }
          : await request.body.upload("file");
      const sent = parametersOf(received.fields);
      const given = firstOf(request.query, sent);
      return {
        token: sent.get("token") || undefined,
        read: () =>
          readMembers<never, typeof members>(
            members,
            (name) => (name === "file" ? received.file : given.get(name)) as never,
          ) as Values<D> & { readonly file: UploadedFile },
      };
    },
  };
}
