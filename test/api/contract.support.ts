/**
 * The tables of the Map Publishing and Data REST API 2.8, and what this server has beyond them: each operation with
 * the parameters that it takes and the object that it answers.
 */

export interface ContractLine {
  /** Names in the query. */
  readonly query?: readonly string[];
  /** Names in the body: required ones end in `!`. */
  readonly body?: readonly string[];
  readonly headers?: readonly string[];
  readonly token?: boolean;
  /** Schema of the answer by its name in the description; `Name[]` for a list; else the JSON type or value, or media type. */
  readonly answer: string;
}

const boxes = ["returnBbox", "bboxSR"];
const geometry = [...boxes, "returnGeom", "geomSR", "geomZoom"];
const listed = [
  "fields",
  "fcode",
  "fval",
  "offset",
  "limit",
  "sort",
  "fbbox",
  ...geometry,
  "returnCentroid",
  "lng",
];
const column = [
  "code",
  "type!",
  "name",
  "localized_name",
  "localized_value",
  "required",
  "sort",
  "parent_id",
  "format",
];
const layer = ["code", "localized_name", "name", "parent_id", "sort", "css_style"];
const L = "P/{map}/layers/{layer}";

/** Every line of the contract's endpoint tables. `P` stands for /api/2.8/{project}. */
export const contract: Readonly<Record<string, ContractLine>> = {
  "POST P/login/": { body: ["user!", "pass!"], answer: "Token" },
  "POST P/ext-login/": { body: ["token!"], answer: "Token" },
  "POST P/ext-auth/": { body: ["login!"], token: true, answer: "Token" },
  "GET P/authorized/": { answer: "boolean" },
  "POST P/logout/": { token: true, answer: "Token" },
  "GET P/users/list/": { token: true, answer: "string[]" },

  "POST P/": { body: ["code!", "name", "css_style"], token: true, answer: "Map" },
  "GET P/{map}/": { answer: "Map" },
  "GET P/maps/available/": { token: true, answer: "AvailableMap[]" },
  "GET P/maps/public/": { token: true, answer: "PublicMap[]" },
  "GET P/{map}/layers/": { query: ["type", "returnBbox", "returnCss", "bboxSR"], answer: "TreeElement[]" },
  "POST P/{map}/publish/": {
    body: ["id!", "parent_id!", "map_layer_id!", "sort", "selected", "icon"],
    token: true,
    answer: "TreeElement[]",
  },

  "POST P/{map}/folders/": {
    body: ["code", "localized_name", "name", "parent_id", "sort"],
    token: true,
    answer: "Folder",
  },
  "GET P/{map}/folders/{folder}/": { token: true, answer: "Folder" },
  "PUT P/{map}/folders/{folder}/": {
    body: ["code", "name", "sort", "json", "parent_id!"],
    token: true,
    answer: "Folder",
  },
  "PATCH P/{map}/folders/{folder}/": {
    body: ["code", "name", "sort", "json", "parent_id!"],
    token: true,
    answer: "Folder",
  },
  "DELETE P/{map}/folders/{folder}/": { token: true, answer: "true" },

  "POST P/{map}/layers/": { body: layer, token: true, answer: "Layer" },
  [`GET ${L}/`]: { query: ["returnBbox"], answer: "Layer" },
  [`PUT ${L}/`]: { body: [...layer, "parent_id!"], token: true, answer: "Layer" },
  [`PATCH ${L}/`]: { body: [...layer, "parent_id!"], token: true, answer: "Layer" },
  [`DELETE ${L}/`]: { token: true, answer: "null" },
  [`GET ${L}/legend/`]: { answer: "Legend" },
  [`GET ${L}/bbox/`]: { query: ["bboxSR"], answer: "Box" },
  [`POST ${L}/refresh/`]: { token: true, answer: "Layer" },
  [`GET ${L}/icon/`]: { query: ["size"], answer: "image/png" },

  [`GET ${L}/structure/`]: { answer: "Column[]" },
  [`POST ${L}/structure/`]: { body: ["code!", ...column], token: true, answer: "Column" },
  [`PUT ${L}/structure/{column}/`]: { body: column, token: true, answer: "Column" },
  [`PATCH ${L}/structure/{column}/`]: { body: column, token: true, answer: "Column" },
  [`DELETE ${L}/structure/{column}/`]: { token: true, answer: "null" },
  [`GET ${L}/constraints/`]: { token: true, answer: "Constraint[]" },

  [`POST ${L}/import/`]: {
    query: ["srs", "action", "raster_bbox"],
    headers: ["x-filename"],
    token: true,
    answer: "Layer",
  },
  [`GET ${L}/export/`]: {
    query: ["format", "langs", "zip", "feature_ids", "orig", "encoding", "dialect"],
    answer: "application/geo+json",
  },
  [`POST ${L}/makevalid/`]: { token: true, answer: "Layer" },

  [`GET ${L}/count/`]: { query: ["precise"], answer: "integer" },
  [`GET ${L}/objects/`]: { query: listed, answer: "Object[]" },
  [`POST ${L}/filter/`]: { body: listed, answer: "Object[]" },
  [`GET ${L}/objects/{object}/`]: { query: [...geometry, "lng", "f"], answer: "Object" },
  [`POST ${L}/objects/`]: { query: ["lng"], body: ["fields!", "geom"], token: true, answer: "Object" },
  [`PUT ${L}/objects/{object}/`]: { query: ["lng"], body: ["fields", "geom"], token: true, answer: "Object" },
  [`DELETE ${L}/objects/{object}/`]: { token: true, answer: "true" },
  [`GET ${L}/objects/{object}/geom/`]: { token: true, answer: "Geometry" },
  [`PUT ${L}/objects/{object}/geom/`]: { query: ["geomSR"], token: true, answer: "Geometry" },

  [`POST ${L}/objects/{object}/files/`]: { body: ["field!", "file!", "lng"], token: true, answer: "File" },
  [`DELETE ${L}/objects/{object}/files/{file}/`]: { query: ["field", "lng"], token: true, answer: "null" },

  "GET P/{map}/search/": { query: ["phrase", "lang", "limit"], answer: "LayerItem|ObjectItem[]" },
  "GET P/image/{file}/": { query: ["w", "h", "fit", "f"], answer: "image/png" },
  "GET /tms/{project}/{map}/": {
    query: ["x", "y", "z", "base", "layers", "retina", "lng", "q"],
    answer: "image/png",
  },
};

