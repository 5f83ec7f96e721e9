import { notFound } from "../errors.js";
import type { GeometryKind } from "../geo/wkb.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { settingsForColumns } from "../visual/for-columns.js";
import { type CopiedColumn, copyColumns } from "./derived-columns.js";
import { layerTable } from "./layer-table.js";
import type { NewLayer } from "./layers.js";
import { fillTimeoutMs } from "./materialized.js";
import type { StoredSettings } from "./state.js";
import { lockStructure } from "./structure-transaction.js";
import { chooseCode, deletedProject, lockMap, nextContainerId, placeNode, requireRoom } from "./tree.js";

/** Copies of layers with objects of their own, with all of these. */

interface SourceRow {
  readonly parentId: number | null;
  readonly sort: number;
  readonly kind: GeometryKind;
  readonly visual: StoredSettings | null;
  readonly custom: StoredSettings | null;
  readonly vector: StoredSettings | null;
}

type Made = Pick<NewLayer, "code" | "name" | "ownerId">;

/**
 * Copies a layer of the type `layer`: objects, columns, constraints, look, settings and who may do what with it. The copy stands
 * above it. Ids of the objects are new, and attached files stay with the original. The objects are copied in a hidden map, so that
 * nobody waits who changes something else of this one.
 * @returns its id and code
 * @throws Failure not_found (map, layer), invalid_code, code_exists, invalid_value; busy while its columns are changed, or an
 *   import writes to it
 */
export function copyLayer(
  db: Database,
  mapId: number,
  sourceId: number,
  made: Made,
): Promise<{ readonly id: number; readonly code: string }> {
  return db.transaction(async (tx) => {
    await tx.execute(`set local statement_timeout = ${fillTimeoutMs}`);
    await lockStructure(tx, sourceId, "shared");
    const { kind } = await readSource(tx, mapId, sourceId);
    // Looked at here, too, so that nothing is copied in vain.
    await requireRoom(tx, mapId);
    const hidden = await insertHidden(tx, kind);
    await chooseCode(tx, mapId, { id: hidden.id, kind: "layer" }, made.code);
    const columns = await copyColumns(tx, { from: sourceId, to: hidden.id, codes: undefined });
    await tx.execute("select create_layer_table($1)", [hidden.id]);
    await copyObjects(tx, sourceId, hidden.id, columns);
    await tx.query("select generalize_layer($1)", [hidden.id]);
    await tx.query("select note_crowds($1)", [hidden.id]);
    // Who may do what stays as it is until the copy has it, too: it is changed with the project's row locked.
    await tx.query(
      "select from project p join map m on m.project_id = p.id where m.id = $1 for key share of p",
      [mapId],
    );
    await lockMap(tx, mapId);
    return show(tx, { mapId, sourceId, hidden, made });
  });
}

interface Hidden {
  readonly id: number;
  /** The map that it is in. */
  readonly holder: number;
}

/** A layer that nobody sees, without columns and table. */
async function insertHidden(tx: Queryable, kind: GeometryKind): Promise<Hidden> {
  const [place] = await tx.query<{ id: number }>(
    `insert into map (id, project_id, code) select id, ${deletedProject}, id::text from nextval('container_id') id returning id`,
  );
  const holder = place!.id;
  const id = await nextContainerId(tx);
  await tx.execute("insert into node (id, map_id, type, code) values ($1, $2, 'layer', $1::bigint::text)", [
    id,
    holder,
  ]);
  await tx.execute("insert into layer (id, geometry_kind) values ($1, $2)", [id, kind]);
  return { id, holder };
}

/** Moves the copy into the map, whose row is locked, with what its layer has then. */
async function show(
  tx: Queryable,
  {
    mapId,
    sourceId,
    hidden: { id, holder },
    made,
  }: { readonly mapId: number; readonly sourceId: number; readonly hidden: Hidden; readonly made: Made },
): Promise<{ readonly id: number; readonly code: string }> {
  await requireRoom(tx, mapId);
  const source = await readSource(tx, mapId, sourceId);
  const code = await chooseCode(tx, mapId, { id, kind: "layer" }, made.code);
  const { name, localized, names } = made.name ?? { name: "", localized: false, names: {} };
  await tx.execute(
    `update node own set map_id = $2, code = $3, name = $4, localized_name = $5, names = $6, owner_id = $7, parent_id = s.parent_id,
       css_style = s.css_style, style_mode = s.style_mode, render_type = s.render_type, icon = s.icon, json = s.json,
       selected = s.selected
     from node s where own.id = $1 and s.id = $8`,
    [id, mapId, code, name, localized, JSON.stringify(names), made.ownerId ?? null, sourceId],
  );
  await tx.execute("delete from map where id = $1", [holder]);
  await placeNode(tx, mapId, { id, parentId: source.parentId }, source.sort - 0.5);
  await copySettings(tx, source, sourceId, id);
  return { id, code };
}

async function readSource(tx: Queryable, mapId: number, id: number): Promise<SourceRow> {
  const [source] = await tx.query<SourceRow>(
    `select n.parent_id as "parentId", n.sort, l.geometry_kind as kind, n.visual_settings as visual,
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
       vector_settings = ${numbered(4)} where id = $1`,
    [to, settings(source.visual), settings(source.custom), settings(source.vector)],
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
