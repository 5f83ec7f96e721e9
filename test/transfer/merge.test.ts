import t from "tap";
import { addColumns } from "../../src/catalog/columns.js";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { collection, failureOf, feature, importBench, point } from "../support/transfer.js";

const bench = await importBench();
t.teardown(() => bench.stop());

const ring = [
  [0, 0],
  [0, 3],
  [3, 3],
  [0, 0],
];
const version = async (layerId: number) =>
  (
    await bench.db.query<{ version: number }>("select version >> 20 as version from layer where id = $1", [
      layerId,
    ])
  )[0]!.version;

t.test("merging changes objects by svc_id and adds the others", async (t) => {
  const layer = await bench.layer();
  await bench.import(
    layer,
    collection(feature({ a: 1, b: "x" }, point(1, 1)), feature({ a: 2, b: "y" }, point(2, 2))),
  );
  const result = await bench.import(
    layer,
    collection(
      feature({ svc_id: 1, a: 10 }, point(9, 9)),
      { type: "Feature", properties: { svc_id: 2, b: null } },
      feature({ svc_id: 50, a: 50 }, point(5, 5)),
      feature({ a: 3 }, point(3, 3)),
    ),
  );
  t.match(result, { rows: 4, inserted: 2, updated: 2, columns: [] });
  const objects = await bench.objects(layer);
  t.strictSame(
    objects.slice(0, 2),
    [
      { svc_id: 1, a: 10, b: "x", geom: "POINT(9 9)" },
      { svc_id: 2, a: 2, b: null, geom: "POINT(2 2)" },
    ],
    "what a feature does not name stays, what it names as null is emptied",
  );
  t.match(
    objects.find((object) => object.svc_id === 50),
    { a: 50 },
  );
  const ids = objects.map((object) => object.svc_id);
  await bench.import(layer, feature({ a: 4 }));
  t.notOk(ids.includes((await bench.objects(layer)).at(-1)!.svc_id), "later objects get ids of their own");
});

t.test("replacing puts the file's objects in the place of the old ones", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, collection(feature({ a: 1 }), feature({ a: 2 })));
  t.match(await bench.import(layer, collection(feature({ svc_id: 2, a: 3 })), { action: "replace" }), {
    inserted: 1,
    updated: 0,
  });
  t.strictSame(await bench.objects(layer), [{ svc_id: 2, a: 3, geom: "POINT(1 2)" }]);
  await bench.import(layer, collection());
  t.equal((await bench.objects(layer)).length, 1, "merging nothing changes nothing");
  await bench.import(layer, collection(), { action: "replace" });
  t.equal((await bench.objects(layer)).length, 0, "replacing by nothing empties the layer");
});

t.test("the change log counts an import as one change", async (t) => {
  const layer = await bench.layer();
  const before = await version(layer);
  await bench.import(
    layer,
    collection(...Array.from({ length: 100 }, (_, i) => feature({ i }, point(i, i / 2)))),
  );
  t.equal(await version(layer), before + 1);
});

t.test("the layer's geometry kind and default style follow its data", async (t) => {
  const layer = await bench.layer();
  const look = async () =>
    (
      await bench.db.query<{ geometry_kind: string; css_style: string }>(
        "select geometry_kind, css_style from layer join node using (id) where id = $1",
        [layer],
      )
    )[0]!;
  await bench.import(layer, collection(feature({}, { type: "Polygon", coordinates: [ring] })));
  t.equal((await look()).geometry_kind, "Polygon");
  t.match((await look()).css_style, /polygon-fill/);
  t.notMatch((await look()).css_style, /marker/);
  await bench.import(layer, collection(feature({ a: 1 }, null)));
  t.equal((await look()).geometry_kind, "Polygon");
  await bench.import(layer, collection(feature({}, point(1, 1))));
  t.equal((await look()).geometry_kind, "Unknown");
  await bench.db.execute("update node set css_style = '#x { marker-width: 3 }' where id = $1", [layer]);
  await bench.import(layer, collection(feature({}, point(1, 1))), { action: "replace" });
  t.equal((await look()).geometry_kind, "Point");
  t.equal((await look()).css_style, "#x { marker-width: 3 }", "a style of the user's own stays");
});