/** What the product has beyond the contract, each by a decision of its own. */
export const extensions: readonly string[] = [
  "PUT P/{map}/",
  "PATCH P/{map}/",
  "DELETE P/{map}/",
  `POST ${L}/copy/`,
  `POST ${L}/objects/bulk/`,
  `POST ${L}/objects/{object}/split/`,
  `POST ${L}/objects/merge/`,
  "GET P/{map}/identify/",
  `PUT ${L}/constraints/`,
  `PUT ${L}/visualization/`,
  `DELETE ${L}/visualization/`,
  `POST ${L}/preview/`,
  "POST P/link/",
  `PUT ${L}/vector/`,
  `DELETE ${L}/vector/`,
  `GET ${L}/import/{job}/`,
  `DELETE ${L}/import/{job}/`,
  // For ids that an address has no room for.
  `POST ${L}/export/`,
  "GET P/{map}/export/",
  "GET P/pictures/",
  "POST P/pictures/",
  "PUT P/pictures/{path}",
  "DELETE P/pictures/{path}",
  "GET P/keys/",
  "POST P/keys/",
  "DELETE P/keys/{id}/",
  "GET P/members/",
  "POST P/members/",
  "PATCH P/members/{member}/",
  "DELETE P/members/{member}/",
  "POST P/members/{member}/invitation/",
  "POST P/invitation/",
  "GET P/bin/",
  "POST P/bin/{entry}/restore/",
  "DELETE P/bin/{entry}/",
  "DELETE P/bin/",
  "GET P/history/",
  "POST P/history/{entry}/undo/",
  "GET P/{map}/history/",
  `GET ${L}/history/`,
  `GET ${L}/objects/{object}/history/`,
  `POST ${L}/history/{entry}/undo/`,
  "GET P/fonts/",
  "PUT P/fonts/{path}",
  "DELETE P/fonts/{path}",
  // The path of a File leads here.
  `GET ${L}/objects/{object}/files/`,
  `GET ${L}/objects/{object}/files/{file}/`,
  "POST P/{map}/tile-key/",
  "DELETE P/{map}/tile-key/",
  "GET P/{map}/search/settings/",
  "PUT P/{map}/search/settings/",
  "GET /tms/{project}/{map}/{z}/{x}/{tile}",
  "GET /tms/{project}/{map}/changes/",
  "GET /tms/{project}/{map}/tile.json",
  "GET /tms/{project}/{map}/tms/tilemapresource.xml",
  "GET /tms/{project}/{map}/tms/{z}/{x}/{tile}",
  "GET /tms/{project}/{map}/tile.mvt.json",
  "GET /installation/",
  "GET /installation/projects/",
  "POST /installation/projects/",
  "PATCH /installation/projects/{code}/",
  "GET /installation/state/",
  "GET /api/2.8/",
  "GET /health/live",
  "GET /health/ready",
  "GET /metrics",
  "GET /openapi.json",
];
