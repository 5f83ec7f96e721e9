import t from "tap";
import { type ListRequest, listStatement } from "../../src/features/list.js";
import { readList } from "../../src/features/read.js";
import { failureOf, makeFeatures } from "./support.js";

const data = await makeFeatures([
  { code: "name", type: "string" },
  { code: "population", type: "number" },
  { code: "founded", type: "datetime" },
  { code: "capital", type: "bool" },
  { code: "extra", type: "json" },
  { code: "files", type: "file" },
  { code: "label", type: "string", localized: true },
  { code: "rank", type: "number", localized: true },
  { code: "heading", type: "title" },
  { code: "__proto__", type: "string" },
  { code: "constructor", type: "string" },
  { code: 'a"b', type: "string" },
  { code: "it's", type: "string" },
]);
t.teardown(data.close);
const { db, layer, table, physical } = data;

const insert = (id: number, values: Record<string, unknown>, geometry: string | null) => {
  const entries = Object.entries(values);
  const names = ["svc_id", "geom", ...entries.map(([code]) => physical(code))];
  const marks = ["$1", "$2::geometry", ...entries.map((_, index) => `$${index + 3}`)];
  return db.execute(`insert into ${table} (${names.join(",")}) values (${marks.join(",")})`, [
    id,
    geometry && `SRID=4326;${geometry}`,
    ...entries.map(([, value]) => value),
  ]);
};
await insert(
  1,
  {
    name: 'Bern "the\nbear"',
    population: 133000,
    founded: "1191-06-01T00:00:00Z",
    capital: true,
    extra: '{"a":[1,null]}',
    files: [3, 4],
    label: '{"ru":"Берн","en":"Bern"}',
    rank: '{"en":2}',
  },
  "POINT(7.45 46.95)",
);
await insert(
  2,
  { name: "", population: 0.1, label: '{"de":"Nur deutsch"}' },
  "LINESTRING(170 0,175 10,179 10)",
);
await insert(
  3,
  { population: Number.NaN, founded: "2024-05-01T12:00:00.25Z" },
  "POLYGON((-179 0,-170 0,-170 10,-179 10,-179 0))",
);
await insert(4, { name: "nowhere", capital: false, rank: '{"ru":7,"en":1}' }, null);

const base: ListRequest = {
  fields: undefined,
  sort: [],
  offset: 0,
  languages: { own: "ru", main: "ru" },
  form: "items",
};
const signal = new AbortController().signal;

async function text(request: Partial<ListRequest>): Promise<string> {
  const whole = { ...base, ...request };
  const result = await readList(db, {
    statement: listStatement(layer, whole),
    limit: whole.limit,
    hasGeometry: whole.geom !== undefined,
    text: { opening: "[", closing: "]" },
    signal,
  });
  if (typeof result === "string") return result;
  let all = "";
  for await (const chunk of result) all += chunk;
  return all;
}
const list = async (request: Partial<ListRequest>) => JSON.parse(await text(request));
const ids = async (request: Partial<ListRequest>) =>
  (await list(request)).map((item: { id: number }) => item.id);

t.test("a list without fields has only ids, by cursor and in one query alike", async (t) => {
  const all = [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }];
  t.same(await list({}), all);
  t.same(await list({ limit: 1000 }), all);
  t.same(await list({ limit: 0 }), []);
  t.same(await list({ offset: 9 }), []);
  t.same(await ids({ limit: 2, offset: 1 }), [2, 3]);
  t.same(await ids({ limit: 1e12, offset: 1e9 }), []);
});

t.test("every column but geom and titles is shown, with nulls and JSON types", async (t) => {
  const items = await list({ fields: "all" });
  t.strictSame(
    items[0],
    JSON.parse(`{"id":1,"fields":{"svc_id":1,"name":"Bern \\"the\\nbear\\"","population":133000,
    "founded":"1191-06-01T00:00:00Z","capital":true,"extra":{"a":[1,null]},"files":"3,4","label":"Берн","rank":null,
    "__proto__":null,"constructor":null,"a\\"b":null,"it's":null}}`),
  );
  t.match(items[1].fields, { population: 0.1, label: null, capital: null, files: null, rank: null });
  t.match(items[2].fields, { population: null, founded: "2024-05-01T12:00:00.25Z", label: null });
  t.same(await list({ fields: ["name", "geom", "heading", "name"], limit: 1 }), [
    { id: 1, fields: { name: 'Bern "the\nbear"' } },
  ]);
  t.same((await list({ fields: ["label", "rank"], languages: { own: "en", main: "ru" } }))[3].fields, {
    label: null,
    rank: 1,
  });
  t.same((await list({ fields: ["label"], languages: { own: "x' or 1=1", main: "ru" } }))[0].fields, {
    label: null,
  });
});

t.test("only the layer's own columns are known", async (t) => {
  const hostile = ["nope", "name; drop table x", "svc_id--", "ctid", "toString", "hasOwnProperty", "*/", ""];
  for (const code of hostile) {
    const inFields = await failureOf(() => list({ fields: [code] }));
    t.match(inFields, { code: "unknown_column" }, `fields ${code}`);
    t.ok(Object.hasOwn((inFields.data as { columns: object }).columns, code));
    t.match(await failureOf(() => list({ sort: [{ code, descending: false }] })), { code: "unknown_column" });
    t.match(await failureOf(() => list({ fields: "all", filter: { code, value: "1" } })), {
      code: "unknown_column",
    });
  }
  for (const code of ["geom", "heading"]) {
    t.match(await failureOf(() => list({ sort: [{ code, descending: false }] })), { code: "unknown_column" });
  }
  t.match(await failureOf(() => list({ fields: ["name"], filter: { code: "population", value: "1" } })), {
    code: "filter_column_not_listed",
  });
  t.match(await failureOf(() => list({ filter: { code: "name", value: "1" } })), {
    code: "filter_column_not_listed",
  });
});

