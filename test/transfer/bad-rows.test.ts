import t from "tap";
import { addColumns } from "../../src/catalog/columns.js";
import { replaceConstraints } from "../../src/catalog/constraints.js";
import { changeColumn } from "../../src/catalog/structure.js";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { quietLog } from "../support/log.js";
import { collection, failureOf, feature, importBench, point } from "../support/transfer.js";

/** Rows that cannot be imported: all of them are told, and they fail the import or are left out. */

const bench = await importBench();
t.teardown(() => bench.stop());

/** A layer with rules for most columns, and two objects (1, 2). */
async function ruled() {
  const layerId = await bench.layer();
  const [n, , note] = await addColumns(bench.db, layerId, [
    { code: "n", type: "number" },
    { code: "kind", type: "string" },
    { code: "note", type: "string", localizedValue: true },
    { code: "f", type: "file" },
  ]);
  await replaceConstraints(bench.db, { mapId: bench.mapId, layerId }, [
    { type: "range", name: "", columns: [n!], definition: [1, 100] },
    { type: "pattern", name: "", columns: [note!], definition: ["[a-z]*"] },
  ]);
  const target = { mapId: bench.mapId, layerId, mainLanguage: "en" };
  await changeColumn(bench.db, target, "kind", { type: "string", required: true });
  await bench.import(layerId, collection(feature({ n: 1, kind: "a" }), feature({ n: 2, kind: "b" })));
  return layerId;
}

const good = (properties: object = {}) => feature({ n: 5, kind: "good", ...properties });
/** Features 1 to 14, of which each with an even number is bad for another reason. */
const mixed = collection(
  good(),
  feature({ n: 5, kind: "x" }, { type: "Point", coordinates: ["a", "b"] }),
  good(),
  feature({ n: "many", kind: "x" }),
  good({ svc_id: 2, n: 7 }),
  feature({ n: 5, kind: "x" }, point(30, 95)),
  good({ svc_id: 77 }),
  good({ svc_id: -4 }),
  good(),
  good({ svc_id: "77.0" }),
  good(),
  good({ f: 12 }),
  feature({ svc_id: 1, note: "abc" }),
  good({ n: 500 }),
  good({ note: "ABC" }),
  feature({ n: 5 }),
);
const reasons = [
  [2, /its geometry|nested|number|malformed/],
  [4, /"many" is not a value of type number for column n\./],
  [6, /outside longitude/],
  [8, /the svc_id "-4" is not a positive whole number/],
  [10, /the svc_id "77.0" occurs more than once/],
  [12, /"12" in column f names files that the object does not have/],
  [14, /its value for column n is not allowed/],
  [15, /its value for column note is not allowed/],
  [16, /its value for column kind is not allowed. This column must be filled/],
] as const;
const told = reasons.map(([row, reason]) => ({ row, reason }));

t.test("one bad row fails the import, which names it and lists all of them", async (t) => {
  const layerId = await ruled();
  const before = await bench.state(layerId);
  const failure = await failureOf(bench.import(layerId, mixed));
  t.match(failure, {
    code: "invalid_geometry",
    message: /^Feature 2: /,
    data: { feature: 2, count: 9, rows: told },
  });
  t.equal(await bench.state(layerId), before);
});

t.test("with partial the others come in, and those left out are told", async (t) => {
  const layerId = await ruled();
  const result = await bench.import(layerId, mixed, { partial: true });
  t.match(result, {
    rows: 16,
    inserted: 5,
    updated: 2,
    bad: { count: 9, rows: told },
    unmatched: { count: 1, first: ["77"] },
  });
  t.match(
    (await bench.objects(layerId)).map(({ svc_id, n, note }) => [svc_id, n, note]),
    [
      [1, 1, { en: "abc" }],
      [2, 7, null],
      [77, 5, null],
      [Number, 5, null],
      [Number, 5, null],
      [Number, 5, null],
      [Number, 5, null],
    ],
  );
});

t.test("a dry run says the same and changes nothing", async (t) => {
  const layerId = await ruled();
  const before = await bench.state(layerId);
  t.match(await bench.import(layerId, mixed, { partial: true, dryRun: true }), {
    inserted: 5,
    updated: 2,
    bad: { count: 9, rows: told },
    unmatched: { count: 1, first: ["77"] },
  });
  t.match(await failureOf(bench.import(layerId, mixed, { dryRun: true })), { code: "invalid_geometry" });
  const fresh = collection(good({ "Новый столбец": 1 }), good());
  t.match(await bench.import(layerId, fresh, { dryRun: true, action: "replace" }), {
    inserted: 2,
    removed: 2,
    columns: [{ code: "Novyi_stolbets", name: "Новый столбец" }],
  });
  t.equal(await bench.state(layerId), before);
});

t.test("a hundred bad rows are listed, the others counted", async (t) => {
  const layer = await bench.layer();
  await addColumns(bench.db, layer, [{ code: "n", type: "number" }]);
  const rows = collection(...Array.from({ length: 250 }, (_, i) => feature({ n: i < 5 ? i : `x${i}` })));
  const { bad, inserted } = await bench.import(layer, rows, { partial: true });
  t.equal(inserted, 5);
  t.equal(bad.count, 245);
  t.strictSame(
    bad.rows.map(({ row }) => row),
    Array.from({ length: 100 }, (_, i) => i + 6),
  );
  t.match(await failureOf(bench.import(layer, rows)), { data: { count: 245, rows: { length: 100 } } });
  const shapes = collection(...Array.from({ length: 250 }, () => feature({}, { type: "Point" })));
  t.match(await failureOf(bench.import(layer, shapes)), {
    code: "invalid_geometry",
    data: { feature: 1, rows: { length: 100 } },
  });
  t.match(await bench.import(layer, shapes, { partial: true }), { inserted: 0, bad: { count: 250 } });
});

t.test(
  "a constraint that holds only together with the object's other values is checked on them",
  async (t) => {
    const layerId = await ruled();
    // A required column is filled by what the object has, unless the file empties it.
    t.match(
      await bench.import(
        layerId,
        collection(feature({ svc_id: 1, n: 3 }), feature({ svc_id: 2, kind: null }), feature({ n: 4 })),
        { partial: true },
      ),
      { updated: 1, inserted: 0, bad: { rows: [{ row: 2 }, { row: 3 }] } },
    );
  },
);

t.test("checks of an import may take longer than a statement of a request", async (t) => {
  const layer = await ruled();
  const db = openDatabase({
    url: bench.db.directUrl,
    connections: 4,
    statementTimeoutMs: 1_000,
    log: quietLog,
  });
  t.teardown(() => db.close());
  const files = [{ path: bench.file(collection(good())), name: "a.geojson" }];
  // The checks wait for the table of constraints.
  const held = bench.db.transaction(async (tx) => {
    await tx.execute("lock table column_constraint in access exclusive mode");
    await new Promise((resolve) => setTimeout(resolve, 4_000));
  });
  t.match(
    await importIntoLayer(
      { ...bench.deps, db },
      { layerId: layer, language: "en" },
      { files, action: "merge" },
    ),
    { inserted: 1 },
  );
  await held;
});
