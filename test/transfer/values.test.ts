import t from "tap";
import { readColumns } from "../../src/catalog/column-rows.js";
import { collection, feature, importBench, point } from "../support/transfer.js";

const bench = await importBench();
t.teardown(() => bench.stop());

const types = async (layerId: number): Promise<Record<string, string>> =>
  Object.fromEntries((await readColumns(bench.db, layerId)).map((column) => [column.code, column.type]));

t.test("every value of a file is in the layer as it was", async (t) => {
  const layer = await bench.layer();
  await bench.import(
    layer,
    collection(
      feature({
        text: 'Москва "quoted" \\ \t\n 🗺',
        whole: 9007199254740991,
        real: 0.1,
        yes: true,
        at: "2024-02-29T12:30:00.123456+03:00",
        deep: { a: [1, null, { ключ: "ü" }] },
        nothing: null,
      }),
      feature({ text: "", whole: -1, real: 1e-7, yes: false, at: "2024-03-01", deep: [], more: "late" }),
      feature({}, null),
    ),
  );
  const objects = await bench.objects(layer);
  t.match(objects[0], {
    svc_id: 1,
    text: 'Москва "quoted" \\ \t\n 🗺',
    whole: 9007199254740991,
    real: 0.1,
    yes: true,
    at: "2024-02-29T09:30:00.123456+00:00",
    deep: { a: [1, null, { ключ: "ü" }] },
    nothing: null,
    more: null,
    geom: "POINT(1 2)",
  });
  t.match(objects[1], {
    text: "",
    whole: -1,
    real: 1e-7,
    yes: false,
    at: "2024-03-01T00:00:00+00:00",
    deep: [],
    more: "late",
  });
  t.match(objects[2], { text: null, geom: null }, "an object without geometry is kept");
  t.match(await types(layer), {
    text: "string",
    whole: "number",
    real: "number",
    yes: "bool",
    at: "datetime",
    deep: "json",
    nothing: "string",
    more: "string",
  });
});

t.test("a column's type is decided by all values, and nothing is rounded to fit it", async (t) => {
  const layer = await bench.layer();
  const text = `{"type":"FeatureCollection","features":[
    ${Array.from({ length: 300 }, (_, i) => JSON.stringify(feature({ mixed: i, big: i, flag: true, day: "2024-01-01", long: "x" }))).join(",")},
    {"type":"Feature","geometry":null,"properties":{"mixed":"three hundred","big":12345678901234567890,"flag":1,"day":"2024-02-30","long":"${"y".repeat(256)}","huge":1e999,"tiny":-1e-400,"zero":0.0e-400,"exact":123456789012345000000,"json":{"n":12345678901234567890}}}]}`;
  await bench.import(layer, text);
  t.match(await types(layer), {
    mixed: "string",
    big: "string",
    flag: "string",
    day: "string",
    long: "text",
    huge: "string",
    tiny: "string",
    zero: "number",
    exact: "number",
    json: "json",
  });
  const objects = await bench.objects(layer);
  t.equal(objects.length, 301);
  t.match(objects[299], { mixed: "299", big: "299", flag: "true", day: "2024-01-01" });
  t.match(objects[300], {
    mixed: "three hundred",
    big: "12345678901234567890",
    flag: "1",
    day: "2024-02-30",
    huge: "1e999",
    tiny: "-1e-400",
    zero: 0,
  });
  const [kept] = await bench.db.query<{ json: string }>(
    `select (${(await readColumns(bench.db, layer)).find((c) => c.code === "json")!.physical})::text as json from layers.l${layer} order by svc_id desc limit 1`,
  );
  t.equal(kept!.json, '{"n": 12345678901234567890}');
});