t.test("values are converted to the type that a column has", async (t) => {
  const layer = await bench.layer();
  await addColumns(bench.db, layer, [
    { code: "n", type: "number" },
    { code: "s", type: "string", name: { name: "Название", localized: false, names: {} } },
    { code: "b", type: "bool" },
    { code: "d", type: "datetime" },
    { code: "j", type: "json" },
    { code: "l", type: "string", localizedValue: true },
  ]);
  const result = await bench.import(
    layer,
    collection(
      feature({ n: "-1.5e3", Название: 7, b: 1, d: "2024-02-29 01:02:03+01", j: "text", l: "hello" }),
      feature({ n: " 12 ", Название: { a: 1 }, b: 0, d: "not yet".slice(7), j: 5, l: null }),
      feature({ n: "" }),
    ),
  );
  t.strictSame(result.columns, []);
  t.match(await bench.objects(layer), [
    { n: -1500, s: "7", b: true, d: "2024-02-29T00:02:03+00:00", j: "text", l: { en: "hello" } },
    { n: 12, s: '{"a":1}', b: false, d: null, j: "5", l: null },
    { n: null },
  ]);
  await importIntoLayer(
    bench.deps,
    { layerId: layer, language: "ru" },
    {
      files: [
        { path: bench.file({ type: "Feature", properties: { svc_id: 1, l: "привет" } }), name: "a.geojson" },
      ],
      action: "merge",
    },
  );
  t.match(
    (await bench.objects(layer))[0],
    { n: -1500, l: { en: "hello", ru: "привет" } },
    "one language at a time",
  );
});

t.test("a value that does not fit its column is named, and nothing changes", async (t) => {
  const layer = await bench.layer();
  await addColumns(bench.db, layer, [
    { code: "n", type: "number" },
    { code: "b", type: "bool" },
    { code: "d", type: "datetime" },
    { code: "f", type: "file" },
  ]);
  await bench.import(layer, collection(feature({ n: 1 })));
  const before = await bench.state(layer);
  const conflicts: readonly (readonly [string, unknown])[] = [
    ["n", "twelve"],
    ["n", true],
    ["n", "1e400"],
    ["n", "12345678901234567890"],
    ["n", { a: 1 }],
    ["b", "maybe"],
    ["b", 2],
    ["d", "yesterday"],
    ["d", "2023-02-29"],
    ["d", "0000-01-01"],
    ["d", 2024],
    ["f", "1,2"],
  ];
  for (const [code, value] of conflicts) {
    for (const action of ["merge", "replace"] as const) {
      const failure = await failureOf(
        bench.import(layer, collection(feature({ new_one: 1 }), feature({ [code]: value, new_one: 2 })), {
          action,
        }),
      );
      t.match(
        failure,
        { code: "import_failed", data: { column: code, feature: 2 } },
        `${code} = ${JSON.stringify(value)}`,
      );
    }
  }
  t.equal(await bench.state(layer), before);
});

t.test("ids must be whole, positive and each of one feature", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, collection(feature({ a: 1 })));
  const before = await bench.state(layer);
  for (const id of [0, -1, 1.5, "abc", true, 9007199254740991, "1; drop table x"]) {
    t.match(await failureOf(bench.import(layer, collection(feature({ svc_id: id })))), {
      code: "import_failed",
      data: { column: "svc_id", feature: 1 },
    });
  }
  t.match(
    await failureOf(bench.import(layer, collection(feature({ svc_id: 7 }), feature({ svc_id: "7.0" })))),
    {
      code: "import_failed",
      data: { column: "svc_id", feature: 2 },
    },
  );
  t.equal(await bench.state(layer), before);
});

t.test("columns are added only by those who may", async (t) => {
  const layer = await bench.layer();
  const source = {
    files: [{ path: bench.file(collection(feature({ a: 1 }))), name: "a.geojson" }],
    action: "merge",
  } as const;
  const run = (mayChangeColumns: boolean) =>
    importIntoLayer(bench.deps, { layerId: layer, language: "en" }, source, { mayChangeColumns });
  t.match(await run(false).catch((error: unknown) => error), { kind: "forbidden" });
  t.strictSame((await run(true)).columns, [{ code: "a", name: "a" }]);
  t.strictSame((await run(false)).columns, []);
  const columns = new Map([["a", { type: "string" as const }]]);
  const retype = (mayChangeColumns: boolean) =>
    importIntoLayer(
      bench.deps,
      { layerId: layer, language: "en" },
      { ...source, action: "replace", columns },
      { mayChangeColumns },
    );
  t.match(await retype(false).catch((error: unknown) => error), { kind: "forbidden" }, "and so are types");
  t.strictSame((await retype(true)).retyped, ["a"]);
  t.strictSame((await retype(false)).retyped, []);
});

t.test("two imports into one layer come one after the other", async (t) => {
  const layer = await bench.layer();
  const many = (name: string) => collection(...Array.from({ length: 500 }, (_, i) => feature({ [name]: i })));
  await Promise.all([
    bench.import(layer, many("a")),
    bench.import(layer, many("b")),
    bench.import(layer, many("a")),
  ]);
  t.equal((await bench.objects(layer)).length, 1500);
});
