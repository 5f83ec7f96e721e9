import type { Config } from "../../config.js";
import type { Method } from "../../http/types.js";
import { tileFormats } from "../../tiles/formats.js";
import { answerSchemas } from "./answer-schemas.js";
import { commonParameters } from "./common-parameters.js";
import { loadExamples, type OperationExamples } from "./examples.js";
import { type Answer, type Description, isVersioned, type Operation, tags } from "./operation.js";
import { type JsonSchema, type Members, objectSchema, ref } from "./schema/schema.js";
import { sizes } from "./schema/sizes.js";

/** Generates the OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1) from the operations. */

export type OpenApi = { readonly [key: string]: unknown };

const code = { type: "string" };
const id = { type: "integer" };

/** Path parameters. */
const pathParameters: Readonly<Record<string, { schema: JsonSchema; description: string }>> = {
  project: { schema: code, description: "Code of the project" },
  code: { schema: code, description: "Code of the project" },
  map: { schema: code, description: "Code of the map" },
  layer: { schema: code, description: "Code of the layer" },
  folder: { schema: code, description: "Code of the folder" },
  column: { schema: code, description: "Code of the column" },
  object: { schema: id, description: "Id of the object, as in `svc_id`" },
  id: { schema: id, description: "Id of the key, as the list has it" },
  member: { schema: id, description: "Id of the user, as the list has it; 0 = the public" },
  entry: { schema: id, description: "Id of the entry, as the list has it" },
  job: { schema: code, description: "Id of the import, from the answer to it" },
  path: {
    schema: code,
    description:
      "Path of the file: folders and a name that ends in .png, .svg or .webp, of a font in .ttf or .otf, such as " +
      "`symbols/tree.svg`",
  },
  file: { schema: code, description: "Id or uuid of the file" },
  z: { schema: { type: "integer", minimum: 0, maximum: 22 }, description: "Zoom level" },
  x: { schema: { type: "integer", minimum: 0 }, description: "Tile column, counted from the west" },
  tile: {
    schema: {
      type: "string",
      pattern: tileFormats.map(({ name }) => `^\\d{1,8}(@[123]x)?\\.${name}$`).join("|"),
    },
    description: `${tileFormats
      .map(({ name }) => `\`y.${name}\`, or \`y@2x.${name}\``)
      .join(
        "; ",
      )} for a tile of 512 × 512 pixels; y = tile row, counted from the north, below \`tms/\` from the south`,
  },
};

const introduction = `Maps, layers and their objects: Map Publishing and Data REST API, version 2.8.

**Session tokens** are issued by \`login/\`. Send the token as the query parameter \`token\`, as
\`Authorization: Bearer …\`, as \`X-Token\`, or as the field \`token\` of a form or JSON object; if there are several, the
first in this order is used. A session expires some time after its last use, ten minutes if the installation does not say
otherwise. Programs that ask for something by themselves while nobody uses them send \`X-Unattended: 1\` with it: such requests
are no use. For tiles, icons, images and legends that the public may read, an invalid token is ignored.

**Keys for tiles** are made by \`tile-key/\`, for programs that cannot send a token: as the query parameter \`key\` one stands
for its session in requests for tiles, TileJSON, icons and legends of one map.

**Request bodies** may have up to ${sizes.small.bytes} bytes if the token is in the body, or if the operation states no
other limit. Operations state their limits in \`x-body-limits\`: \`bytes\` (without the file), \`bytesWithoutToken\` (if
neither query nor headers have a token) and \`fileBytes\`. Larger bodies are refused with 413 before they are read. In
multipart forms, the token must come before the file.

**Paths** end in a slash; without it the response is the same. Unknown parameters, fields of
forms and members of JSON bodies are ignored, and \`X-Ignored\` names them; not of tiles.

**Retries** of writes are safe with an \`Idempotency-Key\`: a request with the same key is executed once, and for one day
repeated requests get the stored response. 503 with \`outcome_unknown\` means that the connection to the database was
lost during a write, which may or may not have been saved; repeat the request with the same key to find out.

**Errors** are listed with each operation. 500 and 503 have a JSON body with a \`code\`; the others have a short HTML page,
or problem details (RFC 9457) for clients whose \`Accept\` prefers JSON to HTML.

**Coordinates** of bounding boxes are Lat, Lon; those of GeoJSON are lon, lat.

**Older versions** 2.0 and 2.2 of the API are available below \`/api/2.0/\` and \`/api/2.2/\`, each with the operations of
that version.`;

/** Settings of the installation that the document contains. */
export interface Installation {
  /** Public URL that paths are relative to. */
  readonly server: string;
  readonly config: Pick<Config, "maxBodyBytes" | "maxUploadBytes">;
}

