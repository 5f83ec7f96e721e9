import { failed } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";
import { fitsSql } from "./convert.js";
import type { Matched } from "./match.js";

/** Checks of the staged rows before the import writes to the layer. Features are numbered from 1. */

/** At most 15 digits, well below 2^53, so that ids of later objects are exact as doubles too. */
const idPattern = "^0*[1-9]\\d{0,14}(\\.0+)?$";
const shownLength = 80;

/**
 * Checks that every value can be converted to its column's type.
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
      `Feature ${bad.row}: "${bad.value}" is not a value of type ${type} for column ${code}.`,
      {
        column: code,
        feature: bad.row,
        value: bad.value,
      },
    );
  }
}

/**
 * Checks that coordinates are within longitude ±360 and latitude ±90; others usually come from a wrong `srs`. Compares the
 * cached bounding boxes of PostGIS, which are rounded outwards to single precision.
 * @throws Failure invalid_geometry with `data.feature`
 */
export async function checkCoordinates(db: Queryable, staging: string): Promise<void> {
  const [bad] = await db.query<{ row: number }>(
    `select row from staging.${staging}
     where not geom @ st_makeenvelope(-360.001, -90.001, 360.001, 90.001, 4326) and not st_isempty(geom)
     order by row limit 1`,
  );
  if (!bad) return;
  throw failed(
    "invalid_geometry",
    `Feature ${bad.row} lies outside longitude -360 to 360 and latitude -90 to 90. Does srs match the file?`,
    { feature: bad.row },
  );
}

/**
 * Checks that object ids are positive whole numbers without duplicates.
 * @returns the highest id; 0 when there is none
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
  if (bad) throw refuse(bad, "is not a positive whole number");
  const id = `split_part(${text}, '.', 1)::bigint`;
  const [duplicate] = await db.query<{ row: number; value: string }>(
    `select max(row) as row, min(${text}) as value from staging.${staging}
     where ${text} is not null group by ${id} having count(*) > 1 limit 1`,
  );
  if (duplicate) throw refuse(duplicate, "occurs more than once");
  const [highest] = await db.query<{ id: number | null }>(`select max(${id}) as id from staging.${staging}`);
  return highest?.id ?? 0;
}

/** Staged columns and their layer, for the check of file ids. */
export interface FileCheck {
  readonly layerId: number;
  readonly columns: readonly Matched[];
  readonly idIndex: number | undefined;
}

/**
 * Checks that the ids in file columns are files of the same object and column; a feature with files must therefore have an
 * object id. Called after `checkValues` and `checkIds`.
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

/** SQL of a staged object id that `checkIds` has accepted; some programs write 12 as 12.0. */
export const idSql = (index: number): string => `split_part(s.p${index}, '.', 1)::bigint`;