t.test("names become codes and stay as names", async (t) => {
  const layer = await bench.layer();
  await bench.import(
    layer,
    `{"type":"FeatureCollection","features":[{"type":"Feature","geometry":null,"properties":{"Население":1,"name":"a","NAME":"b","":"empty","__proto__":2,"constructor":3,"geom":"taken","2nd":4,"a b":5,"a-b":6}}]}`,
  );
  const columns = (await readColumns(bench.db, layer)).slice(2);
  t.strictSame(
    columns.map((column) => [column.name, column.code]),
    [
      ["Население", "Naselenie"],
      ["name", "name"],
      ["NAME", "NAME"],
      ["", "field"],
      ["__proto__", "proto"],
      ["constructor", "constructor"],
      ["geom", "geom_2"],
      ["2nd", "_2nd"],
      ["a b", "a_b"],
      ["a-b", "a_b_2"],
    ],
  );
  await bench.import(
    layer,
    `{"type":"Feature","geometry":null,"properties":{"Население":7,"__proto__":8,"a-b":9}}`,
  );
  t.equal(
    (await readColumns(bench.db, layer)).length,
    columns.length + 2,
    "the names find their columns again",
  );
  t.match((await bench.objects(layer))[1], { Naselenie: 7, proto: 8, a_b_2: 9 });
});

t.test("all kinds of geometry arrive", async (t) => {
  const layer = await bench.layer();
  const ring = [
    [0, 0],
    [0, 3],
    [3, 3],
    [0, 0],
  ];
  const geometries = [
    point(-180.5, 1e-9),
    {
      type: "MultiPoint",
      coordinates: [
        [1, 2],
        [3, 4],
      ],
    },
    {
      type: "LineString",
      coordinates: [
        [1, 2],
        [3, 4.000000000000001],
      ],
    },
    {
      coordinates: [
        ring,
        [
          [1, 2],
          [1, 2.5],
          [1.5, 2.5],
          [1, 2],
        ],
      ],
      type: "Polygon",
    },
    { type: "MultiPolygon", coordinates: [[ring], [ring]] },
    {
      type: "GeometryCollection",
      geometries: [
        point(1, 2),
        {
          type: "LineString",
          coordinates: [
            [1, 2],
            [3, 4],
          ],
        },
      ],
    },
    { type: "Point", coordinates: [] },
    { type: "LineString", coordinates: [] },
  ];
  const imported = await bench.import(
    layer,
    collection(...geometries.map((geometry) => feature(null, geometry))),
  );
  t.equal(imported.rows, 8);
  t.strictSame(
    (await bench.objects(layer)).map((object) => object.geom),
    [
      "POINT(-180.5 1e-9)",
      "MULTIPOINT((1 2),(3 4))",
      "LINESTRING(1 2,3 4.000000000000001)",
      "POLYGON((0 0,0 3,3 3,0 0),(1 2,1 2.5,1.5 2.5,1 2))",
      "MULTIPOLYGON(((0 0,0 3,3 3,0 0)),((0 0,0 3,3 3,0 0)))",
      "GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(1 2,3 4))",
      "POINT EMPTY",
      "LINESTRING EMPTY",
    ],
  );
  const [row] = await bench.db.query("select geometry_kind from layer where id = $1", [layer]);
  t.match(row, { geometry_kind: "Unknown" });
});

t.test("heights are kept, measures are left out and that is said", async (t) => {
  const layer = await bench.layer();
  t.match(await bench.import(layer, { type: "Point", coordinates: [1, 2, 300] }), { rows: 1, notes: [] });
  const line = {
    type: "LineString",
    coordinates: [
      [1, 2],
      [3, 4, 5.5, 99],
    ],
  };
  t.match(await bench.import(layer, line), { rows: 1, notes: [/measures/] });
  t.match(await bench.objects(layer), [
    { geom: "POINT Z (1 2 300)" },
    { geom: "LINESTRING Z (1 2 0,3 4 5.5)" },
  ]);
});

