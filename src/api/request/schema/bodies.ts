import { badRequest, failed } from "../../../errors.js";
import type { BodyLimits, Request, UploadedFile } from "../../../http/types.js";
import type { IgnoredMembers, Known } from "../../../ignored-members.js";
import { onceAsked } from "../../../once.js";
import type { Pause } from "../../../queues/slices.js";
import { mediaType, multipart } from "../media-type.js";
import { anything, fieldsOf, isObject } from "./fields.js";
import { knownBy } from "./known.js";
import { firstOf, parametersOf } from "./parameters.js";
import { reader } from "./read.js";
import { aliasesOf, type JsonSchema, type Members, objectSchema, type Values } from "./schema.js";
import { sizes } from "./sizes.js";

/**
 * Request bodies: parsing and validation, and their schemas for the OpenAPI document. The schemas are made at their first use:
 * making those of all operations takes a tenth of a second, for which each start of a process would wait.
 */

export interface BodyDefinition<Out> {
  /**
   * @param pause for long lists: others have their turn
   * @param ignored learns what is not known of forms
   * @throws Failure bad_request, required_parameters, too_large; what its fields throw
   */
  readonly read: (request: Request, pause: Pause, ignored: IgnoredMembers) => Promise<Out>;
  /** Schemas by media type. */
  readonly content: Readonly<Record<string, JsonSchema>>;
  /** What is known of the members of JSON; undefined = anything, or no JSON is taken. */
  readonly known?: Known | undefined;
  /** Parameters that may be in the query, too. */
  readonly inQuery?: Members;
  /** Size limits, without the file. */
  readonly limits: BodyLimits;
  /** Whether it contains a file. */
  readonly hasFile?: boolean;
  readonly optional?: boolean;
}

/** Also by their aliases, and the token that any JSON object may have. */
function knownFields(fields: Members): Known {
  const names = aliasesOf(fields);
  const known = knownBy(objectSchema(fields))?.members ?? [];
  return { members: new Map([...known, ...["token", ...names].map((name) => [name, {}] as const)]) };
}

/** A JSON object with these fields. */
export function jsonObject<M extends Members>(fields: M, limits: BodyLimits): BodyDefinition<Values<M>> {
  const read = reader(fields);
  const known = onceAsked(() => knownFields(fields));
  return {
    limits,
    get content() {
      return { "application/json": objectSchema(fields) };
    },
    get known() {
      return known();
    },
    read: async (request) => {
      const value = await request.body.json();
      if (!isObject(value)) throw badRequest("The body must be a JSON object.");
      return read(fieldsOf(value));
    },
  };
}

interface ArrayForm {
  /** Singular and plural noun for error messages. */
  readonly item: string;
  readonly items: string;
  /** Maximum number of items; undefined = limited by the body size only. */
  readonly most?: number;
  readonly limits: BodyLimits;
}

/** A JSON array of objects with these fields. Validation stops at the first invalid one. */
export function jsonArray<M extends Members>(
  fields: M,
  { item, items, most = Number.POSITIVE_INFINITY, limits }: ArrayForm,
): BodyDefinition<Values<M>[]> {
  const read = reader(fields);
  const known = onceAsked(() => ({ items: knownFields(fields) }));
  return {
    limits,
    get content() {
      const items = objectSchema(fields);
      const bounds = Number.isFinite(most) ? { maxItems: most } : {};
      return { "application/json": { type: "array", ...bounds, items } };
    },
    get known() {
      return known();
    },
    read: async (request, pause) => {
      const list = await request.body.json();
      if (!Array.isArray(list)) throw badRequest(`The body must be an array of ${items}.`);
      if (list.length > most) throw failed("invalid_value", `There are at most ${most} ${items}.`);
      const values: Values<M>[] = [];
      for (const value of list) {
        if (!isObject(value)) throw badRequest(`Each ${item} must be a JSON object.`);
        values.push(read(fieldsOf(value)));
        await pause();
      }
      return values;
    },
  };
}

const withToken = (known: Known | undefined): Known | undefined =>
  known?.members ? { ...known, members: new Map([...known.members, ["token", {}]]) } : known;

