import type { LayerNode } from "../catalog/state.js";
import { failed, notFound, Reasons, refusedValues } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { lacksHeightSql, shapeFailed, validSql } from "./shape-sql.js";
import { layerTable, Values } from "./sql.js";
import { saveFailed } from "./statement-failure.js";
import { requireAbsence, versionCondition } from "./version.js";

/**
 * Splits an object by a line, in one transaction. The largest piece stays with the object, and with it its id, its files, its
 * history, and the parts of its geometry that the line does not cut. Each other piece becomes an object with the same values.
 */

export interface SplitRequest {
  readonly id: number;
  /** EWKB of a line in EPSG:4326. */
  readonly line: Buffer;
  /** Versions of the object that may be split (If-Match); undefined = any. */
  readonly versions?: readonly string[] | undefined;
}

export interface Split {
  /** The object, then the new ones in the order of their sizes. */
  readonly ids: readonly number[];
  /** Id of the transaction, for `Changes.propagate`. */
  readonly receipt: string;
}

/** Most pieces that one object is split into. */
export const mostPieces = 1_000;

/**
 * @throws Failure not_found; precondition_failed when the object has none of the versions; invalid_value for what cannot be split,
 *   a line that does not cut it, and too many pieces
 */
export function splitObject(db: Database, layer: LayerNode, request: SplitRequest): Promise<Split> {
  const files = layer.columns.find(({ type, required }) => type === "file" && required);
  if (files)
    return Promise.reject(
      refusedValues(Reasons.of(files.code, "It is required, and the new objects would have no files.")),
    );
  return db.transaction(async (tx) => {
    const { dimension, isMulti } = await lockObject(tx, layer, request);
    const { text, values } = splitStatement(layer, request, {
      dimension,
      isMulti,
      copied: await copiedColumns(tx, layer),
    });
    const rows = await tx
      .query<{ pieces: number; ids: string[]; r: string }>(text, values)
      .catch(shapeFailed)
      .catch(saveFailed);
    const { pieces, ids, r } = rows[0]!;
    if (pieces < 2) throw refused("line", "The line does not cut the object.");
    if (pieces > mostPieces)
      throw refused("line", `The line cuts the object into more than ${mostPieces} pieces.`);
    return { ids: [request.id, ...ids.map(Number)], receipt: r };
  });
}

const refused = (parameter: string, message: string) => failed("invalid_value", message, { parameter });

const dimensions: Readonly<Record<string, { readonly dimension: 1 | 2; readonly isMulti: boolean }>> = {
  ST_LineString: { dimension: 1, isMulti: false },
  ST_MultiLineString: { dimension: 1, isMulti: true },
  ST_Polygon: { dimension: 2, isMulti: false },
  ST_MultiPolygon: { dimension: 2, isMulti: true },
};

/** Edges of the object times edges of the line: so often they may cross, and PostGIS makes all pieces before one can count them. */
const mostCrossings = 5e7;

async function lockObject(tx: Queryable, layer: LayerNode, { id, line, versions }: SplitRequest) {
  const values = new Values();
  const key = values.bind(id);
  const blade = values.bind(line);
  const [found] = await tx.query<{ type: string | null; crossings: number }>(
    `select case when not st_isempty(geom) then st_geometrytype(geom) end as type,
       st_npoints(geom)::float8 * st_npoints(st_geomfromewkb(${blade}::bytea)) as crossings
     from ${layerTable(layer.id)}
     where svc_id = ${key}::bigint${versionCondition(layer, versions, values)} for update`,
    values.list,
  );
  if (!found) {
    await requireAbsence(tx, layer, id, versions);
    throw notFound(`object ${id}`);
  }
  if (found.type === null) throw refused("object", "The object has no geometry.");
  const kind = dimensions[found.type];
  if (!kind) throw refused("object", "Only objects that are lines or areas can be split.");
  if (found.crossings > mostCrossings)
    throw refused("line", "The object has too many positions for a line of so many: take a simpler line.");
  return kind;
}

/**
 * Physical columns whose values new objects get: all but files, which belong to one object. They are looked up while the object is
 * locked, since columns may just have been added, and those in the bin keep their values.
 */
async function copiedColumns(tx: Queryable, layer: LayerNode): Promise<readonly string[]> {
  const rows = await tx.query<{ name: string }>(
    `select attname::text as name from pg_attribute where attrelid = to_regclass($1) and attnum > 0 and not attisdropped
       and attname not in ('svc_id', 'geom', 'geom_3857')
       and not exists (select from layer_column c where 'c' || c.id = attname and c.type = 'file') order by attnum`,
    [layerTable(layer.id)],
  );
  return rows.map(({ name }) => name);
}

