import t from "tap";
import { valueColumns } from "../../src/features/column-sql.js";
import {
  createObject,
  createStatement,
  deleteObject,
  getGeometry,
  putGeometry,
  updateObject,
} from "../../src/features/edit.js";
import { readFields } from "../../src/features/fields.js";
import { encodeGeometry } from "../../src/features/geometry.js";
import { getObject } from "../../src/features/get.js";
import type { ObjectShape } from "../../src/features/item.js";
import { wholeText } from "../../src/features/json-text.js";
import { failureOf, makeFeatures } from "./support.js";

const { db, layer, table, close } = await makeFeatures([
  { code: "name", type: "string", required: true },
  { code: "size", type: "number" },
  { code: "at", type: "datetime" },
  { code: "open", type: "bool" },
  { code: "data", type: "json" },
  { code: "files", type: "file" },
  { code: "label", type: "text", localized: true, required: true },
  { code: "rank", type: "number", localized: true },
  { code: "heading", type: "title", required: true },
  { code: "__proto__", type: "string" },
]);
t.teardown(close);

const languages = { own: "ru", main: "ru" };
const shape: ObjectShape = { fields: valueColumns(layer), languages };
const point = (x: number, y: number) =>
  encodeGeometry({ type: "Point", coordinates: [x, y] }, { srid: 4326, kind: "Unknown" });

const create = async (fields: unknown, geom?: Buffer, own = "ru") => {
  const asked = { own, main: "ru" };
  const assignments = readFields(layer, { fields, languages: asked });
  const made = await createObject(db, layer, { assignments, geom, shape: { ...shape, languages: asked } });
  return JSON.parse(wholeText(made.json));
};
const update = async (id: number, fields: unknown, geom?: Buffer | null, own = "ru") => {
  const asked = { own, main: "ru" };
  const assignments = readFields(layer, { fields, languages: asked, id });
  const changed = await updateObject(db, layer, id, {
    assignments,
    geom,
    shape: { ...shape, languages: asked },
  });
  return changed && JSON.parse(wholeText(changed.json));
};
const get = async (id: number, more: Partial<ObjectShape> = {}) => {
  const found = await getObject(db, layer, id, { ...shape, ...more });
  return found && JSON.parse(wholeText(found.json));
};
const filled = { name: "n", label: "ярлык" };

t.test("an object is made with all of its values and answered whole", async (t) => {
  const fields = {
    name: 'quote " and \\ and \u2028 and 🦉',
    size: "1e3",
    at: "2024-05-01T14:00:00+02:00",
    open: 1,
    data: { a: [null, "x"], b: { constructor: 1 } },
    files: "",
    label: "ярлык",
    rank: 5,
  };
  const made = await create(
    JSON.parse(JSON.stringify(fields).replace("}", "}").replace(/}$/, ',"__proto__":"own"}')),
  );
  t.strictSame(
    made.fields,
    JSON.parse(
      JSON.stringify({
        svc_id: made.id,
        ...fields,
        size: 1000,
        at: "2024-05-01T12:00:00Z",
        open: true,
        files: null,
      }).replace(/}$/, ',"__proto__":"own"}'),
    ),
  );
  t.strictSame(await get(made.id), made);
  t.equal(({} as Record<string, unknown>).own, undefined);
});

t.test("only the columns given are changed", async (t) => {
  const made = await create({ ...filled, size: 1, data: 7 }, point(1, 2));
  t.strictSame((await update(made.id, { size: null, svc_id: made.id })).fields, {
    ...made.fields,
    size: null,
  });
  t.strictSame((await update(made.id, {})).fields.data, 7);
  t.same((await get(made.id, { geom: { srid: 4326 } })).geom, { type: "Point", coordinates: [1, 2] });
  await update(made.id, {}, point(3, 4));
  t.same((await get(made.id, { geom: { srid: 4326 } })).geom, { type: "Point", coordinates: [3, 4] });
  await update(made.id, { name: "still" }, null);
  t.match(await get(made.id, { geom: { srid: 4326 }, bbox: 4326 }), { geom: null, bbox: null });
  t.equal(await update(2 ** 40, { name: "x" }), undefined);
  t.equal(await update(2 ** 40, {}), undefined);
});

t.test("a localised value is kept by language", async (t) => {
  const made = await create(filled);
  t.equal(made.fields.label, "ярлык");
  const english = await update(made.id, { label: "label", rank: 3 }, undefined, "en");
  t.match(english.fields, { label: "label", rank: 3 });
  t.match((await get(made.id)).fields, { label: "ярлык", rank: null });
  t.match((await update(made.id, { label: { de: "Etikett", ru: null } })).fields, { label: null });
  t.match((await update(made.id, { rank: null }, undefined, "en")).fields, { rank: null });
  const [row] = await db.query<{ label: unknown; rank: unknown }>(
    `select c${layer.columns.find((c) => c.code === "label")?.id} as label, c${layer.columns.find((c) => c.code === "rank")?.id} as rank from ${table} where svc_id = $1`,
    [made.id],
  );
  t.strictSame(row, { label: { de: "Etikett" }, rank: null });
  const both = await create({ name: "n", label: { ru: "да", en: "yes" } }, undefined, "en");
  t.equal(both.fields.label, "yes");
});

