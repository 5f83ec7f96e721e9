import t from "tap";
import { encodeGeometry } from "../../src/features/geometry.js";
import { splitObject } from "../../src/features/split.js";
import { failureOf, makeFeatures } from "./support.js";

/** Objects that are split by lines, in PostGIS. */

const { db, layer, table, physical, close } = await makeFeatures([
  { code: "name", type: "string" },
  { code: "files", type: "file" },
  { code: "label", type: "text", localized: true },
]);
t.teardown(close);

const line = (...coordinates: readonly (readonly number[])[]) =>
  encodeGeometry({ type: "LineString", coordinates }, { srid: 4326, kind: "LineString" });

async function made(wkt: string): Promise<number> {
  const [row] = await db.write<{ id: number }>(
    `insert into ${table} (geom, ${physical("name")}, ${physical("files")}, ${physical("label")})
     values (st_geomfromtext($1, 4326), 'n', '{7}', '{"ru": "я"}') returning svc_id as id`,
    [wkt],
  );
  return row!.id;
}

interface Stored {
  readonly type: string;
  readonly parts: number;
  readonly size: number;
  readonly valid: boolean;
  readonly name: string;
  readonly files: readonly number[] | null;
  readonly label: unknown;
  readonly wkt: string;
}

const stored = (ids: readonly number[]) =>
  db.query<Stored>(
    `select st_geometrytype(geom) as type, st_numgeometries(geom) as parts, st_isvalid(geom) as valid, st_astext(geom) as wkt,
       st_area(geom) + st_length(geom) as size, ${physical("name")} as name, ${physical("files")} as files, ${physical("label")} as label
     from ${table} where svc_id = any($1::bigint[]) order by array_position($1::bigint[], svc_id)`,
    [ids],
  );

const split = async (wkt: string, by: Buffer) => {
  const id = await made(wkt);
  const { ids, receipt } = await splitObject(db, layer, { id, line: by });
  t.equal(ids[0], id);
  t.match(receipt, /^\d+$/);
  return { ids, rows: await stored(ids) };
};

const square = "POLYGON((0 0,10 0,10 10,0 10,0 0))";
const donut = "POLYGON((0 0,10 0,10 10,0 10,0 0),(4 4,6 4,6 6,4 6,4 4))";

t.test(
  "of a square that is cut in two the larger piece stays, and the other one has its values",
  async (t) => {
    const { ids, rows } = await split(square, line([3, -1], [3, 11]));
    t.equal(ids.length, 2);
    t.ok(ids[1]! > ids[0]!);
    t.match(rows, [
      { type: "ST_Polygon", name: "n", files: [7], label: { ru: "я" } },
      { type: "ST_Polygon", name: "n", files: null, label: { ru: "я" } },
    ]);
    const areas = await db.query<{ area: number }>(
      `select st_area(geom) as area from ${table} where svc_id = any($1::bigint[]) order by svc_id`,
      [ids],
    );
    t.same(
      areas.map(({ area }) => area),
      [70, 30],
    );
    const [projected] = await db.query<{ same: boolean }>(
      `select bool_and(st_equals(geom_3857, to_mercator(geom))) as same from ${table} where svc_id = any($1::bigint[])`,
      [ids],
    );
    t.equal(projected!.same, true);
  },
);

t.test("areas", async (t) => {
  for (const [name, wkt, by, parts] of [
    ["a donut through its hole", donut, line([5, -1], [5, 11]), [1, 1]],
    ["a line through a vertex", square, line([-1, -1], [11, 11]), [1, 1]],
    ["a line that crosses itself", square, line([-1, 5], [8, 5], [8, 8], [4, 8], [4, -1]), [1, 1, 1]],
    ["a closed line inside", square, line([2, 2], [4, 2], [4, 4], [2, 4], [2, 2]), [1, 1]],
    [
      "one part of several",
      "MULTIPOLYGON(((0 0,10 0,10 10,0 10,0 0)),((20 0,21 0,21 1,20 1,20 0)),((30 0,31 0,31 1,30 1,30 0)))",
      line([2, -1], [2, 11]),
      [3, 1],
    ],
    [
      "two parts of several",
      "MULTIPOLYGON(((0 0,10 0,10 10,0 10,0 0)),((20 0,21 0,21 4,20 4,20 0)),((30 0,31 0,31 1,30 1,30 0)))",
      line([-1, 2], [25, 2]),
      [2, 1, 1, 1],
    ],
    ["an area that crosses itself", "POLYGON((0 0,8 10,8 0,0 10,0 0))", line([2, -1], [2, 11]), [2, 1]],
  ] as const) {
    const { rows } = await split(wkt, by);
    t.same(
      rows.map(({ parts }) => parts),
      parts,
      name,
    );
    t.ok(
      rows.every(({ valid }) => valid),
      name,
    );
    const isMulti = wkt.startsWith("MULTI");
    t.equal(rows.at(-1)!.type, isMulti ? "ST_MultiPolygon" : "ST_Polygon", name);
  }
});

