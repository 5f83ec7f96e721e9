import { z } from "zod";
import { requireRead } from "../../access/rights.js";
import { createDerived, createExternal, type DerivedType } from "../../catalog/derived.js";
import { idNames } from "../../catalog/id-alias.js";
import type { NewLayer } from "../../catalog/layers.js";
import { hasObjects, isLayer, type LayerNode, type MapState } from "../../catalog/state.js";
import { readExternalSource } from "../../catalog/tile-layer-source.js";
import { failed, notFound, required } from "../../errors.js";
import { filterSql, requireExpressions } from "../../features/filter-language.js";
import { Constants } from "../../features/sql.js";
import { maxZoom } from "../../geo/tile.js";
import type { MapContext } from "../request/context.js";
import { anything, fieldsOf, invalid, isObject, text } from "../request/schema/fields.js";
import { reader } from "../request/schema/read.js";
import { objectSchema, ruled } from "../request/schema/schema.js";
import type { Services } from "../services.js";

/** Creation of virtual, materialized and external layers. */

export type LayerKind = "layer" | DerivedType | "external";

const kind = ruled(
  z.enum(["layer", "virtual", "material", "external"], "is layer, virtual, material or external"),
  { refuse: invalid },
).describe("`layer` has objects of its own; the other types are created from `source`.");

const isCodes = (given: unknown): given is string[] =>
  Array.isArray(given) && given.every((code) => typeof code === "string");

/** An array of codes, or codes separated by commas. */
const columns = ruled(
  z.preprocess(
    (given) => (typeof given === "string" ? given.split(",").map((code) => code.trim()) : given),
    z.custom<string[]>(isCodes),
  ),
  {
    refuse: () =>
      failed("invalid_value", "source.columns must be an array of column codes.", { parameter: "columns" }),
    blanks: [null, "", "*"],
  },
).meta({
  description:
    "Codes of the source's columns to include, as an array or a comma-separated string; default: all.",
  anyOf: [{ type: "array", items: { type: "string" } }, { type: "string" }],
});

/** Values of other types are answered as an unknown layer. */
const sourceName = ruled(anything("Code or id of a layer of this map.", { type: ["string", "integer"] }), {
  absent: () => required(["source.layer"]),
  blanks: [null, ""],
});

/** `source` of virtual and materialized layers. */
const sourceFields = {
  layer: sourceName,
  filter: text(
    "Filter expression that selects objects of the source; localised columns are compared in the main language. " +
      "Default: all objects.",
  ).default(""),
  columns: columns.optional(),
};
const readSource = reader(sourceFields);

/** `source` of external layers, validated by `readExternalSource`. */
const externalSchema = {
  type: "object",
  required: ["url"],
  properties: {
    url: {
      type: "string",
      description:
        "URL template with {z}, {x} and {y} (XYZ) or {-y} (TMS), or a URL with service=WMS in its query. The host " +
        "must be allowed by the installation.",
    },
    minZoom: { type: "integer", minimum: 0, maximum: maxZoom },
    maxZoom: { type: "integer", minimum: 0, maximum: maxZoom },
    attribution: { type: "string" },
  },
};

/** Body fields for the type and source of a new layer. */
export const kindFields = {
  type: kind.default("layer"),
  source: anything("Source of the layer; required unless `type` is `layer`.", {
    anyOf: [objectSchema(sourceFields), externalSchema],
  }).optional(),
};

/**
 * Creates a layer of `kind` from the `source` of the body.
 * @throws Failure required_parameters, invalid_value, unknown_column; not_found, forbidden (source); those of
 *   `createLayer`
 */
export async function createFromSource(
  services: Services,
  { project, map, caller }: MapContext,
  kind: Exclude<LayerKind, "layer">,
  { source, layer }: { readonly source: unknown; readonly layer: NewLayer },
): Promise<{ readonly id: number }> {
  if (source === undefined || source === null) throw required(["source"]);
  if (!isObject(source)) throw failed("invalid_value", "source must be an object.", { parameter: "source" });
  if (kind === "external") {
    return createExternal(services.db, map.id, {
      ...layer,
      source: readExternalSource(source, services.config.externalHosts),
    });
  }
  const { layer: sourceRef, filter: text, columns } = readSource(fieldsOf(source));
  const from = sourceLayer(map, sourceRef);
  requireRead(map, caller, from);
  // A copy of the source's objects.
  if (kind === "material") services.fullProjects.requireRoom(project);
  const filter = text.trim();
  return createDerived(services.db, map.id, {
    ...layer,
    type: kind,
    sourceId: from.id,
    filter,
    condition: filter === "" ? undefined : await condition(services, filter, map, from),
    // The object id is always included, so its names are not columns.
    columns: columns?.filter((code) => !idNames(from.columns).includes(code)),
  });
}

/** The layer with that code or id. @throws Failure not_found, invalid_value */
function sourceLayer(map: MapState, sourceRef: unknown): LayerNode {
  const found =
    typeof sourceRef === "number"
      ? map.nodes.get(sourceRef)
      : map.layers.get(typeof sourceRef === "string" ? sourceRef : "");
  if (!found) throw notFound("source layer of that code in this map");
  if (!isLayer(found) || !hasObjects(found))
    throw failed("invalid_value", `"${found.code}" has no objects.`, { parameter: "source" });
  return found;
}

/** The filter as SQL. Localised columns are compared in the main language of the map. */
async function condition(
  services: Services,
  filter: string,
  map: MapState,
  source: LayerNode,
): Promise<string> {
  const sql = filterSql(filter, {
    columns: source.columns,
    language: map.project.languages[0],
    values: new Constants(),
  });
  await requireExpressions(services.db, filter);
  return sql;
}
