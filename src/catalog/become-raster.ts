import { failed, notFound } from "../errors.js";
import type { GeometryKind } from "../geo/wkb.js";
import type { Queryable } from "../storage/postgres.js";
import { readDefault } from "../style/read-default.js";
import { lockForAlter } from "./derived.js";
import { layerTable } from "./layer-table.js";
import type { NodeType } from "./state.js";
import { dependedOn } from "./tree.js";

/** A layer without objects becomes a raster layer: its table and columns go, for a raster layer has neither. */

/** Why a layer cannot hold an image. @throws Failure not_found, import_failed */
export async function requireEmptyOrRaster(db: Queryable, layerId: number): Promise<NodeType> {
  const [layer] = await db.query<{ type: NodeType; code: string }>(
    "select type, code from node where id = $1",
    [layerId],
  );
  if (!layer) throw notFound("layer of that code");
  if (layer.type === "raster") return layer.type;
  if (layer.type !== "layer") throw failed("import_failed", `The layer "${layer.code}" takes no images.`);
  const [objects] = await db.query<{ exist: boolean }>(
    `select exists (select from ${layerTable(layerId)}) as exist`,
  );
  if (!objects!.exist) return layer.type;
  throw failed(
    "import_failed",
    `The layer "${layer.code}" has objects, so it cannot hold an image: import it into a new layer.`,
  );
}

/**
 * Makes it a raster layer, if it is none. The caller holds the layer's import lock and the map's row. Settings that name
 * columns, and a style that was the default one of its objects, go too.
 * @throws Failure not_found, import_failed; invalid_value when other layers are derived from it
 */
export async function becomeRaster(tx: Queryable, layerId: number): Promise<void> {
  if ((await requireEmptyOrRaster(tx, layerId)) === "raster") return;
  await lockForAlter(tx, layerId);
  // Objects may have been added until the lock was there.
  await requireEmptyOrRaster(tx, layerId);
  const derived = await tx.query<{ code: string }>(
    "select n.code from layer l join node n on n.id = l.id where l.source_id = $1 order by n.code",
    [layerId],
  );
  if (derived.length > 0) throw dependedOn(derived.map(({ code }) => code));
  const [layer] = await tx.query<{ kind: GeometryKind; bands: number[]; css: string }>(
    `select l.geometry_kind as kind, l.bands, n.css_style as css from layer l join node n on n.id = l.id
     where l.id = $1 for update of l`,
    [layerId],
  );
  const css = readDefault(layer!.css, layer!.kind) ? "" : layer!.css;
  const table = layerTable(layerId);
  await tx.execute(`drop table ${[table, ...layer!.bands.map((zoom) => `${table}_z${zoom}`)].join(", ")}`);
  await tx.execute(`drop table if exists ${table}_c`);
  await tx.execute("delete from search_setting where layer_id = $1", [layerId]);
  await tx.execute("delete from layer_column where layer_id = $1", [layerId]);
  await tx.execute("delete from column_constraint where layer_id = $1", [layerId]);
  await tx.execute(
    "update layer set geometry_kind = 'Unknown', bands = '{}', has_runs = false where id = $1",
    [layerId],
  );
  await tx.execute(
    `update node set type = 'raster', css_style = $2, style_mode = $3,
       visual_settings = null, visual_custom_settings = null, vector_settings = null, render_type = 0
     where id = $1`,
    [layerId, css, css === "" ? 0 : 2],
  );
}
