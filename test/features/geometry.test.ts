import t from "tap";
import { encodeGeometry } from "../../src/features/geometry.js";
import { geometryJson } from "../../src/features/geometry-sql.js";
import type { GeometryKind } from "../../src/geo/wkb.js";
import { failureOf, makeFeatures } from "./support.js";

const any = { srid: 4326, kind: "Unknown" } as const;
const square = [
  [0, 0],
  [0, 1],
  [1, 1],
  [0, 0],
];

t.test("what is no geometry is refused before any SQL", async (t) => {
  let nested: unknown = { type: "Point", coordinates: [0, 0] };
  for (let depth = 0; depth < 10_000; depth++) nested = { type: "GeometryCollection", geometries: [nested] };
  const cases: [string, unknown][] = [
    ["null", null],
    ["text", "POINT(0 0)"],
    ["array", [0, 0]],
    ["no type", { coordinates: [0, 0] }],
    ["type of an object's prototype", { type: "constructor", coordinates: [0, 0] }],
    ["feature", { type: "Feature", geometry: { type: "Point", coordinates: [0, 0] } }],
    ["no coordinates", { type: "Point" }],
    ["one number", { type: "Point", coordinates: [1] }],
    ["five numbers", { type: "Point", coordinates: [1, 2, 3, 4, 5] }],
    ["text for a number", { type: "Point", coordinates: ["1", 2] }],
    ["NaN", { type: "Point", coordinates: [Number.NaN, 2] }],
    ["infinite height", { type: "Point", coordinates: [1, 2, Number.POSITIVE_INFINITY] }],
    ["latitude 91", { type: "Point", coordinates: [0, 91] }],
    ["longitude 361", { type: "Point", coordinates: [361, 0] }],
    ["line of one point", { type: "LineString", coordinates: [[0, 0]] }],
    ["polygon of one point", { type: "Polygon", coordinates: [[[0, 0]]] }],
    ["empty ring", { type: "Polygon", coordinates: [[]] }],
    ["object without members", { type: "MultiPoint", coordinates: {} }],
    ["no members", { type: "GeometryCollection" }],
    [
      "open ring",
      {
        type: "Polygon",
        coordinates: [
          [
            [0, 0],
            [0, 1],
            [1, 1],
            [1, 0],
          ],
        ],
      },
    ],
    [
      "ring of three",
      {
        type: "Polygon",
        coordinates: [
          [
            [0, 0],
            [0, 1],
            [0, 0],
          ],
        ],
      },
    ],
    ["collections 10 000 deep", nested],
    ["too deep arrays", { type: "LineString", coordinates: [[[0, 0]], [[1, 1]]] }],
  ];
  for (const [name, geometry] of cases) {
    t.match(await failureOf(() => encodeGeometry(geometry, any)), { code: "invalid_geometry" }, name);
  }
});

t.test("the number of positions is bounded", async (t) => {
  const line = (count: number) => ({
    type: "LineString",
    coordinates: Array.from({ length: count }, () => [1, 2]),
  });
  t.ok(encodeGeometry(line(100), { ...any, maxPositions: 100 }));
  t.match(await failureOf(() => encodeGeometry(line(101), { ...any, maxPositions: 100 })), {
    code: "invalid_geometry",
  });
});

t.test("a layer takes its own kind of geometry", async (t) => {
  const point = { type: "Point", coordinates: [0, 0] };
  const multi = { type: "MultiPolygon", coordinates: [[square]] };
  const encode = (geometry: unknown, kind: GeometryKind) => () =>
    encodeGeometry(geometry, { srid: 4326, kind });
  t.ok(encode(point, "Point")());
  t.ok(encode(multi, "Polygon")());
  for (const [geometry, kind] of [
    [point, "LineString"],
    [multi, "Point"],
    [{ type: "GeometryCollection", geometries: [point] }, "Point"],
  ] as const) {
    t.match(await failureOf(encode(geometry, kind)), { code: "invalid_geometry" });
  }
});

t.test("PostGIS holds what was sent", async (t) => {
  const { db, close } = await makeFeatures([]);
  t.teardown(close);
  const read = async (geometry: unknown, srid: 4326 | 3857 = 4326) => {
    const bytes = encodeGeometry(geometry, { srid, kind: "Unknown" });
    const [row] = await db.query<{ g: string; srid: number }>(
      `select ${geometryJson({ srid: 4326 })} as g, st_srid(geom) as srid from (select st_geomfromewkb($1::bytea) as geom) x`,
      [bytes],
    );
    t.equal(row?.srid, 4326);
    return JSON.parse(row?.g ?? "null");
  };
  const geometries = [
    { type: "Point", coordinates: [0.1, -0.3] },
    {
      type: "LineString",
      coordinates: [
        [0.1, 0.2],
        [-179.999999999, 1e-7],
      ],
    },
    {
      type: "Polygon",
      coordinates: [
        square,
        [
          [0.2, 0.3],
          [0.2, 0.4],
          [0.3, 0.4],
          [0.2, 0.3],
        ],
      ],
    },
    {
      type: "MultiPoint",
      coordinates: [
        [1, 2],
        [3, 4],
      ],
    },
    {
      type: "MultiLineString",
      coordinates: [
        [
          [1, 2],
          [3, 4],
        ],
        [
          [5, 6],
          [7, 8],
        ],
      ],
    },
    { type: "MultiPolygon", coordinates: [[square], [square]] },
    {
      type: "GeometryCollection",
      geometries: [
        { type: "Point", coordinates: [1, 2] },
        { type: "GeometryCollection", geometries: [{ type: "MultiPoint", coordinates: [[1, 2]] }] },
      ],
    },
    { type: "LineString", coordinates: Array.from({ length: 5000 }, (_, i) => [i / 100, (i % 90) / 4]) },
    // Crosses itself: kept as it is.
    {
      type: "Polygon",
      coordinates: [
        [
          [0, 0],
          [1, 1],
          [1, 0],
          [0, 1],
          [0, 0],
        ],
      ],
    },
  ];
  for (const geometry of geometries) t.same(await read(geometry), geometry, geometry.type);
  t.same(await read({ type: "Point", coordinates: [1, 2, 3, 4] }), { type: "Point", coordinates: [1, 2, 3] });
  const mercator = await read({ type: "Point", coordinates: [1113194.907932736, -1118889.9748579594] }, 3857);
  t.ok(Math.abs(mercator.coordinates[0] - 10) < 1e-12 && Math.abs(mercator.coordinates[1] + 10) < 1e-12);
});
