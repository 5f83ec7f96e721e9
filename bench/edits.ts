import type pg from "pg";
import { type TileCoord, tileBox } from "../src/geo/tile.js";

/** Edits, one at a time, while something else is done. */

export interface Edits {
  /** Makes one of them, from number 0 on. One of an even number is followed by another in any case, which may undo it. */
  readonly edit: (number: number) => Promise<unknown>;
  readonly perSecond: number;
}

export async function whileEdited<T>({ edit, perSecond }: Edits, work: () => Promise<T>): Promise<T> {
  let isOver = false;
  const edits = async () => {
    const started = performance.now();
    for (let number = 0; !isOver || number % 2 === 1; number++) {
      const due = started + (number * 1000) / perSecond - performance.now();
      if (due > 0) await new Promise((resolve) => setTimeout(resolve, due));
      await edit(number);
    }
  };
  const editing = edits();
  // It is thrown below, when the work is done.
  editing.catch(() => undefined);
  try {
    return await work();
  } finally {
    isOver = true;
    await editing;
  }
}

/** A table of points. */
export interface PointTable {
  readonly name: string;
  /** Its primary key. */
  readonly key: string;
  readonly srid: 4326 | 3857;
}

/** Objects that are moved in turn. */
const most = 500;

/** Moves points on these tiles by ten metres, each of which is moved back at once. */
export async function pointEdits(
  client: pg.Client,
  { name, key, srid }: PointTable,
  tiles: readonly TileCoord[],
): Promise<Edits["edit"]> {
  const boxes = tiles.map((tile) => tileBox(tile, 1));
  const { rows } = await client.query<{ id: number }>(
    `select ${key} as id from (
       select distinct ${key}, geom from unnest($1::float8[], $2::float8[], $3::float8[], $4::float8[]) as box (a, b, c, d)
       join ${name} on geom && st_transform(st_makeenvelope(box.a, box.b, box.c, box.d, 3857), ${srid})
     ) as shown order by st_x(geom), st_y(geom)`,
    [0, 1, 2, 3].map((side) => boxes.map((box) => box[side])),
  );
  const count = Math.min(most, rows.length);
  const step = srid === 3857 ? 10 : 1e-4;
  return (number) => {
    // One is far from the next.
    const place = ((number >> 1) * 97) % count;
    const { id } = rows[Math.floor((place * rows.length) / count)]!;
    return client.query(`update ${name} set geom = st_translate(geom, $1::float8, 0) where ${key} = $2`, [
      number % 2 === 0 ? step : -step,
      id,
    ]);
  };
}