t.test("lines", async (t) => {
  for (const [name, wkt, by, pieces] of [
    [
      "cut twice",
      "LINESTRING(0 0,10 0)",
      line([1, -1], [1, 1], [3, 1], [3, -1]),
      ["LINESTRING(3 0,10 0)", "LINESTRING(1 0,3 0)", "LINESTRING(0 0,1 0)"],
    ],
    [
      "that crosses itself elsewhere",
      "LINESTRING(0 0,10 0,10 5,5 5,5 -5)",
      line([8, -1], [8, 1]),
      ["LINESTRING(8 0,10 0,10 5,5 5,5 -5)", "LINESTRING(0 0,8 0)"],
    ],
    [
      "a ring, which is not cut where it begins",
      "LINESTRING(0 0,10 0,10 10,0 10,0 0)",
      line([4, -1], [4, 11]),
      ["LINESTRING(4 0,10 0,10 10,4 10)", "LINESTRING(4 10,0 10,0 0,4 0)"],
    ],
    [
      "one part of several",
      "MULTILINESTRING((0 0,10 0),(0 5,1 5))",
      line([4, -1], [4, 1]),
      ["MULTILINESTRING((4 0,10 0),(0 5,1 5))", "MULTILINESTRING((0 0,4 0))"],
    ],
    [
      "at its vertices",
      "LINESTRING(0 0,4 0,10 0)",
      line([4, -1], [4, 1]),
      ["LINESTRING(4 0,10 0)", "LINESTRING(0 0,4 0)"],
    ],
    [
      "where the line runs along it",
      "LINESTRING(0 0,10 0)",
      line([5, 1], [5, 0], [6, 0], [6, 1]),
      ["LINESTRING(0 0,5 0)", "LINESTRING(6 0,10 0)", "LINESTRING(5 0,6 0)"],
    ],
    [
      "with heights",
      "LINESTRING Z(0 0 0,10 0 10)",
      line([4, -1], [4, 1]),
      ["LINESTRING Z (4 0 4,10 0 10)", "LINESTRING Z (0 0 0,4 0 4)"],
    ],
  ] as const) {
    const { rows } = await split(wkt, by);
    t.same(
      rows.map(({ wkt }) => wkt),
      pieces,
      name,
    );
  }
});

t.test("areas with heights keep them, and those of new vertices lie between", async (t) => {
  const { rows } = await split(
    "POLYGON Z((0 0 1,10 0 2,10 10 3,0 10 4,0 0 1))",
    line([3, -1], [3, 5], [4, 11]),
  );
  for (const { wkt } of rows) {
    t.match(wkt, /^POLYGON Z /);
    t.notMatch(wkt, /nan/i);
  }
});

t.test("what a line does not cut, and what cannot be cut, is refused and stays", async (t) => {
  for (const [name, wkt, by, message] of [
    ["beside it", square, line([20, 0], [20, 10]), /does not cut/],
    ["along an edge", square, line([0, -1], [0, 11]), /does not cut/],
    ["at a vertex only", square, line([-1, 1], [1, -1]), /does not cut/],
    ["that ends inside", square, line([5, -1], [5, 5]), /does not cut/],
    ["into the hole of a donut", donut, line([5, -1], [5, 5]), /does not cut/],
    ["without length", square, line([5, 5], [5, 5]), /does not cut/],
    ["at the end of a line", "LINESTRING(0 0,10 0)", line([0, -1], [0, 1]), /does not cut/],
    ["of a ring in one place", "LINESTRING(0 0,9 0,9 9,0 0)", line([4, -1], [4, 1]), /does not cut/],
    ["a point", "POINT(0 0)", line([0, -1], [0, 1]), /lines or areas/],
    ["points", "MULTIPOINT(0 0,1 1)", line([0, -1], [0, 1]), /lines or areas/],
    ["a collection", `GEOMETRYCOLLECTION(${square})`, line([5, -1], [5, 11]), /lines or areas/],
    ["an empty one", "POLYGON EMPTY", line([5, -1], [5, 11]), /no geometry/],
  ] as const) {
    const id = await made(wkt);
    const before = await stored([id]);
    const failure = await failureOf(() => splitObject(db, layer, { id, line: by }));
    t.equal(failure.code, "invalid_value", name);
    t.match(failure.message, message, name);
    t.same(await stored([id]), before, name);
  }
  const [none] = await db.write<{ id: number }>(`insert into ${table} default values returning svc_id as id`);
  const failure = await failureOf(() => splitObject(db, layer, { id: none!.id, line: line([0, 0], [1, 1]) }));
  t.match(failure, { code: "invalid_value", message: /no geometry/ });
  const missing = await failureOf(() => splitObject(db, layer, { id: 987_654, line: line([0, 0], [1, 1]) }));
  t.equal(missing.kind, "not_found");
});

