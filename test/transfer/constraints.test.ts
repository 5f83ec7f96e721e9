import t from "tap";
import { addColumns } from "../../src/catalog/columns.js";
import { replaceConstraints } from "../../src/catalog/constraints.js";
import { changeColumn } from "../../src/catalog/structure.js";
import { collection, failureOf, feature, importBench } from "../support/transfer.js";

/** Constraints and required columns hold for imports too. */

const bench = await importBench();
t.teardown(() => bench.stop());

async function constrained() {
  const layerId = await bench.layer();
  const [kind, size, note] = await addColumns(bench.db, layerId, [
    { code: "kind", type: "string" },
    { code: "size", type: "number" },
    { code: "note", type: "string", localizedValue: true },
  ]);
  await replaceConstraints(bench.db, { mapId: bench.mapId, layerId }, [
    { type: "enum", name: "kinds", columns: [kind!], definition: ["town", "city"] },
    { type: "range", name: "", columns: [size!], definition: [1, null] },
    { type: "pattern", name: "", columns: [note!], definition: ["[a-z]*"] },
  ]);
  return layerId;
}

t.test("a file that offends a constraint changes nothing", async (t) => {
  const layer = await constrained();
  await bench.import(layer, collection(feature({ kind: "town", size: 5, note: "abc" })));
  const before = await bench.state(layer);
  for (const [column, properties] of [
    ["kind", { kind: "Town", fresh: 1 }],
    ["size", { size: 0 }],
    ["note", { note: "ABC" }],
  ] as const) {
    for (const action of ["merge", "replace"] as const) {
      const rows = collection(feature({ kind: "city" }), feature(properties));
      t.match(await failureOf(bench.import(layer, rows, { action })), {
        code: "constraint_violated",
        message: /^Feature 2: /,
        data: { columns: { [column]: String }, column, feature: 2 },
      });
      t.equal(await bench.state(layer), before);
    }
  }
});

t.test("the feature is named by its number in the file, whatever its object's id", async (t) => {
  const layer = await constrained();
  const good = (svc_id?: number) => feature({ ...(svc_id ? { svc_id } : {}), kind: "town" });
  const bad = (svc_id?: number) => feature({ ...(svc_id ? { svc_id } : {}), kind: "village" });
  // New objects get ids after those that there are.
  await bench.import(layer, collection(...Array.from({ length: 40 }, () => good())));
  const cases: [string, object[], number][] = [
    ["no ids", [good(), good(), bad(), bad()], 3],
    ["an object that is there", [good(7), bad(3), good()], 2],
    ["ids in another order", [good(9), good(500), bad(400), good(8)], 3],
    ["ids and none", [good(900), good(), good(5), bad(), good()], 4],
    ["ids of objects that are not there, and none", [good(), good(700), good(), bad(701)], 4],
    ["none after an id", [bad(), good(800)], 1],
  ];
  for (const action of ["merge", "replace"] as const) {
    for (const [name, features, number] of cases) {
      t.match(
        await failureOf(bench.import(layer, collection(...features), { action })),
        { code: "constraint_violated", data: { column: "kind", feature: number } },
        `${action}: ${name}`,
      );
    }
  }
  await bench.import(layer, collection(good(), good(900), good()));
});

t.test("files that keep the constraints come in, and old offenders stay", async (t) => {
  const layer = await constrained();
  const { db } = bench;
  const [row] = await db.query<{ name: string }>(
    "select 'c' || id as name from layer_column where layer_id = $1 and code = 'kind'",
    [layer],
  );
  await db.execute(`insert into layers.l${layer} (${row!.name}) values ('village')`);
  t.match(
    await bench.import(
      layer,
      collection(feature({ kind: "city", size: null, note: "" }), feature({ size: 1 })),
    ),
    { inserted: 2 },
  );
  t.match(
    (await failureOf(bench.import(layer, collection(feature({ svc_id: 1, size: 3 }))))).code,
    "constraint_violated",
    "an object that a file changes must keep them all",
  );
  await bench.import(layer, collection(feature({ svc_id: 1, kind: "town" })));
  t.equal((await bench.objects(layer))[0]!.kind, "town");
});

t.test("required columns must be filled by what a file brings", async (t) => {
  const layer = await constrained();
  const target = { mapId: bench.mapId, layerId: layer, mainLanguage: "en" };
  await changeColumn(bench.db, target, "kind", { type: "string", required: true });
  await changeColumn(bench.db, target, "note", { type: "string", required: true });
  const before = await bench.state(layer);
  for (const [column, properties] of [
    ["kind", { note: "a" }],
    ["kind", { kind: "", note: "a" }],
    ["note", { kind: "town" }],
    ["note", { kind: "town", note: "" }],
  ] as const) {
    t.match(await failureOf(bench.import(layer, collection(feature(properties)))), {
      code: "import_failed",
      data: { column, columns: { [column]: "This column must be filled." }, feature: 1 },
    });
    t.equal(await bench.state(layer), before);
  }
  await bench.import(layer, collection(feature({ kind: "town", note: "a" })));
  const [object] = await bench.objects(layer);
  await bench.import(layer, collection(feature({ svc_id: object!.svc_id, size: 7 })));
  t.match(await bench.objects(layer), [{ kind: "town", size: 7 }]);
});

t.test("columns wait for an import to end, and imports for a change of columns", async (t) => {
  const layer = await constrained();
  const target = { mapId: bench.mapId, layerId: layer, mainLanguage: "en" };
  const rows = collection(
    ...Array.from({ length: 500 }, (_, i) => feature({ size: i + 1, [`p${i % 5}`]: i })),
  );
  const [imported] = await Promise.all([
    bench.import(layer, rows),
    changeColumn(bench.db, target, "size", { type: "string" })
      .then(() => changeColumn(bench.db, target, "size", { type: "number" }))
      .catch((error: { code?: string }) => t.equal(error.code, "invalid_value", "the range is for numbers")),
    changeColumn(bench.db, target, "kind", { type: "text", sort: 1 }),
  ]);
  t.match(imported, { inserted: 500 });
});

t.test("a file's new columns find room in a table that many columns have left", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, collection(feature({ a: 1 })));
  const names = Array.from({ length: 790 }, (_, i) => `x${i}`);
  for (let round = 0; round < 2; round++) {
    await bench.db.execute(
      `alter table layers.l${layer} ${names.map((name) => `add ${name} int`).join(", ")}`,
    );
    await bench.db.execute(`alter table layers.l${layer} ${names.map((name) => `drop ${name}`).join(", ")}`);
  }
  const properties = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`p${i}`, i]));
  await bench.import(layer, collection(feature(properties)));
  t.match(await bench.objects(layer), [
    { a: 1, p0: null },
    { a: null, ...properties },
  ]);
});
