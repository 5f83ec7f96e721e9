import { notFound } from "../errors.js";
import type { GeometryKind } from "../geo/wkb.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { settingsForColumns } from "../visual/for-columns.js";
import { type CopiedColumn, copyColumns } from "./derived-columns.js";
import { layerTable } from "./layer-table.js";
import { hideLayer, insertLayer, type NewLayer, type NewLayerRow } from "./layers.js";
import { fillTimeoutMs } from "./materialized.js";
import type { StoredSettings } from "./state.js";
import { lockStructure } from "./structure-transaction.js";
import { lockMap } from "./tree.js";

/** Copies of layers with objects of their own, with all of these. */

interface SourceRow {
  readonly parentId: number | null;
  readonly sort: number;
  readonly css: string;
  readonly mode: number;
  readonly renderType: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly selected: boolean;
  readonly icon: string;
  readonly kind: GeometryKind;
  readonly visual: StoredSettings | null;
  readonly custom: StoredSettings | null;
  readonly vector: StoredSettings | null;
}

/**
 * Copies a layer of the type `layer`: objects, columns, constraints, look, settings and who may do what with it. The copy stands
 * above it. Ids of the objects are new, and attached files stay with the original. Objects are those of now, the rest is as it is
 * when they are copied.
 * @returns its id and code
 * @throws Failure not_found (map, layer), invalid_code, code_exists, invalid_value; busy while its columns are changed, or an
 *   import writes to it
 */
export function copyLayer(
  db: Database,
  mapId: number,
  sourceId: number,
  made: Pick<NewLayer, "code" | "name" | "ownerId">,
): Promise<{ readonly id: number; readonly code: string }> {
  return db.transaction(async (tx) => {
    await tx.execute(`set local statement_timeout = ${fillTimeoutMs}`);
    await lockStructure(tx, sourceId, "shared");
    const hidden = await hideLayer(tx, mapId, { ...made, ...rowOf(await readSource(tx, mapId, sourceId)) });
    const { id } = hidden;
    const columns = await copyColumns(tx, { from: sourceId, to: id, codes: undefined });
    await tx.execute("select create_layer_table($1)", [id]);
    await copyObjects(tx, sourceId, id, columns);
    await tx.query("select generalize_layer($1)", [id]);
    await tx.query("select note_crowds($1)", [id]);
    await lockGrants(tx, mapId);
    await lockMap(tx, mapId);
    const source = await readSource(tx, mapId, sourceId);
    const copy = await insertLayer(tx, mapId, { ...made, ...rowOf(source), sort: source.sort - 0.5 }, hidden);
    await copySettings(tx, source, sourceId, id);
    return copy;
  });
}

const rowOf = ({ parentId, css, kind, selected, json }: SourceRow): NewLayerRow => ({
  ...{ type: "layer", parentId: parentId ?? 0, cssStyle: css, geometryKind: kind, selected, json },
});

/** Rights in the map's project stay as they are: who changes them locks its row, before that of a map. */
const lockGrants = (tx: Queryable, mapId: number): Promise<unknown> =>
  tx.query("select from project p join map m on m.project_id = p.id where m.id = $1 for key share of p", [
    mapId,
  ]);

async function readSource(tx: Queryable, mapId: number, id: number): Promise<SourceRow> {
  const [source] = await tx.query<SourceRow>(
    `select n.parent_id as "parentId", n.sort, n.css_style as css, n.style_mode as mode, n.render_type as "renderType",
       n.json, n.selected, n.icon, l.geometry_kind as kind, n.visual_settings as visual,
       n.visual_custom_settings as custom, n.vector_settings as vector
     from node n join layer l on l.id = n.id where n.id = $1 and n.map_id = $2 and n.type = 'layer'`,
    [id, mapId],
  );
  if (!source) throw notFound("layer of that code");
  return source;
}

/** @param columns of the copy, without svc_id and geom */
async function copyObjects(
  tx: Queryable,
  from: number,
  to: number,
  columns: readonly CopiedColumn[],
): Promise<void> {
  const [row] = await tx.query<{ clauses: string | null }>(
    `select string_agg(format('add column %I %s', own.name, format_type(a.atttypid, a.atttypmod)), ', ' order by a.attnum)
       as clauses
     from unnest($2::text[], $3::text[]) own (name, source)
       join pg_attribute a on a.attrelid = to_regclass($1) and a.attname = own.source::name`,
    [
      layerTable(from),
      columns.map(({ physical }) => physical),
      columns.map(({ sourcePhysical }) => sourcePhysical),
    ],
  );
  if (row?.clauses) await tx.execute(`alter table ${layerTable(to)} ${row.clauses}`);
  // Files belong to one object.
  const copied = columns.filter(({ type }) => type !== "file");
  const names = ["geom", ...copied.map(({ physical }) => physical)];
  const values = ["geom", ...copied.map(({ sourcePhysical }) => sourcePhysical)];
  // The history tells of the layer that was made, not of each of its objects.
  await tx.query("select set_config('mapwright.history', 'off', true)");
  await tx.execute(
    `insert into ${layerTable(to)} (${names.join(", ")})
     select ${values.join(", ")} from ${layerTable(from)} order by svc_id`,
  );
  await tx.query("select set_config('mapwright.history', 'on', true)");
  await tx.execute(`analyze ${layerTable(to)}`);
}

async function copySettings(tx: Queryable, source: SourceRow, from: number, to: number): Promise<void> {
  const pairs = await tx.query<{ from: number; to: number }>(
    `select s.id as from, own.id as to from layer_column s join layer_column own on own.layer_id = $2 and own.code = s.code
     where s.layer_id = $1`,
    [from, to],
  );
  const ids = new Map<unknown, number>(pairs.map((pair) => [pair.from, pair.to]));
  const settings = (stored: StoredSettings | null) =>
    stored && JSON.stringify(settingsForColumns(stored, ids));
  const numbered = (place: number) => `$${place}::jsonb || jsonb_build_object('id', nextval('container_id'))`;
  await tx.execute(
    `update node set visual_settings = ${numbered(2)}, visual_custom_settings = ${numbered(3)},
       vector_settings = ${numbered(4)}, style_mode = $5, render_type = $6, icon = $7 where id = $1`,
    [
      to,
      settings(source.visual),
      settings(source.custom),
      settings(source.vector),
      source.mode,
      source.renderType,
      source.icon,
    ],
  );
  await tx.execute(
    `insert into column_constraint (layer_id, type, name, column_ids, definition, sort)
     select $2, type, name, (
         select array_agg(own.id order by nth)
         from unnest(column_ids) with ordinality given (id, nth) join layer_column s on s.id = given.id
           join layer_column own on own.layer_id = $2 and own.code = s.code), definition, sort
     from column_constraint where layer_id = $1 order by id`,
    [from, to],
  );
  // Who may not see the layer may not see its copy.
  await tx.execute(
    `insert into access_grant (project_id, map_id, layer_id, account_id, rights)
     select project_id, map_id, $2, account_id, rights from access_grant where layer_id = $1`,
    [from, to],
  );
}