export function openApi(operations: readonly Operation[], { server, config }: Installation): OpenApi {
  const paths: Record<string, Record<string, unknown>> = {};
  const examples = loadExamples();
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)\*?/g, "{$1}");
    paths[path] ??= {};
    for (const method of operation.methods)
      paths[path][method.toLowerCase()] = described(operation, method, { config, examples });
  }
  return {
    openapi: "3.1.1",
    info: { title: "Mapwright", version: "2.8", description: introduction },
    servers: [{ url: server }],
    tags: tags.map((name) => ({ name })),
    paths,
    components: {
      schemas: answerSchemas(),
      responses: { HeadTooLarge: headTooLarge },
      securitySchemes: {
        query: { type: "apiKey", in: "query", name: "token" },
        bearer: { type: "http", scheme: "bearer" },
        header: { type: "apiKey", in: "header", name: "X-Token" },
        tileKey: {
          type: "apiKey",
          in: "query",
          name: "key",
          description: "A key for the tiles of one map, from `tile-key/`; a session token counts before it.",
        },
      },
    },
  };
}

const security = [{ query: [] }, { bearer: [] }, { header: [] }];
const tileKeySecurity = { tileKey: [] };

interface Told {
  readonly config: Installation["config"];
  readonly examples: OperationExamples;
}

function described(operation: Operation, method: Method, { config, examples }: Told): OpenApi {
  const { description, path, methods, body } = operation;
  const operationId = methods.length === 1 ? description.id : `${description.id}_${method.toLowerCase()}`;
  const example = examples[operationId];
  const ofProject = path.includes("/:project/");
  const limits = bodyLimits(operation, config);
  const parameters = [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
      name,
      in: "path",
      required: true,
      ...pathParameters[name],
    })),
    ...(isVersioned(path) ? listed(commonParameters, "query") : []).filter(
      ({ name }) => !Object.hasOwn(operation.query, name),
    ),
    ...listed(operation.query, "query"),
    ...listed(operation.headers, "header"),
  ];
  return {
    operationId,
    tags: [description.tag],
    summary: description.summary,
    ...(description.details ? { description: description.details } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? {
          requestBody: {
            required: !body.optional,
            description: limitText(limits),
            content: content(body.content, asForms(example?.request)),
          },
        }
      : {}),
    ...(method === "GET" ? {} : { "x-body-limits": limits }),
    ...(ofProject ? { security: securityOf(description) } : {}),
    responses: responses(operation, method, { ofProject, answer: example?.answer }),
  };
}

const securityOf = ({ access, takesTileKey }: Description) =>
  access === "token" ? security : [{}, ...security, ...(takesTileKey ? [tileKeySecurity] : [])];

/** Size limits of a request body (`x-body-limits`). */
interface DescribedLimits {
  /** Without the file. */
  readonly bytes: number;
  /** The same if neither query nor headers have a token. */
  readonly bytesWithoutToken?: number;
  readonly fileBytes?: number;
}

function bodyLimits({ takes, body }: Operation, config: Installation["config"]): DescribedLimits {
  const bytes = Math.min(takes.bytes ?? config.maxBodyBytes, config.maxBodyBytes);
  const early = takes.earlyBytes ?? bytes;
  return {
    bytes,
    ...(early < bytes ? { bytesWithoutToken: early } : {}),
    ...(body?.hasFile
      ? { fileBytes: Math.min(takes.fileBytes ?? config.maxUploadBytes, config.maxUploadBytes) }
      : {}),
  };
}

const limitText = ({ bytes, bytesWithoutToken, fileBytes }: DescribedLimits): string =>
  `At most ${bytes} bytes` +
  (fileBytes === undefined ? "" : `, and a file of at most ${fileBytes}`) +
  (bytesWithoutToken === undefined
    ? "."
    : `; ${bytesWithoutToken} if neither query nor headers have a token.`);

function listed(members: Members, place: "query" | "header") {
  const { properties, required = [] } = objectSchema(members);
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    description,
    ...(required.includes(name) ? { required: true } : {}),
    schema,
  }));
}

/** @param examples by media type */
const content = (
  schemas: Readonly<Record<string, JsonSchema>>,
  examples: Readonly<Record<string, unknown>> = {},
) =>
  Object.fromEntries(
    Object.entries(schemas).map(([type, schema]) => [
      type,
      { schema, ...(Object.hasOwn(examples, type) && { example: examples[type] }) },
    ]),
  );

/** Forms have the members of a JSON object as fields. */
function asForms(examples: Readonly<Record<string, unknown>> | undefined) {
  const json = examples?.["application/json"];
  return json === undefined
    ? examples
    : { "application/x-www-form-urlencoded": json, "multipart/form-data": json, ...examples };
}