interface Cut {
  readonly dimension: 1 | 2;
  readonly isMulti: boolean;
  readonly copied: readonly string[];
}

/** Numbered pieces of each part of a geometry; of a part that is not cut there may be one, or none. */
const piecesSql = {
  2: "select p.part, d.geom as g from parts p, blade, st_dump(st_split(p.g, blade.g)) d where st_intersects(p.g, blade.g)",
  // ST_Split would cut a line also where it crosses itself, and a ring where it begins.
  1: `select c.part, s.g from cut c
      cross join lateral generate_series(1, cardinality(c.at) - case when c.is_ring then 0 else 1 end) i
      cross join lateral (select case
        when i = cardinality(c.at) then st_makeline(st_linesubstring(c.g, c.at[i], 1), st_linesubstring(c.g, 0, c.at[1]))
        else st_linesubstring(c.g, c.at[i], c.at[i + 1]) end as g) s
      where st_length(s.g) > 0`,
};

/** Where lines are cut, as fractions of their length, with those of their ends; of a ring that is not cut where it begins, without. */
const cutSql = `select part, g, is_ring, case when is_ring then inner_at else 0::float8 || inner_at || 1::float8 end as at
  from (
    select p.part, p.g, st_isclosed(p.g) and not bool_or(f.at in (0, 1)) as is_ring,
      array_agg(distinct f.at order by f.at) filter (where f.at > 0 and f.at < 1) as inner_at
    from parts p
      cross join lateral (select st_intersection(st_force2d(p.g), blade.g) as g from blade offset 0) met
      -- What the line has in common with the part is cut out of it.
      cross join lateral (
        select d.geom from st_dump(st_collectionextract(met.g, 1)) d
        union all
        select d.geom from st_dump(st_boundary(st_linemerge(st_collectionextract(met.g, 2)))) d
        limit ${mostPieces + 1}
      ) place
      cross join lateral (select st_linelocatepoint(p.g, place.geom) as at) f
    group by p.part, p.g
  ) found where inner_at is not null`;

/** Sizes that can be compared: degrees of longitude are shorter away from the equator. */
const sizeSql = {
  2: "st_area(g) * cos(radians(st_y(st_centroid(g))))",
  1: "st_length(st_scale(g, cos(radians(st_y(st_centroid(g)))), 1))",
};

function splitStatement(layer: LayerNode, { id, line }: SplitRequest, { dimension, isMulti, copied }: Cut) {
  const table = layerTable(layer.id);
  const values = new Values();
  const key = `${values.bind(id)}::bigint`;
  const flattened = (geometry: string) => `case when flat then st_force2d(${geometry}) else ${geometry} end`;
  const piece = isMulti ? `st_multi(${flattened("r.g")})` : flattened("r.g");
  // A repaired area may have several parts.
  const whole = `case when ${isMulti} or count(*) > 1 then st_multi(st_collect(own.g order by own.part)) else (array_agg(own.g))[1] end`;
  const list = copied.map((name) => `, ${name}`).join("");
  const text = `with blade as materialized (select st_force2d(st_geomfromewkb(${values.bind(line)}::bytea)) as g),
    parts as materialized (
      select row_number() over () as part, d.geom as g
      from ${table} o, st_dump(${validSql("o.geom")}) d where o.svc_id = ${key}),
    ${dimension === 1 ? `cut as materialized (${cutSql}),` : ""}
    pieces as materialized (
      select part, g, count(*) over (partition by part) as of_part from (${piecesSql[dimension]}) all_pieces),
    ranked as materialized (
      select part, g, row_number() over (order by ${sizeSql[dimension]} desc, st_xmin(g), st_ymin(g)) as rank
      from pieces where of_part > 1),
    done as materialized (
      select count(*)::int as pieces, count(*) between 2 and ${mostPieces} as isfit,
        coalesce(bool_or(${lacksHeightSql("g")}), false) as flat
      from ranked),
    kept as materialized (
      select ${flattened(whole)} as g
      from done, (
        select part, g from parts where part not in (select part from ranked)
        union all select part, g from ranked where rank = 1) own
      where isfit group by flat),
    changed as (update ${table} o set geom = kept.g from kept where o.svc_id = ${key} returning o.svc_id),
    made as (
      insert into ${table} (geom${list})
      select ${piece}${copied.map((name) => `, o.${name}`).join("")}
      from done, ranked r, ${table} o where isfit and o.svc_id = ${key} and r.rank > 1 order by r.rank
      returning svc_id)
    select pieces, array(select svc_id::text from made order by made.svc_id) as ids, pg_current_xact_id()::text as r from done`;
  return { text, values: values.list };
}