/** A line that goes up and down across a square. */
const comb = (teeth: number) =>
  line(
    ...Array.from({ length: 2 * teeth }, (_, at) => [
      1 + (8 * at) / (2 * teeth),
      (at % 4 === 0 || at % 4 === 3 ? -1 : 11) + 0,
    ]),
  );

t.test("an object and a line that might cross too often are refused before PostGIS tries it", async (t) => {
  const [row] = await db.write<{ id: number }>(
    `insert into ${table} (geom) values (st_buffer(st_setsrid(st_point(10, 20), 4326), 5, 2000)) returning svc_id as id`,
    [],
  );
  const zigzag = line(...Array.from({ length: 10_000 }, (_, at) => [4 + at / 800, at % 2 ? 14 : 26]));
  const failure = await failureOf(() => splitObject(db, layer, { id: row!.id, line: zigzag }));
  t.match(failure, { code: "invalid_value", message: /take a simpler line/ });
  t.equal((await splitObject(db, layer, { id: row!.id, line: line([10, 10], [10, 30]) })).ids.length, 2);
});

t.test("there are at most 1000 pieces", async (t) => {
  const most = await split(square, comb(999));
  t.equal(most.ids.length, 1_000);
  t.same(
    most.ids,
    [...most.ids].sort((a, b) => a - b),
  );
  const sizes = most.rows.map(({ size }) => size);
  t.ok(sizes[0]! >= Math.max(...sizes.slice(1)));
  for (const wkt of [square, "LINESTRING(0 5,10 5)"]) {
    const id = await made(wkt);
    const failure = await failureOf(() => splitObject(db, layer, { id, line: comb(1_000) }));
    t.match(failure, { code: "invalid_value", message: /more than 1000 pieces/ });
  }
});

t.test("a required column of files would be empty in the new objects", async (t) => {
  const id = await made(square);
  const columns = layer.columns.map((column) =>
    column.code === "files" ? { ...column, required: true } : column,
  );
  const failure = await failureOf(() =>
    splitObject(db, { ...layer, columns }, { id, line: line([5, -1], [5, 11]) }),
  );
  t.match(failure, { code: "invalid_value", data: { columns: { files: /no files/ } } });
});

t.test("the pieces of any star have its area together", async (t) => {
  let seed = 1;
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  for (let n = 0; n < 200; n++) {
    const corners = 5 + Math.floor(random() * 60);
    const [x, y] = [random() * 300 - 150, random() * 120 - 60];
    const ring = Array.from({ length: corners }, (_, at) => {
      const [angle, radius] = [(2 * Math.PI * at) / corners, 1 + random() * 8];
      return `${x + radius * Math.cos(angle)} ${y + radius * Math.sin(angle)}`;
    });
    const id = await made(`POLYGON((${[...ring, ring[0]].join(",")}))`);
    const [before] = await stored([id]);
    const angle = random() * Math.PI;
    const [dx, dy] = [20 * Math.cos(angle), 20 * Math.sin(angle)];
    const [area] = await db.query<{ area: number }>(
      `select st_area(geom) as area from ${table} where svc_id = $1`,
      [id],
    );
    const { ids } = await splitObject(db, layer, { id, line: line([x - dx, y - dy], [x + dx, y + dy]) });
    const [after] = await db.query<{ area: number; valid: boolean; apart: boolean }>(
      `select sum(st_area(geom)) as area, bool_and(st_isvalid(geom)) as valid,
         st_area(st_union(geom)) > sum(st_area(geom)) - 1e-9 as apart
       from ${table} where svc_id = any($1::bigint[])`,
      [ids],
    );
    if (!after!.valid || !after!.apart || Math.abs(after!.area - area!.area) > 1e-9)
      t.fail(`star ${n}: ${before!.wkt}`, { before: area, after });
  }
});
