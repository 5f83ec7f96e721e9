import t from "tap";
import { type Draft, Drafts } from "../../src/viewer/browser/console/objects/drafts.js";
import { EditStack } from "../../src/viewer/browser/console/objects/edit-stack.js";
import { isSame, merged, withField, yielding } from "../../src/viewer/browser/console/objects/merge.js";
import { momentOf, momentValue } from "../../src/viewer/browser/console/objects/moments.js";
import {
  geometryOf,
  shapeOf,
  unturned,
  withHole,
  withoutVertex,
  withPart,
  withVertex,
  withVertexAfter,
} from "../../src/viewer/browser/console/objects/shape.js";

/** Parts of the editor of objects that need no page. */

const square = (x: number, side: number): [number, number][] => [
  [x, 0],
  [x + side, 0],
  [x + side, side],
  [x, side],
  [x, 0],
];
const area = { type: "Polygon", coordinates: [square(0, 10)] } as const satisfies GeoJSON.Polygon;

t.test("geometries of every kind become shapes and come back as they were", (t) => {
  const geometries: readonly GeoJSON.Geometry[] = [
    { type: "Point", coordinates: [1, 2, 3] },
    { type: "MultiPoint", coordinates: [[1, 2]] },
    {
      type: "LineString",
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
      ],
    },
    { type: "Polygon", coordinates: [square(0, 10), square(2, 2)] },
    { type: "MultiPolygon", coordinates: [[square(0, 10)], [square(20, 2)]] },
  ];
  for (const geometry of geometries) t.same(geometryOf(shapeOf(geometry)!), geometry, geometry.type);
  t.equal(shapeOf({ type: "GeometryCollection", geometries: [] }), undefined);
  t.equal(shapeOf({ type: "MultiPolygon", coordinates: [] }), undefined);
  t.equal(shapeOf(null), undefined);
  t.end();
});

t.test("vertices are moved with their heights, added, and taken away to the last that a shape needs", (t) => {
  const line = shapeOf({
    type: "LineString",
    coordinates: [
      [0, 0, 7],
      [2, 2, 7],
    ],
  })!;
  const at = { part: 0, ring: 0, index: 0 };
  t.same(geometryOf(withVertex(line, at, 1, 1)), {
    type: "LineString",
    coordinates: [
      [1, 1, 7],
      [2, 2, 7],
    ],
  });
  t.same(geometryOf(withVertexAfter(line, at, 1, 1)).type, "LineString");
  t.equal(withoutVertex(line, at), undefined, "a line of one vertex is none");
  const holed = withHole(shapeOf(area)!, square(2, 2).slice(0, -1))!;
  t.equal(holed.parts[0]!.length, 2);
  t.equal(withHole(shapeOf(area)!, square(40, 2)), undefined, "it lies beside");
  const less = withoutVertex(withoutVertex(holed, { part: 0, ring: 1, index: 0 })!, {
    part: 0,
    ring: 1,
    index: 0,
  })!;
  t.equal(less.parts[0]!.length, 1, "a hole of two vertices is none");
  const two = withPart(shapeOf(area)!, shapeOf({ type: "Polygon", coordinates: [square(20, 1)] })!);
  t.equal(geometryOf(two).type, "MultiPolygon");
  const moved = shapeOf({ type: "Point", coordinates: [370, 5] })!;
  t.same(geometryOf(unturned(moved)), { type: "Point", coordinates: [10, 5] });
  t.end();
});

t.test("two changes are put together, but for values that both have set", (t) => {
  const base = { fields: { a: 1, b: 2, c: { en: "x", ru: "y" } }, geom: area };
  const theirs = { fields: { a: 1, b: 3, c: { ru: "y", en: "x" } }, geom: area };
  t.same(merged(base, { fields: { a: 5 } }, theirs), { change: { fields: { a: 5 } }, conflicts: [] });
  t.same(merged(base, { fields: { b: 3 } }, theirs), { change: { fields: {} }, conflicts: [] }, "both alike");
  const both = merged(base, { fields: { a: 5, b: 4 }, geom: null }, theirs);
  t.same(both.conflicts, [{ code: "b", mine: 4, theirs: 3 }]);
  t.same(yielding(both), { fields: { a: 5 }, geom: null });
  const shapes = merged(
    base,
    { fields: {}, geom: null },
    { ...theirs, geom: { ...area, coordinates: [square(1, 1)] } },
  );
  t.equal(shapes.conflicts[0]?.code, undefined);
  t.same(yielding(shapes), { fields: {} });
  t.same(withField({ fields: { a: 5 } }, base.fields, "a", 1), { fields: {} }, "as it was is no change");
  t.equal(isSame(undefined, null), true);
  t.equal(isSame([1, 2], [2, 1]), false);
  t.end();
});

t.test("what was undone is done again, until something else is done", async (t) => {
  let entry = 10;
  const told: number[] = [];
  const failing = new Set<number>();
  const stack = new EditStack(
    async ({ entry: undone, objects }) => {
      if (failing.has(undone)) throw new Error("changed since");
      told.push(undone);
      return { entry: ++entry, objects };
    },
    () => true,
  );
  t.equal(await stack.undo(), undefined);
  stack.push({ entry: 1, objects: [5] });
  stack.push({ entry: 2, objects: [6] });
  t.equal((await stack.undo())?.entry, 2);
  t.equal((await stack.redo())?.entry, 11, "to do again is to undo the undoing");
  await stack.undo();
  stack.push({ entry: 3, objects: [7] });
  t.equal(stack.canRedo, false);
  failing.add(3);
  await t.rejects(stack.undo());
  t.equal((await stack.undo())?.entry, 1, "what cannot be undone is not in the way");
  t.same(told, [2, 11, 12, 1]);
});

t.test("drafts are of their user and layer, and what is no draft is left out", (t) => {
  const texts = new Map<string, string>([['mapwright.draft:["me","p",1,9]', "{"]]);
  const storage = {
    get length() {
      return texts.size;
    },
    key: (at: number) => [...texts.keys()][at] ?? null,
    getItem: (name: string) => texts.get(name) ?? null,
    setItem: (name: string, text: string) => texts.set(name, text),
    removeItem: (name: string) => texts.delete(name),
  };
  const place = { login: "me", project: "p", layerId: 1 };
  const draft: Draft = { id: 4, key: "k", base: undefined, change: { fields: { a: 1 } } };
  new Drafts(place, storage).put(draft);
  t.same(new Drafts(place, storage).all(), [{ id: 4, key: "k", change: { fields: { a: 1 } } }]);
  t.same(new Drafts(place, storage).of(4)?.change, draft.change);
  for (const other of [
    { ...place, login: "you" },
    { ...place, layerId: 11 },
    { ...place, project: "q" },
  ])
    t.same(new Drafts(other, storage).all(), []);
  new Drafts(place, storage).remove(draft);
  t.same(new Drafts(place, storage).all(), []);
  t.end();
});

t.test("days are the same everywhere, times are those of the reader", (t) => {
  t.same(momentOf("1999-05-01T00:00:00Z"), { date: "1999-05-01", time: "" });
  t.equal(momentValue({ date: "1999-05-01", time: "" }), "1999-05-01T00:00:00Z");
  const moment = momentOf("2020-02-03T04:05:06Z")!;
  t.equal(momentValue(moment), "2020-02-03T04:05:06Z");
  t.equal(momentValue({ date: "", time: "" }), null);
  t.equal(momentValue({ date: "", time: "10:00" }), undefined);
  t.equal(momentOf("-000044-03-15T00:00:00Z"), undefined);
  t.end();
});
