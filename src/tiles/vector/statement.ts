import { layerTable } from "../../catalog/layer-table.js";
import type { Languages } from "../../catalog/localized-value.js";
import type { LayerNode } from "../../catalog/state.js";
import type { MercatorBox } from "../../geo/tile.js";
import { worldCopies } from "../../geo/world-copies.js";
import { levelOf } from "../datasource.js";
import { nearSql } from "../large-shapes.js";
import { attributeSql, attributesOf } from "./attributes.js";

/** The SQL of vector tiles. Names of our own end in `$`, which no code of a column contains (catalog/codes.ts). */

/** Units a side of a tile. */
const extent = 4096;
/** Units around the tile up to which geometry is kept, so that outlines along its edges are not drawn. */
const bufferUnits = 64;
/** The same in pixels of 256 a tile. */
export const bufferPixels = (bufferUnits / extent) * 256;

/** Vector tiles are drawn at twice the size of images: https://maplibre.org/maplibre-style-spec/sources/#tiles */
const zoomsFiner = 1;

/** Bounds what PostgreSQL collects in memory for a layer: objects times the number of their values. */
const maxValues = 2_000_000;

/**
 * Stored bytes from which geometry is cut to the tile before it is put on the tile's grid, and cut exactly: of a country with
 * a hundred thousand vertices few are in a tile. (Measured: 15 % less CPU time for tiles of such a layer.)
 */
const largeBytes = 1_000;

/** Most bytes of all layers of a statement, before they are compressed. Clients take tiles of some hundred kilobytes well. */
export const maxBytes = 16 * 1024 ** 2;

/**
 * Gives for each layer a row with its number `n`, its `tile` in MVT, and the milliseconds `ms` that the statement took until
 * then. A layer that has too many objects has no tile, nor have the largest ones without which the others have `maxBytes` at
 * most: all would not be received, as what a message holds is a text in Node, of limited length.
 */
export interface VectorStatement {
  /** By number, what answers name them by. */
  readonly layers: readonly Pick<LayerNode, "id" | "code">[];
  /** The first two values are those of `boxValues`. */
  readonly text: string;
  /** The others. */
  readonly values: readonly string[];
}

export interface VectorStatementOptions {
  readonly zoom: number;
  readonly languages: Languages;
  /** Whether what is near the tile reaches beyond ±180°. */
  readonly atAntimeridian: boolean;
}

/** One statement over some layers, from the first to the last that is drawn. */
export function vectorStatement(
  layers: readonly LayerNode[],
  { zoom, languages, atAntimeridian }: VectorStatementOptions,
): VectorStatement {
  const values: string[] = [];
  const bind = (text: string) => `$${values.push(text) + 2}`;
  const selects = layers.map((layer, index) => {
    const attributes = attributesOf(layer);
    const limit = Math.floor(maxValues / (attributes.length + 1));
    const selected = attributes
      .map((attribute) => `, ${attributeSql(attribute, languages, bind)} as "${attribute.code}"`)
      .join("");
    const hasAttributes = attributes.length > 0;
    const objects = objectsOf(layer, zoom + zoomsFiner, { hasAttributes, selected, atAntimeridian });
    return (
      `select ${index} as n, case when count(*) <= ${limit} then ` +
      `coalesce(st_asmvt(layer$, ${bind(layer.code)}::text, ${extent}, 'geom$', 'svc_id'), '') end as tile ` +
      `from (${objects} limit ${limit + 1}) layer$`
    );
  });
  const text =
    `select n, case when sum(octet_length(tile)) over (order by octet_length(tile), n) <= ${maxBytes} then tile end as tile, ` +
    `1000 * extract(epoch from clock_timestamp() - statement_timestamp())::float8 as ms from (${selects.join(" union all ")}) layers$`;
  return { layers: layers.map(({ id, code }) => ({ id, code })), text, values };
}

/** SQL of the objects in the tile, in the order of their ids, as images have them. */
function objectsOf(
  layer: LayerNode,
  zoom: number,
  {
    hasAttributes,
    selected,
    atAntimeridian,
  }: { readonly hasAttributes: boolean; readonly selected: string; readonly atAntimeridian: boolean },
): string {
  const table = layerTable(layer.id);
  const level = levelOf(layer.generalizationLevels, zoom);
  const isView = layer.type === "virtual";
  const source = isView ? layerTable(layer.sourceId ?? layer.id) : table;
  const copy = (dx: number): string => {
    const moved = (geometry: string) => (dx === 0 ? geometry : `st_translate(${geometry}, ${dx}, 0)`);
    const near = dx === 0 ? "$1::geometry" : `st_translate($1::geometry, ${-dx}, 0)`;
    const cut = (geometry: string) =>
      layer.geometryKind === "Point"
        ? moved(geometry)
        : `case when pg_column_size(${geometry}) < ${largeBytes} then ${moved(geometry)} ` +
          `else coalesce(st_clipbybox2d(${moved(geometry)}, ($1::geometry)::box2d), ${moved(geometry)}) end`;
    const placed = (geometry: string) =>
      `st_asmvtgeom(${geometry}, $2::box2d, ${extent}, ${bufferUnits}, true) as geom$`;
    if (level === undefined) {
      const geometry = layer.hasVertexChunks ? moved(nearSql(`${source}_c`, near)) : cut("o$.geom_3857");
      return `select o$.svc_id, ${placed(geometry)}${selected} from ${table} o$ where o$.geom_3857 && ${near}`;
    }
    // A view has no generalized tables: those of its source are joined with the view's objects.
    const levelTable = `${source}_z${level}`;
    const objects = hasAttributes || isView ? ` join ${table} o$ on o$.svc_id = b$.svc_id` : "";
    return `select b$.svc_id, ${placed(cut("b$.geom"))}${selected} from ${levelTable} b$${objects} where b$.geom && ${near}`;
  };
  return `${worldCopies(layer, atAntimeridian).map(copy).join(" union all ")} order by 1`;
}

/** Values of a statement for the tile with this box: the area from which objects reach into it, and the tile itself. */
export function boxValues([xmin, ymin, xmax, ymax]: MercatorBox): [near: string, tile: string] {
  const margin = ((xmax - xmin) * bufferUnits) / extent;
  const [west, south, east, north] = [xmin - margin, ymin - margin, xmax + margin, ymax + margin];
  return [
    `SRID=3857;POLYGON((${west} ${south},${west} ${north},${east} ${north},${east} ${south},${west} ${south}))`,
    `BOX(${xmin} ${ymin},${xmax} ${ymax})`,
  ];
}
