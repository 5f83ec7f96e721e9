import { layerTable } from "../catalog/layer-table.js";
import type { Column } from "../catalog/state.js";
import { isValueType, physicalType } from "../column-types/column-types.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { type LongTransaction, longTransaction } from "./cancellable.js";
import { stagedRows } from "./object-match.js";
import { requireSameColumns } from "./reserve-columns.js";
import { newValues, reserveIds, type WritePlan } from "./write.js";

/**
 * A new table for a layer whose objects all come from the file. It is filled and then indexed, which is several times
 * faster than to keep indexes up row by row, and takes the place of the layer's table at the end. It lies in the schema
 * `staging` until then.
 */

/** Below this number of rows the layer's own table is written to: a new one would not be faster. */
const leastRows = 5_000;
/** While the exclusive lock waits for a long query, it blocks all later queries: it gives up soon. */
const lockTimeoutMs = 2_000;
const attempts = 5;
const indexMemory = "128MB";

export interface FilledTable {
  /** In the schema `staging`. */
  readonly name: string;
  readonly rows: number;
  /** Highest zooms of the tables of generalised geometry beside it, named `<name>_z<zoom>`, and of the sums of what
   * those leave out, `<name>_g<zoom>`. */
  readonly levels: readonly number[];
  /** JSON of how its points are thinned, in tables beside it, named `<name>_p<number>_z<zoom>`. */
  readonly thinnings: string;
  /** As `LayerNode.density`. */
  readonly density: readonly number[] | null;
}

/** Name of the new table of an import. */
const filledName = (staging: string): string => `${staging}_f`;

/** The staging table whose import the table of the schema `staging` belongs to. */
export const importOf = (table: string): string => table.replace(/_f(_c|(_p\d+)?_[gz]\d+)?$/, "");

/**
 * Whether the objects can be written to a new table: all of them come from the file, and nothing refers to the old one.
 * @param rows of the file; undefined = whatever their number
 */
export async function canFill(
  db: Queryable,
  plan: WritePlan,
  replace: boolean,
  rows: number | undefined,
): Promise<boolean> {
  if ((rows ?? leastRows) < leastRows || (plan.match !== undefined && !plan.match.givesIds)) return false;
  return isReplaceable(db, plan.layerId, replace);
}

/** Whether nothing depends on the layer's table, and its objects may go. */
async function isReplaceable(db: Queryable, layerId: number, replace: boolean): Promise<boolean> {
  const table = layerTable(layerId);
  const [layer] = await db.query<{ free: boolean }>(
    `select ($2 or not exists (select from ${table})) and not exists (
       select from pg_depend d join pg_rewrite r on r.oid = d.objid
       where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass
         and d.refobjid = to_regclass($1)) as free`,
    [table, replace],
  );
  return layer!.free;
}

/**
 * Makes and fills the new table of a layer.
 * @param columns all columns of the layer, those included that the import adds
 */
export async function fillTable(
  db: Database,
  plan: WritePlan,
  columns: readonly Column[],
  limits: LongTransaction,
): Promise<FilledTable> {
  const name = filledName(plan.staging);
  const table = `staging.${name}`;
  const rows = await longTransaction(db, limits, async (tx) => {
    // By the number of the row, so that several processes may read the rows and the order of the file is kept.
    const { targets, sources, values } = newValues(plan, await reserveIds(tx, plan));
    const source = new Map(targets.map((target, place) => [target, sources[place]!]));
    const list = columns.flatMap(({ type, physical, localizedValue }) =>
      isValueType(type) && physical !== "svc_id"
        ? [`(${source.get(physical) ?? "null"})::${physicalType(type, localizedValue)} as ${physical}`]
        : [],
    );
    // PostgreSQL writes a table that it makes of a query twice as fast as one that rows are inserted into.
    const filled = await tx.execute(
      `create table ${table} as select ${[
        `${source.get("svc_id")} as svc_id`,
        "s.geom",
        "to_mercator(s.geom)::geometry(Geometry, 3857) as geom_3857",
        ...list,
      ].join(", ")} from ${stagedRows(plan.staging)}`,
      values,
    );
    await tx.execute(
      `alter table ${table} alter svc_id set not null,
         add constraint geom_srid check ((st_srid(geom) = 4326) = true),
         add constraint geom_without_m check (st_zmflag(geom) in (0, 2))`,
    );
    return filled;
  });
  const index = (statements: readonly string[]) =>
    longTransaction(db, limits, async (tx) => {
      await tx.execute(`set local maintenance_work_mem = '${indexMemory}'`);
      for (const statement of statements) await tx.execute(statement);
    });
  // Two connections, each of which uses a core.
  await Promise.all([
    index([
      `create index ${name}_geom_idx on ${table} using gist (geom)`,
      `create unique index ${name}_pkey on ${table} (svc_id)`,
    ]),
    index([`create index ${name}_geom_3857_idx on ${table} using gist (geom_3857)`]),
  ]);
  const made = await longTransaction(db, limits, async (tx) => {
    await tx.execute(`alter table ${table} add constraint ${name}_pkey primary key using index ${name}_pkey`);
    await tx.execute(`set local default_statistics_target = ${statisticsTarget(rows)}`);
    await tx.execute(`analyze ${table}`);
    const [made] = await tx.query<Pick<FilledTable, "levels" | "thinnings" | "density">>(
      "select make_bands('staging', $1) as levels, thin_filled($2, $1)::text as thinnings, crowds_of('staging', $1) as density, make_runs('staging', $1)",
      [name, plan.layerId],
    );
    return made!;
  });
  return { name, rows, ...made };
}

