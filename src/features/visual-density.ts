import type { LayerNode } from "../catalog/state.js";
import { mercatorHalf } from "../geo/tile.js";
import type { Queryable } from "../storage/postgres.js";
import type { DensityQuestion } from "../visual/statistics.js";
import { quantity, within } from "../visual/value-sql.js";
import type { Density, Range } from "../visual/values.js";
import type { Languages } from "./column-sql.js";
import { layerTable, Values } from "./sql.js";

/** How close together the objects of a layer are at each zoom. */

/** Nearer, objects are taken to be as close together as here. */
const deepestZoom = 16;
/** Of more objects a part stands for all. */
const mostObjects = 50_000;
/** Part of the squares with objects that are at most as dense as what counts as dense. */
const dense = 0.98;

/**
 * The density at each zoom from 0, in steps of half a doubling: few edits change it, so that few draw a layer anew. Empty if no
 * object has a weight above 0.
 * @param at.range of the values of the weights' column
 */
export async function densityOf(
  tx: Queryable,
  layer: LayerNode,
  { pixels, weight, weights }: DensityQuestion,
  at: { readonly range: Range | null; readonly languages: Languages },
): Promise<Density[]> {
  const table = layerTable(layer.id);
  const [all] = await tx.query<{ n: number }>(`select count(*) as n from ${table}`);
  const share = Math.max(1, Math.ceil(all!.n / mostObjects));
  const bound = new Values();
  const context = { languages: at.languages, bind: (text: string) => bound.bind(text) };
  const own = weight && quantity(weight, context);
  const w = own === undefined ? "1::float8" : weights ? within(own, at.range, weights) : `(${own})::float8`;
  // As many as fit into each half of the world, so that those at ±180° are as any others.
  const half = Math.max(1, Math.round(128 / pixels)) * 2 ** deepestZoom;
  const side = bound.bind(mercatorHalf / half);
  // Each zoom is put together from the squares of the one below it.
  const zooms = Array.from({ length: deepestZoom }, (_, up) => deepestZoom - 1 - up);
  const levels = zooms.map(
    (zoom) =>
      `z${zoom} as materialized (select x >> 1 as x, y >> 1 as y, sum(w) as w from z${zoom + 1} group by 1, 2)`,
  );
  const answers = [deepestZoom, ...zooms].map(
    (zoom) =>
      `select ${zoom} as zoom, percentile_disc(array[0.5, ${dense}]) within group (order by w) as at from z${zoom}`,
  );
  const rows = await tx.query<{ at: readonly [usual: number, dense: number] | null }>(
    `with z${deepestZoom} as materialized (
       select (floor((st_xmin(geom_3857) + st_xmax(geom_3857)) / 2 / ${side}::float8)::bigint + ${4 * half}) % ${2 * half} as x,
         floor((st_ymin(geom_3857) + st_ymax(geom_3857)) / 2 / ${side}::float8)::bigint as y, sum(w) as w, count(*) as n
       from (select geom_3857, ${w} as w from ${table} where not st_isempty(geom_3857) and hashint8(svc_id) % ${share} = 0) o$
       where w > 0 group by 1, 2),
     ${levels.join(", ")} ${answers.join(" union all ")}
     union all select -1, array[sum(w) / sum(n)] from z${deepestZoom} order by zoom`,
    bound.list,
  );
  const [one, ...found] = rows.flatMap(({ at: each }) => (each && each[0] !== null ? [each] : []));
  // Squares of a part hold at least one object each, where those of all may hold no more.
  const whole = (each: number) => steps(share === 1 ? each : one![0] + Math.max(0, each - one![0]) * share);
  return found.map(([usual, most]) => ({ usual: whole(usual), dense: whole(most) }));
}

const steps = (number: number): number => 2 ** (Math.round(2 * Math.log2(number)) / 2);
