import type { Config } from "../../config.js";
import type { Method } from "../../http/types.js";
import { tileFormats } from "../../tiles/formats.js";
import { answerSchemas } from "./answer-schemas.js";
import { commonParameters } from "./common-parameters.js";
import { type Answer, isVersioned, type Operation, tags } from "./operation.js";
import { type JsonSchema, type Members, objectSchema, ref } from "./schema/schema.js";
import { sizes } from "./schema/sizes.js";

/** The description of the API by OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1), made from its operations. */

export type OpenApi = { readonly [key: string]: unknown };

const code = { type: "string" };
const id = { type: "integer" };

/** Variable segments of paths. */
const pathParameters: Readonly<Record<string, { schema: JsonSchema; description: string }>> = {
  project: { schema: code, description: "Code of the project" },
  map: { schema: code, description: "Code of the map" },
  layer: { schema: code, description: "Code of the layer" },
  folder: { schema: code, description: "Code of the folder" },
  column: { schema: code, description: "Code of the column" },
  object: { schema: id, description: "Id of the object, the value of svc_id" },
  file: { schema: code, description: "Id or uuid of the file" },
  z: { schema: { type: "integer", minimum: 0, maximum: 22 }, description: "Zoom" },
  x: { schema: { type: "integer", minimum: 0 }, description: "Column of the tile, from the west" },
  tile: {
    schema: {
      type: "string",
      pattern: tileFormats.map(({ name }) => `^\\d{1,8}(@[123]x)?\\.${name}$`).join("|"),
    },
    description: `${tileFormats
      .map(({ name }) => `\`y.${name}\`, or \`y@2x.${name}\``)
      .join("; ")} for a tile of 512 × 512 pixels; y = row of the tile, from the north`,
  },
};

const introduction = `Maps, layers and their objects, by the Map Publishing and Data REST API 2.8.

**Session tokens** come from \`login/\` and travel as the parameter \`token\` of the query, as \`Authorization: Bearer …\`,
as \`X-Token\`, or as \`token\` in a form or a JSON object; the first of these counts. Ten minutes after its last use a
session ends. Tiles, icons, images and legends that the public may see are answered whatever the token is.

**Bodies** that bring the token themselves, and those of operations that say nothing else, may have
${sizes.small.bytes} bytes. What a larger one may have is said with its operation (\`x-body-limits\`: \`bytes\`, without its
file; \`bytesWithoutToken\`, while neither query nor headers have a token; \`fileBytes\`); more is refused with 413,
unread. In a form the token has to stand before the file.

**Paths** end in a slash; without it they answer the same. Unknown parameters are ignored.

**Writes** that a client may have to send again carry an \`Idempotency-Key\`: the same request under the same key is
done once, and answered alike for a day. 503 with \`outcome_unknown\` means that the connection to the database was lost
while it was written; with the key the same request finds out.

**Failures** have the statuses of each operation. 500 and 503 carry JSON with a \`code\`, the others a short page, or a
problem (RFC 9457) for clients that accept \`application/problem+json\`.

Boxes are Lat, Lon; GeoJSON is lon, lat. The versions 2.0 and 2.2 of the API are served below \`/api/2.0/\` and
\`/api/2.2/\` with the operations that they had.`;

/** What the description says of an installation. */
export interface Installation {
  /** Public address that paths are relative to. */
  readonly server: string;
  readonly config: Pick<Config, "maxBodyBytes" | "maxUploadBytes">;
}

export function openApi(operations: readonly Operation[], { server, config }: Installation): OpenApi {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    for (const method of operation.methods)
      paths[path][method.toLowerCase()] = described(operation, method, config);
  }
  return {
    openapi: "3.1.1",
    info: { title: "Mapwright", version: "2.8", description: introduction },
    servers: [{ url: server }],
    tags: tags.map((name) => ({ name })),
    paths,
    components: {
      schemas: answerSchemas,
      securitySchemes: {
        query: { type: "apiKey", in: "query", name: "token" },
        bearer: { type: "http", scheme: "bearer" },
        header: { type: "apiKey", in: "header", name: "X-Token" },
      },
    },
  };
}

const security = [{ query: [] }, { bearer: [] }, { header: [] }];