function answered({ description, content: schemas, headers = {} }: Answer, example?: unknown): OpenApi {
  return {
    description,
    ...(Object.keys(headers).length > 0
      ? {
          headers: Object.fromEntries(
            Object.entries(headers).map(([name, text]) => [
              name,
              { description: text, schema: { type: "string" } },
            ]),
          ),
        }
      : {}),
    ...(Object.keys(schemas).length > 0
      ? { content: content(schemas, example === undefined ? {} : { "application/json": example }) }
      : {}),
  };
}

const reasons = {
  304: "Not modified: the ETag in If-None-Match is still current.",
  400: "The request is malformed: invalid JSON, text instead of a number, invalid encoding.",
  401: "A token is required but missing, unknown or expired.",
  403: "The caller does not have the necessary rights.",
  404: "The project has no such map, layer, folder, column, object or file.",
  409: "What others have made since stands in the way.",
  412: "What the request was meant for has changed: its ETag is not in If-Match.",
  413: "The request body is larger than the limit of the operation.",
  429: "The client has sent more requests in a minute than the installation allows. Retry after Retry-After seconds.",
  415: "The request body has a Content-Encoding, which is not supported.",
} as const;

/** By the HTTP library, whatever was asked for. */
const headTooLarge: OpenApi = {
  description: "The address and the header fields of the request are larger than 4 kB together, or too many.",
  content: { "text/html": { schema: { type: "string" } } },
};

const clientError = (reason: string): OpenApi => ({
  description: reason,
  content: {
    "text/html": { schema: { type: "string" } },
    "application/problem+json": { schema: ref("Problem") },
  },
});

const serverError = (reason: string, codes: readonly string[]): OpenApi => ({
  description: reason,
  content: {
    "application/json": {
      schema: { allOf: [ref("Error"), { properties: { code: { enum: [...new Set(codes)] } } }] },
    },
  },
});

/** Whether a parameter, header or field is required. */
const hasRequired = ({ query, headers, body }: Operation): boolean =>
  [objectSchema(query), objectSchema(headers), ...Object.values(body?.content ?? {})].some(
    ({ required, items }) => required ?? (items as JsonSchema)?.required,
  );

/** An answer with the header that names what was ignored. */
const naming = (answer: Answer, { body, description }: Operation): Answer =>
  description.tag !== "Tiles" || body?.known
    ? { ...answer, headers: { ...answer.headers, "X-Ignored": ignoredDescription } }
    : answer;

/** An answer with the header that tells of the CDN. */
const told = (answer: Answer, { writes }: Operation): Answer =>
  writes ? { ...answer, headers: { ...answer.headers, "X-Edge": edgeDescription } } : answer;

const edgeDescription =
  "Where Varnish or a hook is in front: `purged` when it has dropped what this request made old, `pending` when it will in a moment.";

const ignoredDescription =
  "Parameters of the query, fields of a form and members of a JSON body that the operation does not know, if there are any: members by their " +
  "paths, as `source.fliter`, separated by commas. Names are percent-encoded, and cut with `...`.";

function responses(
  operation: Operation,
  method: Method,
  { ofProject, answer }: { readonly ofProject: boolean; readonly answer: unknown },
): Record<string, OpenApi> {
  const { description, path } = operation;
  const refuses = description.refuses ?? [];
  const found: Record<string, OpenApi> = {
    200: answered(told(naming(description.answer, operation), operation), answer),
    ...(description.accepted ? { 202: answered(description.accepted) } : {}),
    400: clientError(reasons[400]),
  };
  if (method === "GET" && description.answer.headers?.ETag !== undefined)
    found[304] = { description: reasons[304] };
  const isBelowMap = path.includes("/:map");
  const statuses = [
    ...(ofProject ? ([401, 403] as const) : []),
    ...(isBelowMap ? ([404] as const) : []),
    ...(method === "GET" ? [] : ([413, 415] as const)),
    ...(operation.counts === undefined ? [] : ([429] as const)),
    ...refuses.filter((one) => typeof one === "number"),
  ];
  for (const status of statuses) found[status] = clientError(reasons[status]);
  found[431] = { $ref: "#/components/responses/HeadTooLarge" };
  const codes = [
    ...(ofProject ? ["project_not_found"] : []),
    ...(isVersioned(path) ? ["invalid_format"] : []),
    ...(hasRequired(operation) ? ["required_parameters"] : []),
    ...(operation.writes ? ["invalid_value"] : []),
    ...refuses.filter((one) => typeof one === "string" && one !== "busy"),
    "internal",
  ];
  found[500] = serverError("The request failed; `code` gives the reason.", codes);
  found[503] = description.unavailable
    ? answered(description.unavailable)
    : serverError(
        operation.writes
          ? "The server is overloaded, or it is unknown whether the write was saved. Retry after Retry-After seconds."
          : "The server is overloaded. Retry after Retry-After seconds.",
        operation.writes ? ["busy", "outcome_unknown"] : ["busy"],
      );
  return found;
}
