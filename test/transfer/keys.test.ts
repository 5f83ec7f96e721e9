import t from "tap";
import { addColumns } from "../../src/catalog/columns.js";
import { collection, failureOf, feature, importBench } from "../support/transfer.js";

/** Merges that find objects by the value of a column. */

const bench = await importBench();
t.teardown(() => bench.stop());

async function parcels() {
  const layer = await bench.layer();
  await addColumns(bench.db, layer, [
    { code: "code", type: "string", name: { name: "Номер", localized: false, names: {} } },
    { code: "n", type: "number" },
    { code: "day", type: "datetime" },
    { code: "title", type: "string", localizedValue: true },
    { code: "f", type: "file" },
    { code: "j", type: "json" },
  ]);
  await bench.import(
    layer,
    collection(
      feature({ code: "a", n: 1, day: "2024-01-01" }),
      feature({ code: "b", n: 2, day: "2024-01-02T00:00:00Z" }),
      feature({ code: "twice", n: 3 }),
      feature({ code: "twice", n: 4 }),
      feature({ code: "", n: 5 }),
      feature({ code: null, n: 6 }),
    ),
  );
  return layer;
}
const shown = async (layer: number) =>
  (await bench.objects(layer)).map(({ svc_id, code, n }) => [svc_id, code, n]);

t.test(
  "objects are found by the value of a column, which is named as in the file or by its code, and keep their ids",
  async (t) => {
    const layer = await parcels();
    const result = await bench.import(
      layer,
      collection(
        feature({ svc_id: 900, Номер: "b", n: 20 }),
        feature({ svc_id: 1, Номер: "new", n: 30 }),
        feature({ Номер: "", n: 40 }),
        feature({ n: 50 }),
      ),
      { key: "Номер" },
    );
    t.match(result, { updated: 1, inserted: 3, unmatched: { count: 1, first: ["new"] }, columns: [] });
    t.match(result.notes, [/svc_id was not used/]);
    t.strictSame((await shown(layer)).slice(0, 2), [
      [1, "a", 1],
      [2, "b", 20],
    ]);
    t.strictSame((await shown(layer)).slice(6), [
      [7, "new", 30],
      [8, "", 40],
      [9, null, 50],
    ]);
  },
);

t.test("numbers and times are compared as values, however they are written", async (t) => {
  const layer = await parcels();
  t.match(await bench.import(layer, collection(feature({ n: "2.0", code: "B" })), { key: "n" }), {
    updated: 1,
  });
  t.match(
    await bench.import(layer, collection(feature({ day: "2024-01-01T03:00:00+03:00", code: "A" })), {
      key: "day",
    }),
    { updated: 1, inserted: 0 },
  );
  t.match((await shown(layer)).slice(0, 2), [
    [1, "A", 1],
    [2, "B", 2],
  ]);
  t.match(await bench.import(layer, collection(feature({ svc_id: 2, n: 8 })), { key: "svc_id" }), {
    updated: 1,
  });
});

t.test("a value that names several rows or objects is told", async (t) => {
  const layer = await parcels();
  const before = await bench.state(layer);
  const rows = collection(
    feature({ code: "twice", n: 1 }),
    feature({ code: "a", n: 9 }),
    feature({ code: "a", n: 10 }),
  );
  t.match(await failureOf(bench.import(layer, rows, { key: "code" })), {
    code: "import_failed",
    message: 'Feature 1: the value "twice" of the key code belongs to more than one object of the layer.',
    data: { column: "code", rows: [{ row: 1 }, { row: 3, reason: /occurs more than once in the file/ }] },
  });
  t.equal(await bench.state(layer), before);
  t.match(await bench.import(layer, rows, { key: "code", partial: true }), { updated: 1, bad: { count: 2 } });
  t.match((await shown(layer))[0], [1, "a", 9]);
});

t.test("what cannot be a key is refused", async (t) => {
  const layer = await parcels();
  const row = collection(feature({ code: "a", n: 1 }));
  for (const [key, code] of [
    ["none", "unknown_column"],
    ["geom", "invalid_value"],
    ["title", "invalid_value"],
    ["f", "invalid_value"],
    ["j", "invalid_value"],
    ["day", "import_failed"],
    ["svc_id", "import_failed"],
    ["code'; --", "unknown_column"],
  ] as const)
    t.match(await failureOf(bench.import(layer, row, { key })), { code }, key);
  t.match(await bench.import(layer, row, { key: "none", action: "replace" }), { inserted: 1, removed: 6 });
});

t.test("a merge without ids says that none matched", async (t) => {
  const layer = await bench.layer();
  const rows = collection(feature({ a: 1 }), feature({ a: 2 }));
  t.equal(
    (await bench.import(layer, rows)).summary,
    "Added 2, all as new objects: the file has no ids (svc_id).",
  );
  t.equal((await bench.import(layer, rows, { action: "replace" })).summary, "Added 2, removed 2.");
  t.equal(
    (await bench.import(layer, collection(feature({ svc_id: 3 })), { dryRun: true })).summary,
    "Would have added 0, changed 1.",
  );
});
