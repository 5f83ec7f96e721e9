import t from "tap";
import { mergeObjects } from "../../src/features/merge.js";
import { failureOf, makeFeatures } from "./support.js";

/** Objects that are merged into the first of them, in PostGIS. */

const { db, layer, table, physical, close } = await makeFeatures([{ code: "name", type: "string" }]);
t.teardown(close);

async function made(...shapes: readonly (string | null)[]): Promise<number[]> {
  const ids: number[] = [];
  for (const wkt of shapes) {
    const [row] = await db.write<{ id: number }>(
      `insert into ${table} (geom, ${physical("name")}) values (st_geomfromtext($1, 4326), $1) returning svc_id as id`,
      [wkt],
    );
    ids.push(row!.id);
  }
  return ids;
}

const stored = (ids: readonly number[]) =>
  db.query<{ id: number; wkt: string | null; name: string | null }>(
    `select svc_id as id, st_astext(st_normalize(geom)) as wkt, ${physical("name")} as name from ${table}
     where svc_id = any($1::bigint[]) order by svc_id`,
    [ids],
  );

const square = (x: number, y = 0) =>
  `POLYGON((${x} ${y},${x + 1} ${y},${x + 1} ${y + 1},${x} ${y + 1},${x} ${y}))`;

t.test("the first object gets the geometry of all, and the others are gone", async (t) => {
  for (const [name, shapes, wkt] of [
    ["neighbours", [square(0), square(1)], "POLYGON((0 0,0 1,1 1,2 1,2 0,1 0,0 0))"],
    ["apart", [square(0), square(5)], "MULTIPOLYGON(((5 0,5 1,6 1,6 0,5 0)),((0 0,0 1,1 1,1 0,0 0)))"],
    ["one above the other", [square(0), square(0)], "POLYGON((0 0,0 1,1 1,1 0,0 0))"],
    [
      "the first one of several parts",
      [`MULTI${square(0)}`.replace("((", "(((").replace("))", ")))"), square(1)],
      "MULTIPOLYGON(((0 0,0 1,1 1,2 1,2 0,1 0,0 0)))",
    ],
    ["lines end to end", ["LINESTRING(0 0,1 0)", "LINESTRING(2 5,1 0)"], "LINESTRING(0 0,1 0,2 5)"],
    ["lines apart", ["LINESTRING(0 0,1 0)", "LINESTRING(5 5,6 6)"], "MULTILINESTRING((5 5,6 6),(0 0,1 0))"],
    ["points", ["POINT(0 0)", "POINT(1 1)", "POINT(0 0)"], "MULTIPOINT((1 1),(0 0))"],
    ["without a place, the first", [null, square(0)], "POLYGON((0 0,0 1,1 1,1 0,0 0))"],
    ["without a place, the second", [square(0), "POLYGON EMPTY"], "POLYGON((0 0,0 1,1 1,1 0,0 0))"],
    ["without a place, all", [null, null], null],
    [
      "one that crosses itself",
      [square(0), "POLYGON((5 0,7 2,7 0,5 2,5 0))"],
      "MULTIPOLYGON(((0 0,0 1,1 1,1 0,0 0)),((6 1,7 2,7 0,6 1)),((5 0,5 2,6 1,5 0)))",
    ],
    [
      "with heights",
      ["LINESTRING Z(0 0 1,1 0 2)", "LINESTRING Z(1 0 2,2 5 3)"],
      "LINESTRING Z (0 0 1,1 0 2,2 5 3)",
    ],
  ] as const) {
    const ids = await made(...shapes);
    const { receipt } = await mergeObjects(db, layer, { ids });
    t.match(receipt, /^\d+$/);
    t.same(await stored(ids), [{ id: ids[0], wkt, name: shapes[0] }], name);
  }
});

t.test("the first one is not always that with the lowest id", async (t) => {
  const ids = (await made(square(0), square(1), square(2))).reverse();
  await mergeObjects(db, layer, { ids });
  t.match(await stored(ids), [{ id: ids[0], name: square(2) }]);
});

t.test("what cannot be merged is refused and stays", async (t) => {
  for (const shapes of [
    [square(0), "LINESTRING(0 0,1 1)"],
    ["POINT(0 0)", square(0)],
    [`GEOMETRYCOLLECTION(${square(0)})`, square(1)],
  ]) {
    const ids = await made(...shapes);
    const failure = await failureOf(() => mergeObjects(db, layer, { ids }));
    t.match(failure, { code: "invalid_value", data: { parameter: "ids" } });
    t.equal((await stored(ids)).length, 2);
  }
  const [one, other] = await made(square(0), square(1));
  const missing = await failureOf(() => mergeObjects(db, layer, { ids: [one!, 987_654, other!, 987_653] }));
  t.match(missing, { kind: "not_found", message: /987654/ });
  t.equal((await stored([one!, other!])).length, 2);
});

t.test("a thousand objects", async (t) => {
  const ids = await made(...Array.from({ length: 1_000 }, (_, n) => square(n % 100, Math.floor(n / 100))));
  await mergeObjects(db, layer, { ids });
  const [row] = await db.query<{ area: number; parts: number; left: number }>(
    `select st_area(geom) as area, st_numgeometries(geom) as parts,
       (select count(*)::int from ${table} where svc_id = any($2::bigint[])) as left from ${table} where svc_id = $1`,
    [ids[0], ids],
  );
  t.same(row, { area: 1_000, parts: 1, left: 1 });
});
