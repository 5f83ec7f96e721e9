import { type ExecutionCode, executionCodes } from "../../../errors.js";

/** The page of the errors: the codes from their registry, what to do from here. */

interface Advice {
  /** What happened. */
  readonly meaning: string;
  /** What the client does about it. */
  readonly remedy: string;
}

const advice: Readonly<Record<ExecutionCode, Advice>> = {
  project_not_found: {
    meaning: "There is no project with the code in the address.",
    remedy: "Compare the address with `mapwright project list`.",
  },
  required_parameters: {
    meaning: "Something that the operation needs was not sent; `data.required` has the names.",
    remedy:
      "Send them: in the query, in a form, or as members of the JSON body, as [the operation](operations.md) takes them.",
  },
  invalid_value: {
    meaning:
      "A value cannot be what its column or parameter holds. Of objects, `data.columns` names each column with the reason. Nothing was saved.",
    remedy: "Correct the values that are named, and send the whole request again.",
  },
  invalid_style: {
    meaning: "The CartoCSS has an error, or something that is not allowed. The message has line and column.",
    remedy: "Look the property up in [CartoCSS](cartocss.md). The style from before is still in force.",
  },
  invalid_format: {
    meaning: "There is no such format: of an export, or of an answer (`f`).",
    remedy: "The [formats](formats.md) have their names.",
  },
  invalid_geometry: {
    meaning: "The geometry is no GeoJSON, has too few points, or numbers that are none.",
    remedy:
      "Send a GeoJSON geometry, longitude first. What is merely crossed is taken: `makevalid/` repairs it.",
  },
  invalid_code: {
    meaning: "The code of a map, folder, layer or column has characters that codes cannot have.",
    remedy:
      "Codes of maps, folders and layers have up to 64 letters, digits, `_` and `-`; those of columns up to 44 Latin letters, digits and `_`, no digit first.",
  },
  code_exists: {
    meaning: "Another map, folder, layer or column has that code already.",
    remedy: "Choose another code, or change what is there.",
  },
  filter_column_not_listed: {
    meaning: "`fcode` names a column that `fields` does not list.",
    remedy: "Add the column to `fields`, or send `fields=*`.",
  },
  unknown_column: {
    meaning: "The layer has no column of that code.",
    remedy: "`GET …/structure/` lists the columns.",
  },
  type_required: {
    meaning: "A column is created or changed without its `type`.",
    remedy: "Send `type`, the present one to keep it.",
  },
  unknown_type: {
    meaning: "There is no such type of column.",
    remedy: "The types are in [columns](api-columns.md).",
  },
  project_full: {
    meaning:
      "The project has used up what it may take of the server's disks: it takes no new objects, imports and files.",
    remedy:
      "Delete what is not needed, or ask [an operator](../operating/operators.md) for more. What was deleted counts while it is in the bin, and until its table is cleaned up.",
  },
  not_materialized: {
    meaning: "`refresh/` was asked of a layer that is filled by nothing.",
    remedy:
      "Only layers of the type `material` are refreshed: [derived layers](../how-to/derived-layers.md).",
  },
  import_failed: {
    meaning: "The file could not be imported. The layer is as it was.",
    remedy: "The message says what in the file is wrong: [import files](../how-to/import-files.md).",
  },
  unsupported_format: {
    meaning: "The file is of no format that can be imported, or the layer cannot be exported like that.",
    remedy: "The [formats](formats.md) list what can be read and written.",
  },
  no_georeference: {
    meaning: "An image does not say where on Earth it lies.",
    remedy:
      "Send `raster_bbox` (of the command `--raster-bbox`), or a file that knows its place: [raster layers](../how-to/raster-layers.md).",
  },
  file_column_required: {
    meaning: "A file is attached to a column that holds no files.",
    remedy: "Add a column of the type `file`: [photos](../how-to/photos.md).",
  },
  constraint_violated: {
    meaning: "A value is none of those that a constraint of the layer allows.",
    remedy: "`GET …/constraints/` shows what is allowed.",
  },
  busy: {
    meaning: "The server, or your share of it, is fully used, or the work took too long. Nothing was done.",
    remedy: "Send it again after the seconds in `Retry-After`.",
  },
  outcome_unknown: {
    meaning:
      "The connection to the database was lost while it saved, or the database did not say in time that it has: nobody knows whether it was saved.",
    remedy: "Send the request again with the same `Idempotency-Key`; without one, look first.",
  },
  internal: {
    meaning: "Something went wrong that is not your fault.",
    remedy:
      "The log of the server has the reason under the id in `data.request`: [troubleshooting](../operating/troubleshooting.md).",
  },
};

const statuses: readonly (readonly [status: number, meaning: string, remedy: string])[] = [
  [
    400,
    "The request is malformed: no JSON, a word for a number, a place outside of the world.",
    "Correct it.",
  ],
  [401, "A session is needed, and the token is missing, unknown or has ended.", "Sign in again."],
  [
    403,
    "The rights do not suffice, or login and password do not fit.",
    "Ask an administrator of the project.",
  ],
  [
    404,
    "There is no such map, layer, folder, column, object or address.",
    "Compare the address, letter by letter.",
  ],
  [405, "The address has no such method; `Allow` lists those that it has.", "Use one of these."],
  [
    409,
    "What others have made since stands in the way of restoring or undoing: the message tells what.",
    "Restore it with another `code`, or undo the later changes first.",
  ],
  [
    412,
    "What you change has been changed by somebody else meanwhile.",
    "Read it again, and repeat the change on it.",
  ],
  [413, "The body is larger than the operation takes.", "See [limits](../how-to/limits.md)."],
  [415, "The body has a `Content-Encoding`.", "Send it uncompressed."],
  [429, "You have sent more requests in a minute than the installation allows.", "Wait for `Retry-After`."],
  [
    431,
    "Address and header fields are larger than 4 kB together.",
    "Send parameters in the body, fewer cookies.",
  ],
];

export function errorsPage(): string {
  const codes = executionCodes.map(
    (code) => `### ${code}\n\n${advice[code].meaning}\n\n${advice[code].remedy}`,
  );
  const rows = statuses.map(([status, meaning, remedy]) => `### ${status}\n\n${meaning} ${remedy}`);
  return `# Errors

<!-- words: error codes, failed, refused, message, status, 500, 503, 403, 404 -->

What an error means, and what to do about it.

An error of 500 or 503 has a JSON body with a \`code\`, by which programs tell one from another:

\`\`\`json
{ "error": "error", "code": "required_parameters", "message": "…", "data": { "required": ["pass"] } }
\`\`\`

The header \`Link\` of such an answer leads to the code on this page. The others are short HTML pages, or problem details (RFC
9457) for clients whose \`Accept\` prefers JSON to HTML.

## Codes

${codes.join("\n\n")}

## Statuses

${rows.join("\n\n")}
`;
}
