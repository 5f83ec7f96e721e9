import { z } from "zod";
import { mapBases } from "../../catalog/state.js";
import { columnTypes } from "../../column-types/column-types.js";
import { kindNumbers } from "../../visual/kinds.js";
import { type JsonSchema, namedSchemas } from "./schema/schema.js";

/** Schemas of response objects, by their names in `components.schemas` of the OpenAPI document. */

const notices = z.array(z.string()).describe("When a style was saved: what of it has no effect");
const id = z.int();
const anyObject = z.record(z.string(), z.unknown());
const namesByLanguage = z.record(z.string(), z.string());
const groupLayers = z.literal([0, 1]);

const selected = z
  .boolean()
  .describe(
    "Whether the element is selected in the publication tree; true while the map has no publication tree",
  );

const latLon = z.array(z.number()).length(2).describe("[Lat, Lon]; in EPSG:3857 [y, x]");

const box = z.object({ sw: latLon, ne: latLon });

const geometry = z
  .object({
    type: z.enum([
      "Point",
      "MultiPoint",
      "LineString",
      "MultiLineString",
      "Polygon",
      "MultiPolygon",
      "GeometryCollection",
    ]),
    coordinates: z.array(z.unknown()).optional().describe("Its positions, nested as the type has them"),
    get geometries(): z.ZodOptional<z.ZodArray<z.ZodType>> {
      return z.array(geometry).optional().describe("Of a GeometryCollection: its parts");
    },
  })
  .describe(
    "GeoJSON geometry (RFC 7946): lon, lat, height; in EPSG:3857 x, y, height. The height is optional; it is 0 if " +
      "other positions of the geometry have one. Further numbers are ignored",
  );

const layer = z.object({
  id,
  type: z.enum(["layer", "virtual", "material", "raster", "external", "folder"]),
  code: z.string(),
  name: z.string(),
  sort: z.number(),
  parent_id: id.describe("Id of the parent folder; 0 = root of the tree"),
  selected,
  map_layer_id: id,
  icon: z.string().describe("Path of the icon"),
  render_type: z.literal([0, 1]).describe("1 = has settings for clients that render it as vectors"),
  style_mode: z
    .literal([0, 1, 2, 3, 4])
    .describe(
      "0 = not set, 1 = simple, 2 = CartoCSS, 3 = visualization, 4 = custom visualization; 3 and 4 are drawn in place of css_style",
    ),
  json: anyObject.describe("Free-form settings of clients"),
  css_style: z.string().optional(),
  bbox: box.nullable().optional(),
  access: z
    .int()
    .describe("The caller's rights: 1 read, 2 edit objects, 4 edit structure, 8 administer (sum)")
    .optional(),
  timestamp: z.int().describe("Time of the last change, in Unix seconds").optional(),
  source: anyObject.describe("Source of a virtual, materialized or external layer").optional(),
  visualSettings: anyObject.optional(),
  visualCustomSettings: anyObject.optional(),
  vectorSettings: anyObject.optional(),
});

const importResult = z
  .object({
    features: z.int().describe("Features of the file"),
    added: z.int().describe("Objects that were added"),
    updated: z.int().describe("Objects that were changed"),
    removed: z.int().describe("Objects that a replacement has removed"),
    unmatched: z
      .object({ count: z.int(), first: z.array(z.string()) })
      .describe("Features of a merge that name an object which the layer did not have; they were added"),
    columns: z
      .array(z.object({ code: z.string(), name: z.string() }))
      .describe(
        "Columns that were added; the name is that of the property in the file, or that of `columns`",
      ),
    written: z.array(z.string()).describe("Codes of the columns that the file has values for"),
    notes: z.array(z.string()).describe("Sentences on what was left out or changed"),
    summary: z.string().describe("What was done, in one sentence"),
    bad: z.int().describe("With `partial`: features that were left out"),
    rows: z
      .array(z.object({ row: z.int(), reason: z.string() }))
      .describe("The first 100 features that were left out, by their number in the file, from 1"),
    dry_run: z.boolean().describe("Whether this is only what would be done"),
    preview: z
      .object({
        layers: z
          .array(
            z.object({
              name: z.string(),
              format: z.string(),
              geometry_type: z.string().optional(),
              features: z.int().optional(),
              srs: z
                .string()
                .describe("As the parameter takes it; absent = the file says nothing")
                .optional(),
              encoding: z
                .string()
                .describe("As the parameter takes it; absent = that of the format")
                .optional(),
              is_read: z.boolean().describe("Whether the import takes it"),
            }),
          )
          .describe("Layers, tables and sheets of the file, or of the files of an archive"),
        bbox: box.nullable(),
        coordinates: z
          .array(z.string())
          .describe(
            "Names of the columns that the places come from, as the parameter takes them; absent = the file has places of its own",
          )
          .optional(),
        columns: z
          .array(
            z.object({
              name: z.string().describe("Name in the file"),
              code: z.string().nullable().describe("Null = it is left out"),
              type: z.string(),
              notation: z
                .string()
                .describe("As the parameter `columns` takes it; absent = as the API writes values")
                .optional(),
              is_new: z.boolean().describe("Whether the layer does not have the column yet"),
              is_read: z.boolean().describe("Whether the import takes it"),
              values: z.array(z.string()).describe("Some of the values, as the file has them"),
            }),
          )
          .describe("The properties of the file and the columns that they become, at most 200"),
        features: z
          .array(
            z.object({
              row: z.int(),
              fields: z.record(z.string(), z.string().nullable()).describe("As the file has them, by code"),
              geom: z
                .unknown()
                .describe(
                  "GeoJSON in EPSG:4326, null for none; of more than 500 vertices simplified, or the box",
                ),
            }),
          )
          .describe("The first 20 features that can be imported"),
      })
      .describe("With `dry_run`, of a file of features")
      .optional(),
  })
  .describe("What an import has done; only in its answer");

