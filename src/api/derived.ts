import { createDerived, createExternal, type DerivedType } from "../catalog/derived.js";
import { readExternalSource } from "../catalog/external-source.js";
import type { NewLayer } from "../catalog/layers.js";
import { requireRead } from "../catalog/rights.js";
import { hasObjects, isLayer, type LayerNode, type MapState } from "../catalog/state.js";
import { failed, notFound, required } from "../errors.js";
import { filterSql, requireExpressions } from "../features/filter-language.js";
import { Constants } from "../features/sql.js";
import { type Fields, isObject, own, textField } from "./input.js";
import type { Services } from "./services.js";
import type { Visit } from "./visit.js";

/** Creation of the layers that are not made by hand: virtual, materialized and external ones. */

export type LayerKind = "layer" | DerivedType | "external";

/** `type` of a new layer; absent = a vector layer. @throws Failure invalid_value */
export function layerKind(fields: Fields): LayerKind {
  const type = textField(fields, "type") || "layer";
  switch (type) {
    case "layer":
    case "virtual":
    case "material":
    case "external":
      return type;
    default:
      throw failed(
        "invalid_value",
        type === "raster"
          ? "A raster layer is made by importing a raster file."
          : "type is layer, virtual, material or external.",
        { parameter: "type" },
      );
  }
}

/**
 * Makes a layer of `kind` from the body's `source`.
 * @throws Failure required_parameters, invalid_value, unknown_column; not_found, forbidden (source); those of
 *   `createLayer`
 */
export async function createFromSource(
  services: Services,
  { map, caller }: Visit,
  kind: Exclude<LayerKind, "layer">,
  { fields, layer }: { readonly fields: Fields; readonly layer: NewLayer },
): Promise<{ readonly id: number }> {
  const source = own(fields, "source");
  if (source === undefined) throw required(["source"]);
  if (!isObject(source)) throw failed("invalid_value", "source must be an object.", { parameter: "source" });
  if (kind === "external") {
    return createExternal(services.db, map.id, {
      ...layer,
      source: readExternalSource(source, services.config.externalHosts),
    });
  }
  const from = sourceLayer(map, source);
  requireRead(map, caller, from);
  const filter = textField(source, "filter")?.trim() ?? "";
  return createDerived(services.db, map.id, {
    ...layer,
    type: kind,
    sourceId: from.id,
    filter,
    condition: filter === "" ? undefined : await condition(services, filter, map, from),
    columns: codesField(source),
  });
}

/** `source.layer`: a layer's code, or its id. @throws Failure required_parameters, not_found, invalid_value */
function sourceLayer(map: MapState, source: Fields): LayerNode {
  const named = own(source, "layer");
  if (named === undefined || named === "") throw required(["source.layer"]);
  const found =
    typeof named === "number" ? map.nodes.get(named) : map.layers.get(typeof named === "string" ? named : "");
  if (!found) throw notFound("source layer of that code in this map");
  if (!isLayer(found) || !hasObjects(found))
    throw failed("invalid_value", `"${found.code}" has no objects.`, { parameter: "source" });
  return found;
}

/** Localised columns are filtered by the values of the map's main language. */
async function condition(
  services: Services,
  filter: string,
  map: MapState,
  source: LayerNode,
): Promise<string> {
  const main = map.project.languages[0];
  const sql = filterSql(filter, {
    columns: source.columns,
    languages: { own: main, main },
    values: new Constants(),
  });
  await requireExpressions(services.db, filter);
  return sql;
}

/** `source.columns`: an array of codes, or codes separated by commas; absent = all. */
function codesField(source: Fields): string[] | undefined {
  const given = own(source, "columns");
  if (given === undefined || given === "" || given === "*") return undefined;
  const codes = typeof given === "string" ? given.split(",").map((code) => code.trim()) : given;
  if (Array.isArray(codes) && codes.every((code) => typeof code === "string")) return codes;
  throw failed("invalid_value", "source.columns must be an array of column codes.", { parameter: "columns" });
}
