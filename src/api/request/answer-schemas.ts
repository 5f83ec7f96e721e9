import { columnTypes } from "../../column-types/column-types.js";
import type { JsonSchema } from "./schema/schema.js";

/** What the API answers: the contract's objects as JSON Schemas, by the names that the description gives them. */

const string = { type: "string" };
const integer = { type: "integer" };
const number = { type: "number" };
const boolean = { type: "boolean" };
const anyObject = { type: "object", additionalProperties: true };
const reference = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
const or = (...schemas: JsonSchema[]): JsonSchema => ({ anyOf: schemas });
const none = { type: "null" };

/** An object that always has these members; those of `more` are there when they apply. */
function object(
  members: Readonly<Record<string, JsonSchema>>,
  more: Readonly<Record<string, JsonSchema>> = {},
) {
  return { type: "object", required: Object.keys(members), properties: { ...members, ...more } };
}
const list = (items: JsonSchema): JsonSchema => ({ type: "array", items });

const selected = {
  ...boolean,
  description: "Whether its element in the publication tree is ticked; true before there is a tree",
};

const latLon = {
  type: "array",
  items: number,
  minItems: 2,
  maxItems: 2,
  description: "[Lat, Lon]; in 3857 likewise [y, x]",
};

const namesByLanguage = { type: "object", additionalProperties: string };

const layerMembers = {
  id: integer,
  type: { enum: ["layer", "virtual", "material", "raster", "external", "folder"] },
  code: string,
  name: string,
  sort: number,
  parent_id: { ...integer, description: "0 = top of the tree" },
  selected,
  map_layer_id: integer,
  icon: { ...string, description: "Path of the icon" },
  render_type: { enum: [0, 1], description: "1 = has settings for clients that draw it as vectors" },
  style_mode: {
    enum: [0, 1, 2, 3, 4],
    description:
      "0 = not set, 1 = simple, 2 = CartoCSS, 3 = visualization, 4 = custom visualization; tiles show all by css_style",
  },
  json: { ...anyObject, description: "Settings of the clients' own" },
};

const layerExtras = {
  css_style: string,
  bbox: or(reference("Box"), none),
  access: { ...integer, description: "The caller's rights: 1 read, 2 objects, 4 structure, 8 administer" },
  timestamp: { ...integer, description: "Unix seconds of the last change" },
  source: { ...anyObject, description: "What a virtual, materialized or external layer is made from" },
  visualSettings: anyObject,
  visualCustomSettings: anyObject,
  vectorSettings: anyObject,
};

export const answerSchemas: Readonly<Record<string, JsonSchema>> = {
  Token: object({ token: { ...string, description: "The session token; empty after logout" } }),
  Map: object({
    id: integer,
    code: string,
    name: string,
    css_style: string,
    group_layers: { enum: [0, 1] },
    has_publication: boolean,
  }),
  AvailableMap: object({ id: integer, code: string }),
  PublicMap: object({
    id: integer,
    type: string,
    parent: integer,
    code: string,
    parent_map: string,
    sort: number,
    show_pub: boolean,
    css_style: string,
    localized_name: boolean,
    name: string,
    names: list(namesByLanguage),
    access: integer,
    json: anyObject,
    comment: string,
    listDepended: list({}),
    table_id: integer,
    style_mode: integer,
    render_settings: anyObject,
    publish: boolean,
    group_layers: { enum: [0, 1] },
    has_publication: boolean,
    locales: list(object({ id: integer, code: string, name: string, sort: number, container: integer })),
  }),
  Layer: object(layerMembers, layerExtras),
  TreeElement: object(layerMembers, layerExtras),
  Folder: object({
    id: integer,
    type: { const: "folder" },
    code: string,
    name: or(string, namesByLanguage),
    sort: number,
    icon: string,
    selected,
    parent_id: integer,
    render_type: integer,
    map_layer_id: integer,
    style_mode: integer,
    tiles_quality: integer,
    json: anyObject,
    view_format_type: integer,
  }),
  Box: object({ sw: latLon, ne: latLon }),
  Column: object(
    {
      id: integer,
      sort: number,
      parent_id: integer,
      code: string,
      name: string,
      required: boolean,
      type: { enum: columnTypes },
      localized_name: boolean,
      localized_value: boolean,
    },
    { format: anyObject },
  ),
  Constraint: object({
    type: { enum: ["enum", "range", "pattern"] },
    name: string,
    columns: list(string),
    definition: list({}),
    raw_definition: { ...string, description: "Filter expression that selects the offending objects" },
    validated: boolean,
  }),
  Object: object(
    { id: integer },
    {
      fields: { ...anyObject, description: "Values by column codes; of localised columns in one language" },
      geom: or(reference("Geometry"), none),
      bbox: or(reference("Box"), none),
    },
  ),
  Geometry: {
    type: "object",
    description:
      "A geometry of GeoJSON (RFC 7946): lon, lat, height; in 3857 x, y, height. A height is optional (0 beside others); numbers after it are dropped",
    required: ["type"],
    properties: {
      type: {
        enum: [
          "Point",
          "MultiPoint",
          "LineString",
          "MultiLineString",
          "Polygon",
          "MultiPolygon",
          "GeometryCollection",
        ],
      },
      coordinates: list({}),
      geometries: list(reference("Geometry")),
    },
  },
  FeatureCollection: object({
    type: { const: "FeatureCollection" },
    features: list(
      object({
        type: { const: "Feature" },
        geometry: or(reference("Geometry"), none),
        properties: or(anyObject, none),
      }),
    ),
  }),
  File: object({
    name: string,
    path: string,
    mime: string,
    id: integer,
    uuid: { ...string, format: "uuid" },
  }),
  Legend: object({
    name: string,
    column: or(string, none),
    showValues: boolean,
    showLegend: boolean,
    minValue: or(number, none),
    maxValue: or(number, none),
    type: { enum: [1, 2, 3, 4, 5, 6, 7] },
    classificators: list(object({ value: {}, fill: string, isIcon: boolean })),
  }),
  LayerItem: object({
    id: integer,
    code: string,
    name: string,
    priority: number,
    type: { const: "layer" },
    icon: string,
  }),
  ObjectItem: object({
    name: string,
    svc_id: integer,
    priority: number,
    layer: string,
    type: { const: "object" },
    name_column: string,
    search_column: string,
    layer_name: string,
    layer_icon: string,
    value: string,
  }),
  SearchSetting: object({ layer: string, search_column: string, name_column: string }, { priority: number }),
  Error: object({
    error: { enum: ["error", "warning", "notice"] },
    code: { ...string, description: "What failed, for programs" },
    message: { ...string, description: "What failed, for people" },
    data: { ...anyObject, description: "What helps: missing parameters, columns with reasons" },
  }),
  Problem: {
    ...object({ type: string, title: string, status: integer, detail: string }),
    description: "RFC 9457; for clients that accept application/problem+json",
  },
};