t.test("wrong values are named by column and nothing is saved", async (t) => {
  const count = async () => (await db.query<{ n: number }>(`select count(*) n from ${table}`))[0]?.n;
  const before = await count();
  const cases: [unknown, string, unknown][] = [
    [undefined, "required_parameters", { required: ["fields"] }],
    [null, "required_parameters", { required: ["fields"] }],
    [[], "invalid_value", {}],
    ["x", "invalid_value", {}],
    [{}, "invalid_value", { columns: { name: String, label: String }, required: ["name", "label"] }],
    [{ ...filled, name: "" }, "invalid_value", { columns: { name: String } }],
    [{ ...filled, label: null }, "invalid_value", { columns: { label: String } }],
    [{ ...filled, label: { en: "" } }, "invalid_value", { columns: { label: String } }],
    [{ ...filled, label: { "'; --": "x" } }, "invalid_value", { columns: { label: String } }],
    [{ ...filled, size: "x", open: "x" }, "invalid_value", { columns: { size: String, open: String } }],
    [{ ...filled, name: "\0" }, "invalid_value", { columns: { name: String } }],
    [{ ...filled, name: "\udfff" }, "invalid_value", { columns: { name: String } }],
    [{ ...filled, files: "7" }, "invalid_value", { columns: { files: String } }],
    [{ ...filled, svc_id: 5 }, "invalid_value", { columns: { svc_id: String } }],
    [{ ...filled, geom: null }, "invalid_value", { columns: { geom: String } }],
    [{ ...filled, heading: "x" }, "invalid_value", { columns: { heading: String } }],
    [{ ...filled, nope: 1 }, "unknown_column", { columns: { nope: String } }],
    [{ ...filled, "name = 1, c2": 1 }, "unknown_column", { columns: { "name = 1, c2": String } }],
    [{ ...filled, constructor: 1 }, "unknown_column", {}],
  ];
  for (const [fields, code, data] of cases) {
    t.match(await failureOf(() => create(fields)), { code, data }, JSON.stringify(fields) ?? "absent");
  }
  t.match(await failureOf(() => update(1, { svc_id: 2 })), { code: "invalid_value" });
  t.match(await failureOf(() => update(1, { name: null })), { code: "invalid_value" });
  t.match(await failureOf(() => create({ ...filled, label: "x" }, undefined, "x'y")), {
    code: "invalid_value",
  });
  t.equal(await count(), before);
});

t.test("geometry is read, replaced and taken away", async (t) => {
  const { id } = await create(filled);
  t.equal(await getGeometry(db, layer, id, { srid: 4326 }), "null");
  t.equal(await getGeometry(db, layer, 2 ** 40, { srid: 4326 }), undefined);
  const put = async (geom: Buffer | null, key = id) =>
    (await putGeometry(db, layer, key, { geom, shape: { srid: 4326 } }))?.json;
  t.same(JSON.parse(wholeText((await put(point(0.1, 0.2))) ?? "")), {
    type: "Point",
    coordinates: [0.1, 0.2],
  });
  t.equal(await put(point(0, 0), 2 ** 40), undefined);
  t.equal(await put(null), "null");
});

t.test("a deleted object is gone", async (t) => {
  const { id } = await create(filled);
  t.match(await deleteObject(db, layer, id), /^\d+$/);
  t.equal(await deleteObject(db, layer, id), undefined);
  t.equal(await get(id), undefined);
});

t.test("two writers on one object leave the fields of one of them", async (t) => {
  const { id } = await create(filled);
  await Promise.all(
    Array.from({ length: 20 }, (_, turn) =>
      update(id, { name: `w${turn}`, size: turn, data: turn, rank: turn }),
    ),
  );
  const { fields } = await get(id);
  t.match(fields, { name: `w${fields.size}`, data: fields.size, rank: fields.size });
});

t.test("statements hold nothing of what was sent but placeholders", async (t) => {
  const assignments = readFields(layer, {
    fields: { name: "secret'--", label: { en: "secret" }, size: 1 },
    languages,
  });
  const { text, values } = createStatement(layer, { assignments, geom: point(1, 1), shape });
  t.notMatch(text, /secret/);
  t.equal(values.length, new Set(text.match(/\$\d+/g)).size);
});

t.test("more statements than a connection keeps prepared run all the same", async (t) => {
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < 450; n++) {
      const [row] = await db.query<{ n: number }>(`select $1::int + ${n} as n`, [1], { prepare: true });
      if (row?.n !== n + 1) t.fail(`statement ${n}`);
    }
  }
  const [row] = await db.query<{ n: number }>("select count(*) as n from pg_prepared_statements");
  t.ok((row?.n ?? 999) <= 200);
});
