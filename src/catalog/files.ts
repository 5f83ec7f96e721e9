import { excerpt, failed, notFound, Reasons, refusedValues } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { layerTable } from "./layer-table.js";
import { requireFilled } from "./required.js";
import type { Column, LayerNode } from "./state.js";

/**
 * Files attached to objects: rows of the table `file`, whose ids objects list in columns of the type `file`. A file is
 * accessible while its object lists it. Writers lock the object first, then the file, as writers of objects do.
 */

export interface AttachedFile {
  readonly id: number;
  readonly uuid: string;
  readonly name: string;
  readonly mime: string;
  readonly bytes: number;
}

/** A list of files: the value of an object's column, in one language if the column is localised. */
export interface FilePlace {
  readonly layer: LayerNode;
  readonly objectId: number;
  readonly column: Column;
  readonly language: string;
}

/** A file with the codes of its project, map and layer. */
export interface FoundFile extends AttachedFile {
  readonly project: string;
  readonly map: string;
  readonly layer: string;
  readonly objectId: number;
  readonly columnId: number;
}

/**
 * The layer's column of that code.
 * @throws Failure file_column_required
 */
export function fileColumn(layer: LayerNode, code: string): Column {
  const column = layer.columns.find((one) => one.code === code);
  if (column?.type === "file") return column;
  throw failed("file_column_required", "field must name a column of the type file.", {
    field: excerpt(code),
  });
}

/** SQL of the ids in a column as bigint[]; `$2` is the language. */
const idsSql = ({ physical, localizedValue }: Column): string =>
  localizedValue
    ? `coalesce(string_to_array(${physical}->>$2::text, ',')::bigint[], '{}')`
    : `coalesce(${physical}, '{}')`;

/** SQL of the column's value with the ids of the SQL `list` (bigint[]). */
const valueSql = ({ physical, localizedValue }: Column, list: string): string =>
  localizedValue
    ? `(select case when l = '{}' then nullif(coalesce(${physical}, '{}') - $2::text, '{}')
         else coalesce(${physical}, '{}') || jsonb_build_object($2::text, array_to_string(l, ',')) end from (select ${list} as l) x)`
    : `nullif(${list}, '{}')`;

/** SQL of whether the column of an object `o` lists a file, in any language. */
const listsSql = (column: Pick<Column, "physical" | "localizedValue">, id: string): string =>
  column.localizedValue
    ? `exists (select from jsonb_each_text(o.${column.physical}) e where ${id}::text = any(string_to_array(e.value, ',')))`
    : `${id} = any(o.${column.physical})`;

/**
 * Attaches a file whose blob is stored already.
 * @throws Failure not_found when the object does not exist
 */