function described(operation: Operation, method: Method, config: Installation["config"]): OpenApi {
  const { description, path, methods, body } = operation;
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
    operationId: methods.length === 1 ? description.id : `${description.id}_${method.toLowerCase()}`,
    tags: [description.tag],
    summary: description.summary,
    ...(description.details ? { description: description.details } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? {
          requestBody: {
            required: !body.optional,
            description: limitText(limits),
            content: content(body.content),
          },
        }
      : {}),
    ...(method === "GET" ? {} : { "x-body-limits": limits }),
    ...(ofProject ? { security: description.access === "token" ? security : [{}, ...security] } : {}),
    responses: responses(operation, method, ofProject),
  };
}

/** How much of a body is taken. */
interface TakenBytes {
  /** Of all but its file. */
  readonly bytes: number;
  /** The same while neither query nor headers have a token. */
  readonly bytesWithoutToken?: number;
  readonly fileBytes?: number;
}

function bodyLimits({ takes, body }: Operation, config: Installation["config"]): TakenBytes {
  const bytes = Math.min(takes.bytes ?? config.maxBodyBytes, config.maxBodyBytes);
  const early = takes.earlyBytes ?? bytes;
  return {
    bytes,
    ...(early < bytes ? { bytesWithoutToken: early } : {}),
    ...(body?.hasFile ? { fileBytes: config.maxUploadBytes } : {}),
  };
}

const limitText = ({ bytes, bytesWithoutToken, fileBytes }: TakenBytes): string =>
  `At most ${bytes} bytes` +
  (fileBytes === undefined ? "" : `, and a file of at most ${fileBytes}`) +
  (bytesWithoutToken === undefined
    ? "."
    : `; ${bytesWithoutToken} while neither query nor headers have a token.`);

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

const content = (schemas: Readonly<Record<string, JsonSchema>>) =>
  Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }]));

function answered({ description, content: schemas, headers = {} }: Answer): OpenApi {
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
    ...(Object.keys(schemas).length > 0 ? { content: content(schemas) } : {}),
  };
}

const reasons = {
  304: "What If-None-Match names is still the same.",
  400: "The request cannot be read: JSON that does not parse, text in place of a number, damaged encoding.",
  401: "A token is required, and none came, or it is unknown or has expired.",
  403: "The rights do not allow it.",
  404: "The project has no such map, layer, folder, column, object or file.",
  412: "The object is no longer the one that If-Match names.",
  413: "The body is larger than the operation takes.",
  415: "The body has a Content-Encoding.",
} as const;

const refusal = (reason: string): OpenApi => ({
  description: reason,
  content: {
    "text/html": { schema: { type: "string" } },
    "application/problem+json": { schema: ref("Problem") },
  },
});

const failure = (reason: string, codes: readonly string[]): OpenApi => ({
  description: reason,
  content: {
    "application/json": {
      schema: { allOf: [ref("Error"), { properties: { code: { enum: [...new Set(codes)] } } }] },
    },
  },
});

/** Whether something must be there that may be missing. */
const hasRequired = ({ query, headers, body }: Operation): boolean =>
  [objectSchema(query), objectSchema(headers), ...Object.values(body?.content ?? {})].some(
    ({ required, items }) => required ?? (items as JsonSchema)?.required,
  );

function responses(operation: Operation, method: Method, ofProject: boolean): Record<string, OpenApi> {
  const { description, path } = operation;
  const refuses = description.refuses ?? [];
  const found: Record<string, OpenApi> = { 200: answered(description.answer), 400: refusal(reasons[400]) };
  if (method === "GET" && description.answer.headers?.ETag !== undefined)
    found[304] = { description: reasons[304] };
  const isBelowMap = path.includes("/:map");
  const statuses = [
    ...(ofProject ? ([401, 403] as const) : []),
    ...(isBelowMap ? ([404] as const) : []),
    ...(method === "GET" ? [] : ([413, 415] as const)),
    ...refuses.filter((one) => typeof one === "number"),
  ];
  for (const status of statuses) found[status] = refusal(reasons[status]);
  const codes = [
    ...(ofProject ? ["project_not_found"] : []),
    ...(isVersioned(path) ? ["invalid_format"] : []),
    ...(hasRequired(operation) ? ["required_parameters"] : []),
    ...(operation.writes ? ["invalid_value"] : []),
    ...refuses.filter((one) => typeof one === "string" && one !== "busy"),
    "internal",
  ];
  found[500] = failure("It failed, for the reason that the code gives.", codes);
  found[503] = description.unavailable
    ? answered(description.unavailable)
    : failure(
        operation.writes
          ? "There is no room for it now, or it is not known whether it was done; try again after Retry-After seconds."
          : "There is no room for it now; try again after Retry-After seconds.",
        operation.writes ? ["busy", "outcome_unknown"] : ["busy"],
      );
  return found;
}