const installationProject = z.object({
  code: z.string(),
  name: z.string(),
  languages: z.array(z.string()),
  maps: z.int(),
  layers: z.int(),
  users: z.int(),
  administrators: z.array(z.string()).describe("Logins of its administrators, some if there are many"),
  bytes: z.int().nullable().describe("What it takes of the disks; null = it was not measured yet"),
  measured: z.iso.datetime().nullable(),
  most_bytes: z.int().nullable().describe("The most that it may take; null = as much as there is"),
});

const invitation = z.object({
  invitation: z
    .string()
    .describe("The invitation itself: in the answer that has just made it, and never again"),
  expires: z.iso.datetime(),
});

const schemas = {
  Token: z.object({ token: z.string().describe("The session token; empty after logout") }),
  Map: z.object({
    id,
    code: z.string(),
    name: z.string(),
    css_style: z.string(),
    group_layers: groupLayers,
    has_publication: z.boolean(),
    start_view: z
      .array(z.number())
      .length(4)
      .optional()
      .describe(
        "What is seen at first: west, south, east, north in degrees, east beyond 180 across that meridian; absent = all of the data",
      ),
    base_map: z
      .enum(mapBases)
      .optional()
      .describe("What is drawn below the map; absent = the base map of its project"),
    comment: z.string().optional().describe("Plain text about the map; absent = none"),
    notices: notices.optional(),
  }),
  AvailableMap: z.object({ id, code: z.string() }),
  PublicMap: z.object({
    id,
    type: z.string(),
    parent: id,
    code: z.string(),
    parent_map: z.string(),
    sort: z.number(),
    show_pub: z.boolean(),
    css_style: z.string(),
    localized_name: z.boolean(),
    name: z.string(),
    names: z.array(namesByLanguage),
    access: z.int(),
    json: anyObject,
    comment: z.string(),
    listDepended: z.array(z.unknown()),
    table_id: id,
    style_mode: z.int(),
    render_settings: anyObject,
    publish: z.boolean(),
    group_layers: groupLayers,
    has_publication: z.boolean(),
    locales: z.array(z.object({ id, code: z.string(), name: z.string(), sort: z.number(), container: id })),
  }),
  ImportResult: importResult,
  ImportJob: z.object({
    id: z.uuid(),
    state: z.enum(["running", "done", "failed", "cancelled"]),
    phase: z.enum(["waiting", "reading", "checking", "writing"]),
    features: z.int().describe("Features that were read so far"),
    created: z.string(),
    finished: z.string().nullable(),
    result: anyObject.nullable().describe("When done: the layer, as in the answer to an import"),
    error: anyObject.nullable().describe("When failed: `error`, `code`, `message` and `data`"),
    others: z
      .array(z.object({ id: z.uuid(), layer: z.string(), table: z.string() }))
      .optional()
      .describe("The imports of `other_tables`, and the codes of their layers"),
  }),
  Layer: layer.extend({ import: importResult.optional(), notices: notices.optional() }),
  TreeElement: layer.extend({
    group_layers: z
      .literal(1)
      .describe("Only of the one element of a map whose layers are grouped")
      .optional(),
  }),
  Folder: z.object({
    id,
    type: z.literal("folder"),
    code: z.string(),
    name: z.union([z.string(), namesByLanguage]),
    sort: z.number(),
    icon: z.string(),
    selected,
    parent_id: id,
    render_type: z.int(),
    map_layer_id: id,
    style_mode: z.int(),
    tiles_quality: z.int(),
    json: anyObject,
    view_format_type: z.int(),
  }),
  Box: box,
  Column: z.object({
    id,
    sort: z.number(),
    parent_id: id,
    code: z.string(),
    name: z.string(),
    required: z.boolean(),
    type: z.enum(columnTypes),
    localized_name: z.boolean(),
    localized_value: z.boolean(),
    format: anyObject.optional(),
  }),
  Constraint: z.object({
    type: z.enum(["enum", "range", "pattern"]),
    name: z.string(),
    columns: z.array(z.string()),
    definition: z.array(z.unknown()),
    raw_definition: z
      .string()
      .describe("Filter expression that selects the objects that violate the constraint"),
    validated: z.boolean(),
  }),
  Picture: z.object({
    path: z.string().describe("As in url(…) of styles"),
    format: z.enum(["png", "svg"]).describe("WebP is kept as PNG"),
    width: z.number().describe("Pixels"),
    height: z.number().describe("Pixels"),
    bytes: z.int(),
  }),
  Font: z.object({
    path: z.string(),
    format: z.enum(["ttf", "otf"]).describe("Its outlines: TrueType or CFF"),
    faces: z.array(z.string()).describe("Its names, as in text-face-name of styles"),
    bytes: z.int(),
  }),
  AccessKey: z.object({
    id,
    name: z.string(),
    rights: z.enum(["read", "edit", "none"]).describe("`none`: its map or layer is gone"),
    map: z.string().nullable().describe("Code of the map; null = all"),
    layer: z.string().nullable().describe("Code of the layer; null = all"),
    expires: z.iso.datetime().nullable().describe("When it ends; null = never"),
    created: z.iso.datetime(),
    created_by: z.string().describe("Login of who made it; empty = the operator"),
    used: z.iso.datetime().nullable().describe("When it was used last, to the minute; null = not yet"),
    key: z
      .string()
      .describe("The key itself: in the answer that has just made it, and never again")
      .optional(),
  }),
  InstallationProject: installationProject,
  NewInstallationProject: installationProject.extend({ invitation }),
  ChangedInstallationProject: installationProject.extend({
    invitation: invitation.describe("Of the administrator that was named").optional(),
  }),
  InstallationState: z.object({
    checks: z
      .array(
        z.object({
          name: z.string(),
          ok: z.boolean(),
          found: z.string(),
          advice: z.string().nullable().describe("What to do about a problem, or better"),
        }),
      )
      .describe("As of the command `doctor`"),
    checked: z.iso.datetime().describe("When"),
    imports: z
      .array(
        z.object({
          project: z.string(),
          map: z.string(),
          layer: z.string(),
          login: z.string().describe("Who began it"),
          state: z.enum(["running", "done", "failed", "cancelled"]),
          rows: z.int().describe("Features that were read so far"),
          created: z.iso.datetime(),
          finished: z.iso.datetime().nullable(),
        }),
      )
      .describe("Asynchronous imports of the last day: those that run first, then the latest"),
    layers: z
      .array(
        z.object({
          project: z.string(),
          map: z.string(),
          layer: z.string(),
          cause: z
            .enum([
              "file",
              "source",
              "style",
              "statistics",
              "plugin",
              "database",
              "overrun",
              "size",
              "failure",
            ])
            .describe("`overrun` = it takes too long to draw"),
        }),
      )
      .describe("Layers that tiles of the node that answers lack just now"),
  }),
  Invitation: invitation,
  Member: z.object({
    id: id.describe("0 = the public"),
    login: z.string().describe("`public` = everybody, also without a session"),
    role: z.enum(["admin", "editor", "viewer"]).nullable().describe("null = the public, which has none"),
    invited_until: z.iso
      .datetime()
      .nullable()
      .describe("Until when an invitation counts that was made for the user; null = none is open"),
    grants: z
      .array(
        z.object({
          map: z.string().nullable().describe("Code of the map; null = all"),
          layer: z.string().nullable().describe("Code of the layer; null = all of the map"),
          rights: z
            .int()
            .describe("As `access`: 1 read, 2 edit objects, 4 edit structure, 8 administer; 0 = none"),
        }),
      )
      .describe(
        "Rights that count in place of those of the role. Administrators have all rights, whatever these say",
      ),
  }),
  BinEntry: z.object({
    id: id.describe("Of the entry; addresses of the bin have it"),
    kind: z.enum(["map", "folder", "layer", "column"]),
    code: z.string(),
    name: z.string(),
    map: z.string().describe("Code that the map had when this was deleted from it"),
    layer: z.string().nullable().describe("Code of the layer that a column was in"),
    bytes: z
      .int()
      .describe("What it takes: tables with indexes, images and attached files; of columns about"),
    deleted: z.iso.datetime(),
    deleted_by: z.string().describe("Login; empty = the operator"),
    until: z.iso.datetime().describe("When it goes for good"),
  }),
  Bin: z.object({
    bytes: z.int().describe("Of all entries that the caller sees"),
    entries: z.array(z.looseObject({})).meta({ items: { $ref: "#/components/schemas/BinEntry" } }),
  }),
  Restored: z.object({
    kind: z.enum(["map", "folder", "layer", "column"]),
    id: id.describe("Of the map, folder, layer or column, as before"),
    code: z.string(),
    map: z.string().describe("Code of the map that it is in, or is"),
    layer: z.string().nullable().describe("Code of the layer that a column is in"),
    notes: z.array(z.string()).describe("What is not as it was"),
  }),
  HistoryEntry: z.object({
    id,
    group: z.string().describe("The same for all that was done in one request"),
    layer: z.string(),
    object: id.nullable().describe("null = many objects at once"),
    kind: z
      .enum(["created", "changed", "deleted", "added", "replaced", "emptied"])
      .describe("`added`: many at once; `replaced`: all, by an import; `emptied`: all were deleted at once"),
    count: z.int().nullable().describe("Number of objects, where it is known"),
    at: z.iso.datetime(),
    by: z
      .string()
      .nullable()
      .describe(
        "Login; null = it is not known, as of what was done by SQL, by a command or by who needs not sign in",
      ),
    before: anyObject.nullable().describe("Values by column code: of a changed object those that differ"),
    after: anyObject.nullable(),
  }),
  History: z.object({
    bytes: z
      .int()
      .nullable()
      .describe(
        "What all changes take in the database, of very many an estimate; null on later pages and of one object",
      ),
    entries: z.array(z.looseObject({})).meta({ items: { $ref: "#/components/schemas/HistoryEntry" } }),
  }),
  Undone: z.object({ objects: z.int() }),
  SplitObjects: z.object({ ids: z.array(id) }),
  MergedObjects: z.object({ id, deleted: z.array(id) }),
  StructureEntry: z.object({
    id,
    group: z.string().describe("The same for all that was done in one request"),
    kind: z.enum(["map", "folder", "layer", "column"]),
    change: z.enum(["created", "changed", "deleted", "restored"]),
    item: id.describe("Of the map, folder, layer or column"),
    code: z.string().describe("Its code then"),
    map: z.string().describe("Code of the map then"),
    layer: z
      .string()
      .nullable()
      .describe("Code of the layer or folder, or of the layer of a column; null = it is of the map itself"),
    at: z.iso.datetime(),
    by: z.string().nullable().describe("Login; null = it is not known, as of what a command or SQL did"),
    members: z
      .array(z.string())
      .describe(
        "What differs: members of the map, folder, layer or column, `publication` and `search` of a map, `constraints` of a layer",
      ),
    before: anyObject.nullable().describe("Their values; null = without `values`"),
    after: anyObject.nullable(),
  }),
  StructureHistory: z.object({
    entries: z.array(z.looseObject({})).meta({ items: { $ref: "#/components/schemas/StructureEntry" } }),
  }),
  StructureUndone: z.object({ members: z.array(z.string()) }),
  SavedPictures: z.object({
    pictures: z.array(z.looseObject({ path: z.string() })),
    refused: z.record(z.string(), z.string()).describe("Reasons by path, of at most 100"),
  }),
  Object: z.object({
    id,
    fields: anyObject.describe("Values by column code; localised values in one language").optional(),
    geom: geometry.nullable().optional(),
    bbox: box.nullable().optional(),
  }),
  FoundObject: z.object({
    id,
    fields: anyObject.describe("Values by column code").optional(),
    geom: geometry.nullable().optional(),
    bbox: box.nullable().optional(),
    layer: z.string().describe("Code of the layer"),
    layer_id: z.int(),
    cluster: z
      .object({ count: z.int(), bbox: box })
      .describe(
        "Of an object that is drawn with others as one circle: how many they are, and the box around them in degrees",
      )
      .optional(),
  }),
  Geometry: geometry,
  FeatureCollection: z.object({
    type: z.literal("FeatureCollection"),
    features: z.array(
      z.object({
        type: z.literal("Feature"),
        geometry: geometry.nullable(),
        properties: anyObject.nullable(),
      }),
    ),
  }),
  File: z.object({ name: z.string(), path: z.string(), mime: z.string(), id, uuid: z.uuid() }),
  ListedFile: z.object({
    name: z.string(),
    path: z.string(),
    mime: z.string(),
    id,
    uuid: z.uuid(),
    size: z.int().describe("Bytes"),
  }),
  Legend: z.object({
    name: z.string(),
    column: z.string().nullable(),
    showValues: z.boolean(),
    showLegend: z.boolean(),
    minValue: z.number().nullable(),
    maxValue: z.number().nullable(),
    type: z
      .union([z.literal([...kindNumbers]), z.string()])
      .nullable()
      .describe("A text = a plug-in; null = the layer has no visualization"),
    classificators: z.array(
      z.object({
        value: z.unknown(),
        fill: z.string(),
        isIcon: z.boolean(),
        icon: z.string().describe("Path of its symbol; with `extended`").optional(),
        text: z
          .string()
          .nullable()
          .describe(
            "What it is, in the column's format and the language of the request; null = it has no value; with `extended`",
          )
          .optional(),
        size: z
          .number()
          .describe("Width of a bubble or a chart on the map, in pixels; with `extended`")
          .optional(),
        rim: z.string().describe("Colour of the rim of what has a size; with `extended`").optional(),
        isSquare: z
          .boolean()
          .describe("Whether what has a size is a square, as bars and lines are; with `extended`")
          .optional(),
        isNoData: z
          .boolean()
          .describe("Whether it is of objects without a value; with `extended`")
          .optional(),
        noRoom: z
          .enum(["dot", "smaller"])
          .describe(
            "It is of charts without room, which are dots, or smaller where that is enough; with `extended`",
          )
          .optional(),
        minZoom: z
          .int()
          .nullable()
          .describe("First zoom at which tiles show it; null = 0; with `extended`")
          .optional(),
        maxZoom: z
          .int()
          .nullable()
          .describe("Last such zoom; null = the last of all; with `extended`")
          .optional(),
      }),
    ),
    title: z
      .string()
      .describe("What to write above it: its name, or the title of the column; with `extended`")
      .optional(),
    sizeTitle: z
      .string()
      .nullable()
      .describe(
        "Title of the column that the sizes of charts tell; null = they tell the sum of their values; with `extended`",
      )
      .optional(),
    more: z.int().describe("How many classes are left out; with `extended`").optional(),
  }),
  LayerItem: z.object({
    id,
    code: z.string(),
    name: z.string(),
    priority: z.number(),
    type: z.literal("layer"),
    icon: z.string(),
  }),
  ObjectItem: z.object({
    name: z.string(),
    svc_id: id,
    priority: z.number(),
    layer: z.string(),
    type: z.literal("object"),
    name_column: z.string(),
    search_column: z.string(),
    layer_name: z.string(),
    layer_icon: z.string(),
    value: z.string(),
    detail: z
      .string()
      .describe("What tells it apart from others of its name, such as the address or the country")
      .optional(),
  }),
  SearchSetting: z.object({
    layer: z.string(),
    search_column: z.string(),
    name_column: z.string(),
    priority: z.number().optional(),
    weight_column: z.string().optional(),
    detail_column: z.string().optional(),
  }),
  Error: z.object({
    error: z.enum(["error", "warning", "notice"]),
    code: z.string().describe("Machine-readable code of the error"),
    message: z.string().describe("Human-readable description of the error"),
    data: anyObject.describe("Details, for example the missing parameters, or the columns with reasons"),
  }),
  Problem: z
    .object({
      ...{ type: z.string(), title: z.string(), status: z.int(), detail: z.string() },
      data: anyObject.describe("Of 409: what is in the way").optional(),
    })
    .describe("Problem details (RFC 9457), for clients whose Accept prefers JSON to HTML"),
};

/** Type of the response object of that name. */
export type Answered<Name extends keyof typeof schemas> = DeepReadonly<z.output<(typeof schemas)[Name]>>;

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;

export const answerSchemas = (): Readonly<Record<string, JsonSchema>> => namedSchemas(schemas);