export function attachFile(
  db: Database,
  place: FilePlace,
  file: Omit<AttachedFile, "id">,
): Promise<AttachedFile> {
  const { layer, objectId, column, language } = place;
  return db.transaction(async (tx) => {
    const [made] = await tx.query<{ id: number }>(
      "select nextval(pg_get_serial_sequence('file', 'id')) as id",
    );
    const id = made!.id;
    const values: unknown[] = [objectId, column.localizedValue ? language : id];
    const added = column.localizedValue ? `$${values.push(id)}` : "$2";
    const changed = await tx.execute(
      `update ${layerTable(layer.id)} set ${column.physical} = ${valueSql(column, `${idsSql(column)} || ${added}::bigint`)}
       where svc_id = $1`,
      values,
    );
    if (changed === 0) throw notFound(`object ${objectId}`);
    await tx.execute(
      `insert into file (id, uuid, layer_id, object_id, column_id, name, mime, bytes) overriding system value
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [id, file.uuid, layer.id, objectId, column.id, file.name, file.mime, file.bytes],
    );
    return { ...file, id };
  });
}

/**
 * Removes a file from an object's column. If no other language of the column lists it, the file is deleted.
 * @returns uuid of the blob to delete; undefined if another language lists the file
 * @throws Failure not_found when the column does not list the file; invalid_value for the last file of a required column
 */
export function detachFile(db: Database, place: FilePlace, fileId: number): Promise<string | undefined> {
  const { layer, objectId, column, language } = place;
  return db.transaction(async (tx) => {
    const values: unknown[] = [objectId, column.localizedValue ? language : fileId];
    const id = `${column.localizedValue ? `$${values.push(fileId)}` : "$2"}::bigint`;
    const changed = await tx.execute(
      `update ${layerTable(layer.id)} set ${column.physical} = ${valueSql(column, `array_remove(${idsSql(column)}, ${id})`)}
       where svc_id = $1 and ${id} = any(${idsSql(column)})`,
      values,
    );
    if (changed === 0) throw notFound(`file ${fileId} in this column of the object`);
    if (column.required) await requireFilled(tx, layer, objectId, [column]);
    const [gone] = await tx.query<{ uuid: string }>(
      `delete from file where id = $1 and layer_id = $2 and object_id = $3 and column_id = $4
         and not exists (select from ${layerTable(layer.id)} o where o.svc_id = $3 and ${listsSql(column, "file.id")})
       returning uuid`,
      [fileId, layer.id, objectId, column.id],
    );
    return gone?.uuid;
  });
}

const fileRow = 'f.id, f.uuid, f.name, f.mime, f.bytes, f.object_id as "objectId", f.column_id as "columnId"';

/** The object's file with this id or uuid; undefined if the object does not list it. */
export async function fileOfObject(
  db: Queryable,
  layer: LayerNode,
  objectId: number,
  name: { readonly id: number } | { readonly uuid: string },
): Promise<AttachedFile | undefined> {
  const [key, value] = "id" in name ? ["id", name.id] : ["uuid", name.uuid];
  const [file] = await db.query<AttachedFile & { objectId: number; columnId: number }>(
    `select ${fileRow} from file f where f.${key} = $1 and f.layer_id = $2 and f.object_id = $3`,
    [value, layer.id, objectId],
  );
  return file && (await isListed(db, layer, file)) ? file : undefined;
}

/** Files of the object, ordered by id. */
export async function filesOfObject(
  db: Queryable,
  layer: LayerNode,
  objectId: number,
): Promise<readonly (AttachedFile & { readonly columnId: number })[]> {
  return db.query(`select ${fileRow} from file f where f.layer_id = $1 and f.object_id = $2 order by f.id`, [
    layer.id,
    objectId,
  ]);
}

/** Files that the object lists, ordered by id; undefined if there is no such object. @param most how many at most */
export async function listedFilesOfObject(
  db: Queryable,
  layer: LayerNode,
  objectId: number,
  most: number,
): Promise<readonly AttachedFile[] | undefined> {
  const columns = layer.columns.filter(({ type }) => type === "file");
  const values: (number | string)[] = [layer.id, objectId, most];
  const lists = columns.map((column) => {
    values.push(column.id);
    return `(f.column_id = $${values.length} and ${listsSql(column, "f.id")})`;
  });
  // A row without a file for an object without files.
  const rows = await db.query<AttachedFile | { readonly id: null }>(
    `select ${fileRow} from ${layerTable(layer.id)} o
     left join file f on f.object_id = o.svc_id and f.layer_id = $1 and (${lists.join(" or ") || "false"})
     where o.svc_id = $2 order by f.id limit $3`,
    values,
  );
  return rows.length === 0 ? undefined : rows.filter((row): row is AttachedFile => row.id !== null);
}

/** Finds a file by uuid, without checking that its object still lists it (`isListed`). */
export async function findFile(db: Queryable, uuid: string): Promise<FoundFile | undefined> {
  const [file] = await db.query<FoundFile>(
    `select ${fileRow}, p.code as project, m.code as map, n.code as layer
     from file f join node n on n.id = f.layer_id join map m on m.id = n.map_id join project p on p.id = m.project_id
     where f.uuid = $1`,
    [uuid],
  );
  return file;
}

/** Whether the file's object lists it. */
export async function isListed(
  db: Queryable,
  layer: LayerNode,
  file: { readonly id: number; readonly objectId: number; readonly columnId: number },
): Promise<boolean> {
  const column = layer.columns.find((one) => one.id === file.columnId);
  if (column?.type !== "file") return false;
  const rows = await db.query(
    `select from ${layerTable(layer.id)} o where o.svc_id = $1 and ${listsSql(column, "$2::bigint")}`,
    [file.objectId, file.id],
  );
  return rows.length > 0;
}

/**
 * Makes sure that the files belong to the object and the column, and locks them until the transaction ends. Does nothing
 * if the object does not exist.
 * @throws Failure invalid_value with data.columns
 */
export async function requireOwnFiles(
  tx: Queryable,
  layer: LayerNode,
  objectId: number | undefined,
  wanted: readonly { readonly column: Column; readonly ids: readonly number[] }[],
): Promise<void> {
  if (objectId !== undefined) {
    const lock = `select from ${layerTable(layer.id)} where svc_id = $1 for no key update`;
    if ((await tx.query(lock, [objectId])).length === 0) return;
  }
  const wrong = new Reasons();
  for (const { column, ids } of wanted) {
    const rows = await tx.query<{ id: number }>(
      `select id from file where id = any($1::bigint[]) and layer_id = $2 and object_id = $3 and column_id = $4 for key share`,
      [ids, layer.id, objectId ?? null, column.id],
    );
    const own = new Set(rows.map((row) => row.id));
    const foreign = ids.find((id) => !own.has(id));
    if (foreign !== undefined) wrong.add(column.code, `The object has no file ${foreign} in this column.`);
  }
  if (!wrong.empty) throw refusedValues(wrong);
}