t.test("a filter compares with the value in the column's type", async (t) => {
  const cases: [string, string, number[]][] = [
    ["name", 'Bern "the\nbear"', [1]],
    ["name", "' OR 1=1--", []],
    ["name", "", [2, 3]],
    ["population", "133000.0", [1]],
    ["population", "1.33e5", [1]],
    ["population", "pg_sleep(9)", []],
    ["population", "", [4]],
    ["founded", "1191-06-01T01:00:00+01:00", [1]],
    ["founded", "soon", []],
    ["capital", "true", [1]],
    ["capital", "0", [4]],
    ["capital", "", [2, 3]],
    ["extra", '{ "a": [1, null] }', [1]],
    ["files", "3,4", [1]],
    ["files", "4", []],
    ["files", "", [2, 3, 4]],
    ["label", "Берн", [1]],
    ["label", "Bern", []],
    ["label", "Nur deutsch", []],
    ["label", "", [2, 3, 4]],
    ["rank", "2", []],
    ["rank", "", [1, 2, 3]],
    ["rank", "7.0", [4]],
    ["svc_id", "2", [2]],
    ["svc_id", "2.5", []],
    ["svc_id", "99999999999999999999", []],
    ["__proto__", "x", []],
    ['a"b', "", [1, 2, 3, 4]],
  ];
  for (const [code, value, expected] of cases) {
    t.same(await ids({ fields: "all", filter: { code, value } }), expected, `${code} = ${value}`);
  }
});

t.test("lists are sorted by several columns, then by id", async (t) => {
  const sorted = (...terms: string[]) =>
    ids({ sort: terms.map((term) => ({ code: term.replace("-", ""), descending: term.startsWith("-") })) });
  t.same(await sorted("-svc_id"), [4, 3, 2, 1]);
  t.same(await sorted("capital", "-population"), [4, 1, 3, 2]);
  t.same(await sorted("label"), [1, 2, 3, 4]);
  t.same(await sorted("-rank", "extra", "files", 'a"b'), [1, 2, 3, 4]);
  t.same(await sorted("name", "name", "-name"), [2, 1, 4, 3]);
});

t.test("a box selects what it meets, across the antimeridian too", async (t) => {
  const inBox = (south: number, west: number, north: number, east: number) =>
    ids({ envelope: { west, south, east, north } });
  t.same(await inBox(46, 7, 47, 8), [1]);
  t.same(await inBox(46.95, 7.45, 46.95, 7.45), [1]);
  t.same(await inBox(-90, -180, 90, 180), [1, 2, 3]);
  t.same(await inBox(5, 175, 11, -175), [2, 3]);
  t.same(await inBox(0, 171, 1, 178), []);
  t.same(await inBox(1, -170, 1, 190), [2, 3]);
  t.same(await inBox(-90, 0, 90, 0), []);
});

t.test("boxes are Lat, Lon, exact, in both reference systems", async (t) => {
  const [bern, line, , nowhere] = await list({ bbox: 4326 });
  t.same(bern.bbox, { sw: [46.95, 7.45], ne: [46.95, 7.45] });
  t.same(line.bbox, { sw: [0, 170], ne: [10, 179] });
  t.equal(nowhere.bbox, null);
  const [row] = await db.query<{ x: number; y: number }>(
    "select st_x(p) x, st_y(p) y from (select st_transform(st_setsrid(st_makepoint(7.45, 46.95), 4326), 3857) p) q",
  );
  const [inMetres] = await list({ bbox: 3857 });
  t.ok(
    Math.abs(inMetres.bbox.sw[0] - (row?.y ?? 0)) < 1e-6 &&
      Math.abs(inMetres.bbox.ne[1] - (row?.x ?? 0)) < 1e-6,
  );
});

t.test("geometry comes as GeoJSON, also as Features", async (t) => {
  const items = await list({ geom: { srid: 4326 } });
  t.same(items[0], { id: 1, geom: { type: "Point", coordinates: [7.45, 46.95] } });
  t.equal(items[3].geom, null);
  const metres = await list({ geom: { srid: 3857 } });
  t.ok(Math.abs(metres[0].geom.coordinates[0] - 829330.206) < 0.01);
  const features = await list({ form: "features", fields: ["name"], geom: { srid: 4326 }, bbox: 4326 });
  t.same(features[0], {
    type: "Feature",
    id: 1,
    bbox: [7.45, 46.95, 7.45, 46.95],
    geometry: { type: "Point", coordinates: [7.45, 46.95] },
    properties: { svc_id: 1, name: 'Bern "the\nbear"' },
  });
  t.same((await list({ form: "features" }))[3], {
    type: "Feature",
    id: 4,
    geometry: null,
    properties: { svc_id: 4 },
  });
  const points = await list({ geom: { srid: 4326, centroid: true } });
  t.same(
    points.map((item: { geom: { type: string } | null }) => item.geom?.type),
    ["Point", "Point", "Point", undefined],
  );
});

t.test("a thousand columns fit into one statement", async (t) => {
  const columns = Array.from({ length: 1000 }, (_, index) => ({ ...layer.columns[2]!, code: `n${index}` }));
  const wide = { ...layer, columns: [...layer.columns, ...columns] };
  const [row] = await db.query<{ o: string }>(
    ...(Object.values(listStatement(wide, { ...base, fields: "all", limit: 1 })) as [string, unknown[]]),
  );
  t.equal(Object.keys(JSON.parse(row?.o ?? "{}").fields).length, 1013);
});
