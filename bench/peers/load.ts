import { createReadStream, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type pg from "pg";
import { from as copyFrom } from "pg-copy-streams";

/** The peers' tables: the same files that the product imports, in EPSG:3857, indexed and analysed. */

const tables = ["dcw", "coast", "rivers", "cities"] as const;

const properties: Readonly<Record<(typeof tables)[number], string>> = {
  dcw: "line->'properties'->>'name' as name",
  coast: "line->'properties'->>'kind' as kind",
  rivers: "line->'properties'->>'kind' as kind",
  cities:
    "line->'properties'->>'name' as name, line->'properties'->>'country' as country, (line->'properties'->>'population')::int as population",
};

/** Loads what is not there yet from `<folder>/<table>.geojsonl`. */
export async function loadTables(
  client: pg.Client,
  folder: string,
  progress: (text: string) => void,
): Promise<void> {
  for (const table of tables) {
    const path = join(folder, `${table}.geojsonl`);
    const { size, mtimeMs } = statSync(path);
    const stamp = `${size} bytes of ${Math.round(mtimeMs)}`;
    const known = await client.query("select obj_description(to_regclass($1)) as stamp", [table]);
    if (known.rows[0].stamp === stamp) continue;
    progress(`loading the peers' table ${table}`);
    await client.query(`drop table if exists ${table}`);
    await client.query("create temporary table raw (number bigint generated always as identity, line json)");
    // Quote and delimiter are bytes that JSON text never holds, so each line is one value.
    const copy = client.query(
      copyFrom("copy raw (line) from stdin (format csv, quote e'\\x01', delimiter e'\\x02')"),
    );
    await pipeline(createReadStream(path), copy);
    // Web Mercator has no place for the poles.
    await client.query(
      `create table ${table} as select number::int as gid, st_transform(case
           when st_ymin(g) < -85.06 or st_ymax(g) > 85.06
           then st_clipbybox2d(g, st_makeenvelope(-181, -85.06, 181, 85.06, 4326)) else g end, 3857) as geom,
         ${properties[table]}
       from (select *, st_setsrid(st_geomfromgeojson(line->'geometry'), 4326) as g from raw) r order by number`,
    );
    await client.query("drop table raw");
    await client.query(`alter table ${table} add primary key (gid)`);
    await client.query(`alter table ${table} alter geom type geometry(Geometry, 3857)`);
    await client.query(`create index on ${table} using gist (geom)`);
    await client.query(`grant select on ${table} to public`);
    await client.query(`vacuum analyze ${table}`);
    await client.query(`comment on table ${table} is '${stamp}'`);
  }
}