/** PostgreSQL's default of 100 reads up to 30,000 rows, which takes a fifth of an import of three times as many. */
const statisticsTarget = (rows: number): number => Math.min(100, Math.max(10, Math.round(rows / 3_000)));

/**
 * Puts the new table in the place of the layer's. Readers wait for the transaction from here on.
 * @param existing the columns that the layer had before the import
 * @returns the number of objects that are gone; undefined when the layer has to be written to as it is: somebody reads it
 *   for long, or objects were made meanwhile
 * @throws Failure import_failed when its columns were changed meanwhile
 */
export async function replaceTable(
  tx: Queryable,
  filled: FilledTable,
  layer: { readonly id: number; readonly existing: readonly Column[]; readonly replace: boolean },
): Promise<number | undefined> {
  const table = layerTable(layer.id);
  if (!(await lockTable(tx, table))) return undefined;
  await requireSameColumns(tx, layer.id, layer.existing);
  if (!(await isReplaceable(tx, layer.id, layer.replace))) return undefined;
  const [old] = await tx.query<{ rows: number }>(`select count(*)::int as rows from ${table}`);
  await tx.query("select replace_layer_table($1, $2, $3)", [layer.id, filled.name, filled.levels]);
  await tx.query("select replace_gathered($1, $2, $3)", [layer.id, filled.name, filled.levels]);
  await tx.query("select replace_runs($1, $2)", [layer.id, filled.name]);
  await tx.query("select replace_thinnings($1, $2, $3::jsonb)", [layer.id, filled.name, filled.thinnings]);
  await tx.execute("update layer set crowds = $2 where id = $1", [layer.id, filled.density]);
  await tx.query("select recheck_antimeridian($1)", [layer.id]);
  return old!.rows;
}

/** Locks a table against everybody else, unless somebody reads it for long. @returns whether it is locked */
export async function lockTable(tx: Queryable, table: string): Promise<boolean> {
  await tx.execute(`set local lock_timeout = ${lockTimeoutMs}`);
  for (let attempt = 1; attempt <= attempts; attempt++) {
    await tx.execute("savepoint before_lock");
    try {
      await tx.execute(`lock table ${table} in access exclusive mode`);
      await tx.execute("set local lock_timeout to default");
      return true;
    } catch (error) {
      await tx.execute("rollback to savepoint before_lock");
      // lock_not_available, deadlock_detected
      if (!["55P03", "40P01"].includes((error as { code?: string }).code ?? "")) throw error;
    }
  }
  await tx.execute("set local lock_timeout to default");
  return false;
}

/** Drops what is left of the new table. Never throws: what remains is dropped at the next start. */
export async function dropFilled(db: Database, staging: string): Promise<void> {
  const name = filledName(staging);
  try {
    const tables = await db.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'staging'::regnamespace and relkind = 'r' and (relname = $1 or relname ~ $2)",
      [name, `^${name}(_c|(_p[0-9]+)?_[gz][0-9]+)$`],
    );
    for (const { name: left } of tables) await db.execute(`drop table if exists staging.${left}`);
  } catch {
    // The database is away.
  }
}
