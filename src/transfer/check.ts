import { failed } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";
import { fitsSql } from "./convert.js";
import type { Matched } from "./match.js";

/** What must hold of staged rows before the layer is touched. Rows count from 1. */

/** Ids stay far below 2^53, so that objects made later get ids that a double holds too. */
const idPattern = "^0*[1-9]\\d{0,14}(\\.0+)?$";
const shownLength = 80;

/**
 * Every value becomes one of its column.
 * @throws Failure import_failed with `data.column`, `data.feature`, `data.value`
 */
export async function checkValues(
  db: Queryable,
  staging: string,
  columns: readonly Matched[],
): Promise<void> {
  for (const matched of columns) {
    const fits = fitsSql(matched);
    if (fits === undefined) continue;
    const [bad] = await db.query<{ row: number; value: string }>(
      `select row, left(p${matched.index}, ${shownLength}) as value from staging.${staging} s
       where p${matched.index} is not null and not (${fits}) order by row limit 1`,
    );
    if (!bad) continue;
    const { code, type } = matched.column;
    throw failed(
      "import_failed",
      `Feature ${bad.row}: "${bad.value}" is no value of type ${type} for column ${code}.`,
      {
        column: code,
        feature: bad.row,
        value: bad.value,
      },
    );
  }
}

/**
 * Every place is on the globe, or twice around it; what is not was mostly sent with the wrong `srs`. The boxes that
 * PostGIS keeps beside geometries are compared, which are rounded outwards to single precision.
 * @throws Failure invalid_geometry with `data.feature`
 */
export async function checkPlaces(db: Queryable, staging: string): Promise<void> {
  const [bad] = await db.query<{ row: number }>(
    `select row from staging.${staging}
     where not geom @ st_makeenvelope(-360.001, -90.001, 360.001, 90.001, 4326) and not st_isempty(geom)
     order by row limit 1`,
  );
  if (!bad) return;
  throw failed(
    "invalid_geometry",
    `Feature ${bad.row} lies outside of longitude -360 to 360 and latitude -90 to 90. Is srs the file's?`,
    { feature: bad.row },
  );
}

/**
 * Object ids are whole positive numbers, each of one feature.
 * @returns the highest; 0 when no feature brings one
 * @throws Failure import_failed with `data.column`, `data.feature`, `data.value`
 */
export async function checkIds(db: Queryable, staging: string, idIndex: number | undefined): Promise<number> {
  if (idIndex === undefined) return 0;
  const text = `p${idIndex}`;
  const refuse = (bad: { row: number; value: string }, reason: string) =>
    failed("import_failed", `Feature ${bad.row}: the svc_id "${bad.value}" ${reason}.`, {
      column: "svc_id",
      feature: bad.row,
      value: bad.value,
    });
  const [bad] = await db.query<{ row: number; value: string }>(
    `select row, left(${text}, ${shownLength}) as value from staging.${staging}
     where ${text} is not null and ${text} !~ '${idPattern}' order by row limit 1`,
  );
  if (bad) throw refuse(bad, "is no whole positive number");
  const id = `split_part(${text}, '.', 1)::bigint`;
  const [twice] = await db.query<{ row: number; value: string }>(
    `select max(row) as row, min(${text}) as value from staging.${staging}
     where ${text} is not null group by ${id} having count(*) > 1 limit 1`,
  );
  if (twice) throw refuse(twice, "comes more than once");
  const [highest] = await db.query<{ id: number | null }>(`select max(${id}) as id from staging.${staging}`);
  return highest?.id ?? 0;
}

/** Where file ids are checked. */
export interface FileCheck {
  readonly layerId: number;
  readonly columns: readonly Matched[];
  readonly idIndex: number | undefined;
}

/**
 * Objects list files of their own, of the same column; so a feature that names any must name its object too. Values
 * and ids have been checked by themselves.
 * @throws Failure import_failed with `data.column`, `data.feature`, `data.value`
 */
export async function checkFiles(
  db: Queryable,
  staging: string,
  { layerId, columns, idIndex }: FileCheck,
): Promise<void> {
  const objectId = idIndex === undefined ? "null::bigint" : idSql(idIndex);
  for (const { column, index } of columns) {
    if (column.type !== "file") continue;
    const [bad] = await db.query<{ row: number; value: string }>(
      `select row, left(p${index}, ${shownLength}) as value from staging.${staging} s
       where btrim(p${index}) <> '' and exists (
         select from unnest(string_to_array(btrim(p${index}), ',')::bigint[]) named(id)
         where not exists (select from file f where f.id = named.id and f.layer_id = $1
           and f.object_id = ${objectId} and f.column_id = $2))
       order by row limit 1`,
      [layerId, column.id],
    );
    if (!bad) continue;
    throw failed(
      "import_failed",
      `Feature ${bad.row}: "${bad.value}" in column ${column.code} names files that the object does not have.`,
      { column: column.code, feature: bad.row, value: bad.value },
    );
  }
}

/** SQL of an object's id that `checkIds` let pass; 12.0 is how some programs write the whole number 12. */
export const idSql = (index: number): string => `split_part(s.p${index}, '.', 1)::bigint`;
