import { rmSync } from "node:fs";
import t from "tap";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { rscOf, type SxfMap, type SxfRecord, sxfOf } from "../support/sxf.js";
import { failureOf, importBench } from "../support/transfer.js";
import { zipOf } from "../support/zip.js";

/** Digital maps in SXF, as they come into a layer. */

const bench = await importBench();
t.teardown(() => bench.stop());

async function read(map: SxfMap | Buffer, source: { encoding?: string; srs?: string } = {}) {
  const layer = await bench.layer();
  const content = Buffer.isBuffer(map) ? map : sxfOf(map);
  const imported = await bench.import(layer, content, { extension: "sxf", ...source });
  return { ...imported, objects: await bench.objects(layer) };
}

/** The WKT with positions of six decimals. */
const rounded = (wkt: unknown) =>
  String(wkt).replace(/-?\d+\.\d+/g, (n) => String(Number(Number(n).toFixed(6))));

const square = (x: number, y: number, size: number): [number, number][] => [
  [x, y],
  [x, y + size],
  [x + size, y + size],
  [x + size, y],
  [x, y],
];
// Degrees as they are, by a geographic system.
const degrees = { epsg: 4326 };

t.test(
  "points, lines, polygons with holes, vectors and texts come with their vertices and values",
  async (t) => {
    const records: SxfRecord[] = [
      { kind: "point", code: 53_110_000, parts: [[[1, 2]]] },
      {
        kind: "point",
        parts: [
          [[1, 2]],
          [
            [3, 4],
            [5, 6],
          ],
        ],
      },
      {
        kind: "line",
        number: 70_000,
        parts: [
          [
            [1, 2],
            [3, 4.125],
          ],
        ],
      },
      {
        kind: "line",
        parts: [
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
      { kind: "polygon", parts: [square(10, 20, 9), square(11, 21, 2)] },
      {
        kind: "vector",
        parts: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
      },
      {
        kind: "text",
        parts: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
        text: "р. Волга",
      },
      { kind: "template", parts: [[[1, 2]], [[3, 4]]], text: "Ёлки" },
      {
        kind: "line",
        parts: [
          [
            [1, 2, 3.5],
            [3, 4, 5],
          ],
        ],
      },
    ];
    const { objects, notes } = await read({ ...degrees, records });
    t.same(
      objects.map(({ geom }) => geom),
      [
        "POINT(1 2)",
        "MULTIPOINT((1 2),(3 4),(5 6))",
        "LINESTRING(1 2,3 4.125)",
        "MULTILINESTRING((1 2,3 4),(5 6,7 8))",
        "POLYGON((10 20,10 29,19 29,19 20,10 20),(11 21,11 23,13 23,13 21,11 21))",
        "LINESTRING(1 2,3 4)",
        "LINESTRING(1 2,3 4)",
        "MULTIPOINT((1 2),(3 4))",
        "LINESTRING Z (1 2 3.5,3 4 5)",
      ],
    );
    t.match(objects[0], { CLCODE: 53_110_000, OBJECTNUMB: 1, TEXT: null });
    t.match(objects[2], { CLCODE: 1, OBJECTNUMB: 70_000 });
    t.match(objects[6], { TEXT: "р. Волга" });
    t.match(objects[7], { TEXT: "Ёлки\nЁлки" });
    t.match(notes.join(" "), /without its classifier \(\.rsc\)/);
  },
);

t.test("positions of every type of number are the same", async (t) => {
  const values = ["short", "int", "float", "double"] as const;
  for (const version of [3, 4] as const) {
    const records = values.flatMap((values): SxfRecord[] => [
      { kind: "point", values, parts: [[[37, 55]]] },
      { kind: "point", values, parts: [[[37, 55, 150]]] },
    ]);
    const { objects } = await read({ version, ...degrees, records }, version === 3 ? { srs: "4326" } : {});
    t.same(
      objects.map(({ geom }) => geom),
      values.flatMap(() => ["POINT(37 55)", "POINT Z (37 55 150)"]),
    );
  }
});

t.test("values come in every encoding, and numbers exactly", async (t) => {
  const text = "Ёлки «палки»";
  const long = "ж".repeat(300);
  const semantics: SxfRecord["semantics"] = [
    { code: 1, as: "cp866", text: "Ёлки-палки" },
    { code: 2, as: "cp1251", text },
    { code: 3, as: "utf-16", text: `${text} 🌳` },
    { code: 4, as: "long", text: long },
    { code: 5, as: 1, value: 7 },
    { code: 6, as: 2, value: -12_345, power: -2 },
    { code: 7, as: 4, value: 3, power: -1 },
    { code: 8, as: 8, value: 0.1 },
    { code: 9, as: 8, value: 1.5, power: 3 },
    { code: 5, as: 1, value: 8 },
  ];
  const { objects } = await read({
    ...degrees,
    records: [
      {
        parts: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
        semantics,
      },
    ],
  });
  t.match(objects[0], {
    SC_1: "Ёлки-палки",
    SC_2: text,
    SC_3: `${text} 🌳`,
    SC_5: 7,
    SC_5_2: 8,
    SC_6: -123.45,
    SC_7: 0.3,
    SC_8: 0.1,
    SC_9: 1500,
  });
  t.equal(JSON.stringify(objects[0]!.SC_4).includes(long), true);
});

t.test("texts have the encoding of the passport, of the record, or of the request", async (t) => {
  const record: SxfRecord = { kind: "text", parts: [[[1, 2]]], text: "Москва" };
  for (const map of [{ textEncoding: 0 }, { textEncoding: 1 }] as const)
    t.match((await read({ ...degrees, ...map, records: [record] })).objects[0], { TEXT: "Москва" });
  t.match((await read({ version: 3, records: [record] }, { srs: "4326" })).objects[0], {
    TEXT: "Москва",
    geom: "POINT(1 2)",
  });
  const requested = await read({ ...degrees, textEncoding: 0, records: [record] }, { encoding: "cp1251" });
  t.notMatch(requested.objects[0], { TEXT: "Москва" });
});

t.test("the reference system is that of the passport, by its EPSG number or by its parameters", async (t) => {
  const at = (east: number, north: number, map: Partial<SxfMap>, srs?: string) =>
    read({ records: [{ kind: "point", parts: [[[east, north]]] }], ...map }, srs ? { srs } : {});
  // Zone 37 of UTM has its middle at 39° east; zone 7 of Gauss-Kruger too.
  t.equal(rounded((await at(500_000, 0, {})).objects[0]!.geom), "POINT(39 0)");
  for (const version of [3, 4] as const) {
    const { objects } = await at(7_500_000, 6_000_000, { version, epsg: 0 });
    const [, x, y] = /POINT\((\S+) (\S+)\)/.exec(String(objects[0]!.geom))!.map(Number);
    t.ok(Math.abs(x! - 39) < 0.01 && Math.abs(y! - 54.13) < 0.02, `${x} ${y}`);
  }
  const utm = await at(500_000, 0, { epsg: 0, base: [9, 17, 9] });
  t.equal(rounded(utm.objects[0]!.geom), "POINT(39 0)");
  const south = { epsg: 0, base: [9, 17, 9], corners: [-20, -66, -18, -66, -18, -63, -20, -63] } as const;
  // Zone 20 of UTM has its middle at 63° west.
  t.equal(rounded((await at(500_000, 10_000_000, south)).objects[0]!.geom), "POINT(-63 0)");
  // Zone 1 of Gauss-Kruger has no EPSG number; a shift of datums moves it by some metres.
  const firstZone = { epsg: 0, corners: [55, 0, 56, 0, 56, 6, 55, 6] };
  t.match(
    rounded((await at(1_500_000, 6_000_000, firstZone)).objects[0]!.geom),
    /^POINT\((2\.99|3\.00)\d+ 54\.1/,
  );
  const inDegrees = sxfOf({ epsg: 0, base: [9, 17, 9], records: [{ kind: "point", parts: [[[37, 55]]] }] });
  inDegrees[237] = 65;
  t.equal((await read(inDegrees)).objects[0]!.geom, "POINT(37 55)");
  inDegrees.writeDoubleLE((37 * Math.PI) / 180, inDegrees.length - 8);
  inDegrees.writeDoubleLE((55 * Math.PI) / 180, inDegrees.length - 16);
  inDegrees[237] = 64;
  t.equal(rounded((await read(inDegrees)).objects[0]!.geom), "POINT(37 55)");
  const bare = sxfOf({ epsg: 0, records: [{ kind: "point", parts: [[[500_000, 6_000_000]]] }] });
  bare.writeDoubleLE(6_000_000, 104);
  bare.writeDoubleLE(490_000, 112);
  t.match(rounded((await read(bare)).objects[0]!.geom), /^POINT\(38\.99/);
  t.equal((await at(7, 8, { epsg: 0 }, "4326")).objects[0]!.geom, "POINT(7 8)");
  const unknown = await failureOf(at(1, 2, { epsg: 0, base: [200, 200, 200] }));
  t.match(unknown.message, /reference system of the file is not known here/);
});

t.test("the classifier names objects and their layers", async (t) => {
  const rsc = rscOf({
    layers: [
      { number: 1, name: "ДОРОГИ" },
      { number: 2, name: "РЕКИ" },
    ],
    objects: [
      { code: 61, kind: "line", layer: 1, name: "шоссе" },
      { code: 31, kind: "line", layer: 2, name: "река" },
      { code: 31, kind: "point", layer: 2, name: "родник" },
    ],
  });
  const parts: SxfRecord["parts"] = [
    [
      [1, 2],
      [3, 4],
    ],
  ];
  const sxf = sxfOf({
    ...degrees,
    records: [
      { code: 61, parts },
      { code: 31, parts },
      { code: 31, kind: "point", parts: [[[1, 2]]] },
      { code: 99, parts },
    ],
  });
  const wanted = [
    { layer: "ДОРОГИ", CLNAME: "шоссе", CLCODE: 61 },
    { layer: "РЕКИ", CLNAME: "река", CLCODE: 31 },
    { layer: "РЕКИ", CLNAME: "родник", CLCODE: 31 },
    { layer: null, CLNAME: null, CLCODE: 99 },
  ];
  const zipped = await bench.layer();
  const { notes } = await bench.import(zipped, await zipOf({ "a/Карта.SXF": sxf, "a/Карта.RSC": rsc }), {
    extension: "zip",
  });
  t.match(await bench.objects(zipped), wanted);
  t.same(notes, []);
  const beside = await bench.layer();
  const files = [
    { path: bench.file(sxf, "sxf"), name: "map.sxf" },
    { path: bench.file(rsc, "rsc"), name: "map.rsc" },
  ];
  await importIntoLayer(bench.deps, { layerId: beside, language: "en" }, { files, action: "merge" });
  t.match(await bench.objects(beside), wanted);
  for (const { path } of files) rmSync(path, { force: true });
});

t.test("samples of a digitized sheet become metres", async (t) => {
  const map = sxfOf({ epsg: 4326, state: 0b111, records: [{ kind: "point", parts: [[[30, 20]]] }] });
  // The corner of the sheet: 55 north, 36 east; its samples: 10, 10; a sample has 1:10 / 20.
  map.writeDoubleLE(55, 104);
  map.writeDoubleLE(36, 112);
  map.writeInt32LE(10, 316);
  map.writeInt32LE(10, 320);
  map.writeUInt32LE(10, 60);
  map.writeUInt32LE(20, 312);
  const { objects, notes } = await read(map);
  t.equal(objects[0]!.geom, "POINT(46 60)");
  t.match(notes.join(" "), /samples of a digitized sheet/);
});

t.test("a polygon may have parts outside of its first ring", async (t) => {
  const map = sxfOf({
    ...degrees,
    records: [{ kind: "polygon", parts: [square(0, 0, 4), square(1, 1, 1), square(10, 10, 2)] }],
  });
  map[452 + 20]! |= 16;
  const parts = Array.from({ length: 10_000 }, (_, index) => square(index, 0, 0.5));
  const many = sxfOf({ ...degrees, records: [{ kind: "polygon", parts }] });
  many[452 + 20]! |= 16;
  t.match((await failureOf(read(many))).message, /too many parts to tell which of them are holes/);
  t.match((await read(map)).objects[0]!.geom, /^MULTIPOLYGON\(\(\(0 0,.*\),\(1 1,.*\)\),\(\(10 10,/);
});

t.test("damaged and lying files are refused with a reason", async (t) => {
  const records: SxfRecord[] = [
    {
      parts: [
        [
          [1, 2],
          [3, 4],
        ],
      ],
      semantics: [{ code: 2, as: "cp1251", text: "x" }],
    },
    {
      parts: [
        [
          [1, 2],
          [3, 4],
        ],
      ],
    },
  ];
  const good = sxfOf({ ...degrees, records });
  const first = 452;
  const lying = (at: number, value: number) => {
    const bytes = Buffer.from(good);
    bytes.writeUInt32LE(value, at);
    return bytes;
  };
  const cases: [Buffer, RegExp][] = [
    [good.subarray(0, 10), /no SXF file/],
    [good.subarray(0, 200), /passport has a wrong length/],
    [good.subarray(0, good.length - 4), /names 2 objects, but ends within number 2/],
    [sxfOf({ ...degrees, records, count: 3 }), /names 3 objects, but ends before number 3/],
    [lying(440, 0xffff_ffff), /names 4294967295 objects, but ends before number 3/],
    [lying(first + 4, 0xffff_fff0), /ends within number 1/],
    [lying(first + 4, 8), /wrong length of number 1/],
    [lying(first + 8, 0xffff_fff0), /wrong length of number 1/],
    [lying(first + 24, 0xffff_ffff), /^none$/],
    [lying(first + 30, 0xfffe), /geometry is cut off/],
    [lying(first + 64, 0x00ff_0002), /type that is not known/],
    [lying(first + 64, 0xff7e_0002), /values are cut off/],
    [Buffer.from(".SXF 4.0\r\nP001 N-37\r\n"), /text form of SXF/],
    [lying(8, 0x0005_0000), /version 5 of SXF/],
    [sxfOf({ ...degrees, records, state: 0b1_1011 }), /do not fit its projection/],
    [sxfOf({ ...degrees, records, state: 0b1_1100 }), /not ready for exchange/],
  ];
  for (const [bytes, reason] of cases) {
    const { code, message } = await failureOf(read(bytes));
    t.match(code === "none" ? "none" : message, reason);
  }
  const { notes } = await read(sxfOf({ ...degrees, records, count: 1 }));
  t.match(notes.join(" "), /goes on after the objects that it names/);
});
