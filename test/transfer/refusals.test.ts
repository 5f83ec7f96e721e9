import { readFileSync } from "node:fs";
import t from "tap";
import { collection, failureOf, feature, importBench, point } from "../support/transfer.js";

const bench = await importBench();
t.teardown(() => bench.stop());

const layer = await bench.layer();
await bench.import(layer, collection(feature({ a: 1 }), feature({ a: 2 })));
const before = await bench.state(layer);
const good = JSON.stringify(collection(feature({ a: 3 }), feature({ a: 4, b: "x" })));

/** A thousand levels are far more than any data has, and too few for a parser's stack. */
const deep = (open: string, close: string, levels = 100_000) => open.repeat(levels) + close.repeat(levels);
const inFeature = (properties: string) => `{"type":"Feature","geometry":null,"properties":${properties}}`;
const inGeometry = (geometry: string) =>
  `{"type":"FeatureCollection","features":[${JSON.stringify(feature({}))},{"type":"Feature","properties":{},"geometry":${geometry}}]}`;

const damaged: readonly (readonly [string, string | Buffer])[] = [
  ["an empty file", ""],
  ["no JSON", "hello"],
  ["an array", "[]"],
  ["a number", "12"],
  ["a truncated collection", good.slice(0, -2)],
  ["a truncated feature", good.slice(0, 100)],
  ["a collection that goes on", `${good}{}`],
  ["a comma too many", good.replace("},{", "},,{")],
  ["a comma at the end", good.replace(/]}$/, ",]}")],
  ["a comma in the properties", inFeature('{"a":1,}')],
  ["a key without quotes", inFeature("{a:1}")],
  ["single quotes", inFeature("{'a':1}")],
  ["a number that is none", inFeature('{"a":01}')],
  ["NaN", inFeature('{"a":NaN}')],
  ["a bare word", inFeature('{"a":undefined}')],
  ["a control character in a text", inFeature('{"a":"x\u0001"}')],
  ["a bad escape", inFeature('{"a":"\\x"}')],
  ["brackets of two kinds", inFeature('{"a":[1}')],
  ["NUL in a value", inFeature('{"a":"x\\u0000"}')],
  ["NUL in nested JSON", inFeature('{"a":{"b":["\\u0000"]}}')],
  ["NUL in a name", inFeature('{"a\\u0000":1}')],
  ["half a surrogate pair", inFeature('{"a":"\\ud800"}')],
  ["half a surrogate pair in nested JSON", inFeature('{"a":["\\udfff x"]}')],
  ["broken UTF-8", Buffer.from(inFeature('{"a":"\xff"}'), "latin1")],
  ["broken UTF-8 in a name", Buffer.from(inFeature('{"\xff":1}'), "latin1")],
  ["properties that are a list", inFeature("[1]")],
  ["a feature that is a number", '{"type":"FeatureCollection","features":[1]}'],
  ["a feature without a type", '{"type":"FeatureCollection","features":[{}]}'],
  ["a collection in a collection", JSON.stringify(collection(collection()))],
  ["features without the type", '{"features":[]}'],
  ["a type without features", '{"type":"FeatureCollection"}'],
  ["features that are no list", '{"type":"FeatureCollection","features":{}}'],
  ["two lists of features", '{"type":"FeatureCollection","features":[],"features":[]}'],
  ["TopoJSON", '{"type":"Topology","objects":{},"arcs":[]}'],
  ["an object", "{}"],
  ["deep lists", inFeature(`{"a":${deep("[", "]")}}`)],
  ["deep objects", inFeature(`{"a":${deep('{"a":', "}").replace(":}", ":1}")}}`)],
  ["deep coordinates", inGeometry(`{"type":"Polygon","coordinates":${deep("[", "]")}}`)],
  ["only brackets", "{".repeat(1_000_000)],
  ["only a quote", `{"${"a".repeat(1_000_000)}`],
  ["ten thousand columns", inFeature(`{${Array.from({ length: 10_000 }, (_, i) => `"c${i}":1`).join()}}`)],
  [
    "a thousand columns with more than one object can hold",
    inFeature(`{${Array.from({ length: 1000 }, (_, i) => `"c${i}":"${"x".repeat(40)}"`).join()}}`),
  ],
  [
    "a VRT",
    '<OGRVRTDataSource><OGRVRTLayer name="x"><SrcDataSource>/etc/passwd</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>',
  ],
  ["a GDAL service", "<GDAL_WMS><Service><ServerUrl>http://127.0.0.1:9/</ServerUrl></Service></GDAL_WMS>"],
  ["a connection string", "PG:dbname=postgres"],
  ["a path", "/vsicurl/http://127.0.0.1:9/x.geojson"],
  ["a program", readFileSync(process.execPath).subarray(0, 100_000)],
];

const badGeometries: readonly (readonly [string, string])[] = [
  ["a polygon of one point", '{"type":"Polygon","coordinates":[[[1,2]]]}'],
  ["a ring that is not closed", '{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}'],
  ["a line of one point", '{"type":"LineString","coordinates":[[1,2]]}'],
  ["a position of one number", '{"type":"Point","coordinates":[1]}'],
  ["a position of texts", '{"type":"Point","coordinates":["1","2"]}'],
  ["a position with null", '{"type":"Point","coordinates":[1,null]}'],
  ["an infinite number", '{"type":"Point","coordinates":[1,1e999]}'],
  ["NaN", '{"type":"Point","coordinates":[NaN,1]}'],
  ["too deep", '{"type":"Point","coordinates":[[1,2]]}'],
  ["too shallow", '{"type":"Polygon","coordinates":[[1,2],[3,4]]}'],
  ["no coordinates", '{"type":"Point"}'],
  ["coordinates of null", '{"type":"Point","coordinates":null}'],
  ["an unknown type", '{"type":"Circle","coordinates":[1,2]}'],
  ["a type from the prototype", '{"type":"constructor","coordinates":[1,2]}'],
  ["a text", '"POINT(1 2)"'],
  [
    "nested collections",
    `${'{"type":"GeometryCollection","geometries":['.repeat(20)}${JSON.stringify(point(1, 2))}${"]}".repeat(20)}`,
  ],
  ["too many positions", `{"type":"MultiPoint","coordinates":[${"[0,0],".repeat(5_000_000)}[0,0]]}`],
];

t.test("a damaged file changes nothing", async (t) => {
  for (const [name, content] of damaged) {
    for (const action of ["merge", "replace"] as const) {
      t.match(
        await failureOf(bench.import(layer, content, { action })),
        { code: "import_failed" },
        `${name}, ${action}`,
      );
    }
  }
  t.equal(await bench.state(layer), before);
});

t.test("a geometry that is none is named by its feature, and nothing changes", async (t) => {
  for (const [name, geometry] of badGeometries) {
    const failure = await failureOf(bench.import(layer, inGeometry(geometry), { action: "replace" }));
    t.match(failure, { code: "invalid_geometry", data: { feature: 2 } }, name);
  }
  t.equal(await bench.state(layer), before);
});

t.test("files of other formats are refused by their extension", async (t) => {
  for (const extension of ["vrt", "wms", "pdf", "exe", "constructor", "__proto__", ""]) {
    t.match(
      await failureOf(bench.import(layer, good, { extension })),
      { code: "unsupported_format" },
      extension,
    );
  }
  t.match(await failureOf(bench.import(layer, good, { extension: "ndjson" })), { code: "import_failed" });
  t.equal(await bench.state(layer), before);
});

t.test("one transfer host has seen it all", async (t) => {
  t.equal(bench.transfer.counts().restarts, 0);
});