/** Any JSON value; `read` converts the parsed value for the handler. */
export const jsonValue = <Out>(
  schema: JsonSchema,
  read: (value: unknown) => Out,
  limits: BodyLimits,
): BodyDefinition<Out> => ({
  limits,
  content: { "application/json": schema },
  known: withToken(knownBy(schema)),
  read: async (request) => read(await request.body.json()),
});

/** Parameters in a urlencoded or multipart form, a JSON object, or the query, which takes precedence. */
export function form<M extends Members>(parameters: M, limits: BodyLimits): BodyDefinition<Values<M>> {
  const read = reader(parameters);
  const known = onceAsked(() => knownFields(parameters));
  return {
    limits,
    get content() {
      const schema = objectSchema(parameters);
      return {
        "application/x-www-form-urlencoded": schema,
        [multipart]: schema,
        "application/json": schema,
      };
    },
    get known() {
      return known();
    },
    inQuery: parameters,
    get optional() {
      return objectSchema(parameters).required === undefined;
    },
    read: async (request, _, ignored) => {
      const fields = await request.body.fields();
      if (!request.body.isJson) ignored.look(fields, known());
      return read(firstOf(request.query, parametersOf(fields)));
    },
  };
}

/** Schema of binary data. */
export const binary: JsonSchema = { type: "string", format: "binary" };

/** An upload that is not yet received. Rights can be checked before the file and its parameters are read. */
export interface Upload<Out> {
  /**
   * @param admit called when the file begins, with the token from the form fields before it; returns whether to store
   *   the file. If it throws, reading stops
   * @throws Failure bad_request, too_large
   */
  readonly receive: (admit: (token: string | undefined) => Promise<boolean>) => Promise<Received<Out>>;
}

export interface Received<Out> {
  /** The token of the form, at any position. */
  readonly token: string | undefined;
  /** Whether there was a file that was not admitted. */
  readonly fileRefused: boolean;
  /** @throws Failure required_parameters; what the parameters throw */
  readonly read: () => Out;
}

export interface UploadDefinition {
  /** Description of the file in the OpenAPI document. */
  readonly file: string;
  /** Schemas by media type, for bodies that are the file itself; without them, only forms are accepted. */
  readonly raw?: Readonly<Record<string, JsonSchema>>;
  /** How many files a form may have in the field; absent = the first is used. */
  readonly most?: number;
  /** Bytes of the files; absent = `maxUploadBytes`. */
  readonly bytes?: number;
}

/** What the parameters of an upload are read into; `file` is the first of the files. */
export type Sent<M extends Members> = Values<M> & {
  readonly file: UploadedFile;
  readonly files: readonly UploadedFile[];
};

/** Files in the field `file` of a multipart form, with parameters in the form or the query, which takes precedence. */
export function upload<M extends Members>(
  parameters: M,
  { file: description, raw, most, bytes }: UploadDefinition,
): BodyDefinition<Upload<Sent<M>>> {
  const members = { ...parameters, file: anything<UploadedFile>(description, binary) };
  const read = reader(members);
  const known = onceAsked(() => knownFields(parameters));
  const receive = async (
    request: Request,
    ignored: IgnoredMembers,
    admit: (token: string | undefined) => Promise<boolean>,
  ): Promise<Received<Sent<M>>> => {
    const form =
      raw && mediaType(request) !== multipart
        ? { files: [await request.body.toFile()], fields: {}, fileRefused: false }
        : await request.body.upload("file", (fields) => admit(tokenAmong(fields)));
    ignored.look(form.fields, known());
    const given = firstOf(request.query, parametersOf(form.fields));
    const { files } = form;
    return {
      token: tokenAmong(form.fields),
      fileRefused: form.fileRefused,
      read: () =>
        ({ ...read({ get: (name) => (name === "file" ? files[0] : given.get(name)) }), files }) as Sent<M>,
    };
  };
  return {
    limits: {
      ...sizes.small,
      ...(most === undefined ? {} : { files: most }),
      ...(bytes === undefined ? {} : { fileBytes: bytes }),
    },
    hasFile: true,
    inQuery: parameters,
    get content() {
      return { [multipart]: objectSchema(members), ...raw };
    },
    read: async (request, _, ignored) => ({ receive: (admit) => receive(request, ignored, admit) }),
  };
}

const tokenAmong = (fields: Readonly<Record<string, unknown>>): string | undefined =>
  parametersOf(fields).get("token") || undefined;