t.test("heights stay what they are when positions are transformed", async (t) => {
  const layer = await bench.layer();
  const place = { type: "Point", coordinates: [4_198_000, 7_500_000, 150.25] };
  // The second one has another datum, whose ellipsoid lies some tens of metres elsewhere.
  for (const srs of ["3857", "+proj=merc +ellps=krass +towgs84=23.92,-141.27,-80.9,0,0.35,0.82,-0.12"])
    await bench.import(layer, place, { srs });
  const geometries = (await bench.objects(layer)).map(({ geom }) => geom);
  t.equal(geometries.length, 2);
  for (const geom of geometries) t.match(geom, /^POINT Z \(37\.\d+ 5[55]\.\d+ 150\.25\)$/);
});

t.test("a feature, a geometry, a sequence and an empty collection are files too", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, feature({ a: 1 }));
  await bench.import(layer, point(5, 6));
  await bench.import(layer, collection());
  const lines = `\uFEFF${JSON.stringify(feature({ a: 2 }))}\n\n\x1e${JSON.stringify(feature({ a: 3, b: "x" }), null, 2)}\n`;
  for (const extension of ["geojsonl", "geojsons", "ndjson"]) await bench.import(layer, lines, { extension });
  await bench.import(layer, "", { extension: "geojsonl" });
  t.strictSame(
    (await bench.objects(layer)).map((object) => object.a),
    [1, null, 2, 3, 2, 3, 2, 3],
  );
});

t.test("an id of the feature is kept as a property", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, { ...feature({ a: 1 }), id: "way/7" });
  await bench.import(layer, { ...feature({ svc_id: 40, a: 2 }), id: 40 });
  t.strictSame(
    (await bench.objects(layer)).map(({ svc_id, id, a }) => ({ svc_id, id, a })),
    [
      { svc_id: 1, id: "way/7", a: 1 },
      { svc_id: 40, id: null, a: 2 },
    ],
  );
});

t.test("more features than fit one read are all there, in their order", async (t) => {
  const layer = await bench.layer();
  const filler = "z".repeat(900);
  const features = Array.from({ length: 20_000 }, (_, i) =>
    feature(i === 15_000 ? { n: i, filler, late: true } : { n: i, filler }, point(i / 1000, 0)),
  );
  const imported = await bench.import(layer, collection(...features), { action: "replace" });
  t.match(imported, { rows: 20_000, inserted: 20_000 });
  const [row] = await bench.db.query(
    `select count(*) as count, count(distinct ${(await readColumns(bench.db, layer))[2]!.physical}) as distinct,
       bool_and(svc_id = ${(await readColumns(bench.db, layer))[2]!.physical} + 1) as ordered from layers.l${layer}`,
  );
  t.match(row, { count: 20_000, distinct: 20_000, ordered: true });
});

t.test("objects that cross the 180th meridian uncut are imported, and that is said", async (t) => {
  const ring = (...coordinates: number[][]) => ({ type: "Polygon", coordinates: [coordinates] });
  const across = ring([178, 64], [-170, 66], [-170, 70], [178, 70], [178, 64]);
  const line = (...coordinates: number[][]) => ({ type: "LineString", coordinates });
  const objects = [
    across,
    {
      type: "MultiPolygon",
      coordinates: [ring([0, 0], [1, 0], [1, 1], [0, 0]).coordinates, across.coordinates],
    },
    { type: "GeometryCollection", geometries: [point(1, 2), line([1, 2, 3], [4, 5, 6], [-177, 6, 7])] },
  ];
  const { notes } = await bench.import(
    await bench.layer(),
    collection(...objects.map((geometry) => feature({}, geometry))),
  );
  t.match(notes, [/cross the 180th meridian: 3\. .*ogr2ogr -wrapdateline/]);
  const whole = [
    point(180, 2),
    ring([-180, -90], [180, -90], [180, 90], [-180, 90], [-180, -90]),
    ring([-180, -90], [180, -90], [180, -80], [0, -70], [-180, -80], [-180, -90]),
    ring([170, 0], [190, 1], [190, 2], [170, 0]),
    line([-90, 1], [90, 2]),
  ];
  t.match(
    await bench.import(await bench.layer(), collection(...whole.map((geometry) => feature({}, geometry)))),
    { rows: whole.length, notes: [] },
  );
});
