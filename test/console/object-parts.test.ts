import t from "tap";
import { type Draft, Drafts } from "../../src/viewer/browser/console/objects/drafts.js";
import { EditStack } from "../../src/viewer/browser/console/objects/edit-stack.js";
import { isSame, merged, withField, yielding } from "../../src/viewer/browser/console/objects/merge.js";
import { momentOf, momentValue } from "../../src/viewer/browser/console/objects/moments.js";
import { nearest } from "../../src/viewer/browser/console/objects/nearest.js";
import { OpenObject } from "../../src/viewer/browser/console/objects/open-object.js";
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
import { Tasks } from "../../src/viewer/browser/console/objects/tasks.js";
import { storageOf } from "./storage.support.js";

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

t.test("places are drawn to vertices before edges, on the map as it is seen", (t) => {
  const reach = { vertex: 0.2, edge: 0.1 };
  const exact = [0.123456789012, 50] as const;
  const line: GeoJSON.LineString = { type: "LineString", coordinates: [[...exact], [10, 50]] };
  t.same(nearest([line], [0.25, 50.05], reach), { position: exact, isVertex: true });
  t.same(nearest([line], [5, 50.05], reach), { position: [5, 50], isVertex: false });
  t.equal(nearest([line], [5, 50.08], reach), undefined, "a degree of latitude is seen longer there");
  t.equal(nearest([line], [10.3, 50], reach), undefined);
  t.equal(nearest([], [0, 0], reach), undefined);
  const all: readonly GeoJSON.Geometry[] = [
    { type: "MultiPolygon", coordinates: [[square(0, 10), square(2, 2)]] },
    { type: "GeometryCollection", geometries: [{ type: "MultiPoint", coordinates: [[30, 0]] }] },
    { type: "Point", coordinates: [40, 0] },
    { type: "MultiLineString", coordinates: [line.coordinates] },
  ];
  for (const [x, y] of [
    [4, 2],
    [30, 0],
    [40, 0],
    [10, 50],
  ] as const)
    t.same(nearest(all, [x + 0.05, y], reach), { position: [x, y], isVertex: true });
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

/** An error as the server's client tells it. */
const refusal = (status: number) =>
  Object.assign(new Error(String(status)), { name: "ServerError", status, data: {} });
const noDrafts = { put: () => true, remove: () => undefined };
const object = (fields: object, etag = "1") => ({ id: 4, fields: { ...fields }, geom: null, etag });

t.test(
  "what was sent without an answer is sent again as it was, and then what was written since",
  async (t) => {
    const asked: [id: number | undefined, key: string, change: object, match: string | undefined][] = [];
    const answers = [refusal(0), object({ a: 1 }), object({ a: 2 }, "2")];
    const store = {
      read: () => Promise.reject(new Error("not asked for")),
      save: (
        id: number | undefined,
        { key, change, match }: { key: string; change: object; match: string | undefined },
      ) => {
        asked.push([id, key, change, match]);
        const answer = answers.shift()!;
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
    };
    const texts = storageOf();
    const place = { login: "me", project: "p", layerId: 1 };
    const open = new OpenObject(
      { id: undefined, key: "k", base: undefined, change: { fields: {} } },
      store,
      new Drafts(place, texts),
    );
    open.set("a", 1);
    const decide = () => Promise.reject(new Error("nobody is asked"));
    await t.rejects(open.save(decide));
    // The page is opened anew.
    const [kept] = new Drafts(place, texts).all();
    const again = new OpenObject(kept!, store, new Drafts(place, texts));
    again.set("a", 2);
    t.same(await again.save(decide), { kind: "saved", id: 4, isPart: true });
    t.same(await again.save(decide), { kind: "saved", id: 4, isPart: false });
    t.same(
      asked.map(([id, , change]) => [id, change]),
      [
        [undefined, { fields: { a: 1 } }],
        [undefined, { fields: { a: 1 } }],
        [4, { fields: { a: 2 } }],
      ],
    );
    t.equal(asked[0]![1], asked[1]![1], "with the same key it is made once");
    t.not(asked[1]![1], asked[2]![1]);
    t.equal(asked[2]![3], "1");
    t.equal(texts.length, 0, "nothing is left");
  },
);

t.test(
  "a key is not used for something else after the server has refused what was sent with it",
  async (t) => {
    const keys: string[] = [];
    const answers = [refusal(500), refusal(503), refusal(500), object({ a: 3 })];
    const store = {
      read: () => Promise.resolve(undefined),
      save: (_: unknown, { key }: { key: string }) => {
        keys.push(key);
        const answer = answers.shift()!;
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
    };
    const open = new OpenObject(
      { id: 4, key: "k", base: object({ a: 1 }), change: { fields: {} } },
      store,
      noDrafts,
    );
    const decide = () => Promise.resolve(undefined);
    open.set("a", 2);
    await t.rejects(open.save(decide));
    await t.rejects(open.save(decide), "busy, or the commit is not known");
    open.set("a", 3);
    t.match(await open.save(decide), { kind: "saved" }, "what was refused has been mended");
    t.equal(keys[1], keys[2]);
    t.equal(new Set(keys).size, 3);
  },
);

t.test("what is written while it is saved is still to be saved", async (t) => {
  let answer: (loaded: ReturnType<typeof object>) => void = () => undefined;
  const store = {
    read: () => Promise.resolve(undefined),
    save: () => new Promise<ReturnType<typeof object>>((resolve) => (answer = resolve)),
  };
  const open = new OpenObject(
    { id: 4, key: "k", base: object({ a: 1, b: 1 }), change: { fields: { a: 2 } } },
    store,
    noDrafts,
  );
  const saving = open.save(() => Promise.resolve(undefined));
  open.setGeometry({ type: "Point", coordinates: [1, 2] });
  open.set("a", 1);
  answer(object({ a: 2, b: 1 }, "2"));
  t.match(await saving, { kind: "saved" });
  t.equal(open.isDraft, true);
  t.same(open.values, { fields: { a: 1, b: 1 }, geom: { type: "Point", coordinates: [1, 2] } });
});

t.test(
  "what others do is taken at once, but for what is changed here, which the server then refuses",
  async (t) => {
    const matches: (string | undefined)[] = [];
    const theirs = object({ a: 5, b: 5 }, "2");
    const store = {
      read: () => Promise.resolve(theirs),
      save: (_: unknown, { match }: { match: string | undefined }) => {
        matches.push(match);
        return match === "2" ? Promise.resolve(object({ a: 2, b: 5 }, "3")) : Promise.reject(refusal(412));
      },
    };
    const open = new OpenObject(
      { id: 4, key: "k", base: object({ a: 1, b: 1 }), change: { fields: { a: 2 } } },
      store,
      noDrafts,
    );
    t.equal(open.rebase(theirs), true);
    t.same(open.values.fields, { a: 2, b: 5 });
    const asked: unknown[] = [];
    await open.save(async (conflicts) => {
      asked.push(conflicts);
      return "mine";
    });
    t.same(asked, [[{ code: "a", mine: 2, theirs: 5 }]]);
    t.same(matches, ["1", "2"]);
  },
);

/** A store that gives these answers, one after the other, and notes what it is asked to save. */
function answering(...answers: readonly (object | Error)[]) {
  const left = [...answers];
  const saves: { readonly key: string; readonly change: object; readonly match: string | undefined }[] = [];
  const next = () => {
    const answer = left.shift()!;
    return answer instanceof Error
      ? Promise.reject(answer)
      : Promise.resolve(answer as ReturnType<typeof object>);
  };
  return {
    saves,
    read: next,
    save: (_: unknown, sent: (typeof saves)[number]) => {
      saves.push(sent);
      return next();
    },
  };
}
const opened = (store: ReturnType<typeof answering>, fields: object = { a: 0, b: 0 }) =>
  new OpenObject({ id: 4, key: "k", base: object(fields), change: { fields: {} } }, store, noDrafts);
const nobody = () => Promise.reject(new Error("nobody is asked"));

t.test("a refusal that comes before a request is looked at says nothing about an earlier try", async (t) => {
  for (const status of [401, 403, 429]) {
    const store = answering(refusal(0), refusal(status), object({ a: 1, b: 0 }, "2"));
    const open = opened(store);
    open.set("a", 1);
    for (let tries = 0; tries < 2; tries++) await t.rejects(open.save(nobody));
    t.match(await open.save(nobody), { kind: "saved" });
    t.equal(new Set(store.saves.map(({ key }) => key)).size, 1, String(status));
  }
});

t.test("what is set back after it was sent is a change of what the server may have by now", async (t) => {
  const store = answering(refusal(0), object({ a: 1, b: 0 }, "2"), object({ a: 0, b: 0 }, "3"));
  const open = opened(store);
  open.set("a", 1);
  await t.rejects(open.save(nobody));
  open.set("a", 0);
  t.equal(open.rebase(object({ a: 1, b: 0 }, "2")), false, "nobody else has changed it");
  t.equal(open.values.fields.a, 0);
  t.match(await open.save(nobody), { kind: "saved", isPart: true });
  t.match(await open.save(nobody), { kind: "saved", isPart: false });
  t.match(store.saves.at(-1), { change: { fields: { a: 0 } }, match: "2" });

  const refused = answering(refusal(0), refusal(412), object({ a: 0, b: 5 }, "2"));
  const other = opened(refused);
  other.set("a", 1);
  await t.rejects(other.save(nobody));
  other.set("a", 0);
  t.same(await other.save(nobody), { kind: "same" }, "it was never done");
  t.equal(other.isDraft, false);
});

t.test("an answer that is asked for again is not taken for newer than what was read since", async (t) => {
  const store = answering(refusal(0), object({ a: 1, b: 0 }, "2"), object({ a: 1, b: 0 }, "4"));
  const open = opened(store);
  open.set("a", 1);
  await t.rejects(open.save(nobody));
  open.rebase(object({ a: 1, b: 7 }, "3"));
  open.set("b", 0);
  await open.save(nobody);
  await open.save(nobody);
  t.match(store.saves.at(-1), { change: { fields: { b: 0 } }, match: "3" }, "the 7 was seen");
});

t.test("what is no value stays as it is written", (t) => {
  const texts = storageOf();
  const place = { login: "me", project: "p", layerId: 1 };
  const open = new OpenObject(
    { id: 4, key: "k", base: object({ a: 1 }), change: { fields: {} } },
    { read: () => Promise.resolve(undefined), save: () => Promise.reject(refusal(0)) },
    new Drafts(place, texts),
  );
  open.set("a", undefined, "1 metre");
  const [kept] = new Drafts(place, texts).all();
  t.same(kept?.wrong, { a: "1 metre" });
  open.set("a", 1);
  t.equal(open.isDraft, false);
  t.equal(texts.length, 0);
  t.end();
});

t.test("what a browser has stored is a draft if it can be shown", (t) => {
  const place = { login: "me", project: "p", layerId: 1 };
  const text = (stored: object) => JSON.stringify({ at: Date.now(), ...stored });
  const read = (stored: object) =>
    new Drafts(place, storageOf(new Map([['mapwright.draft:["me","p",1,4]', text(stored)]]))).of(4);
  const draft = { id: 4, key: "k", change: { fields: { a: 1 } } };
  const lines = {
    type: "MultiLineString",
    coordinates: [
      [
        [0, 1],
        [2, 3, 4],
      ],
    ],
  };
  for (const more of [
    {},
    { base: { fields: {}, geom: null, etag: "1" }, wrong: { a: "1 metre" } },
    {
      change: { fields: {}, geom: lines },
      base: { fields: {}, geom: { type: "Point", coordinates: [1, 2] } },
    },
    { change: { fields: {}, geom: { type: "GeometryCollection", geometries: [lines] } } },
    { change: { fields: {}, geom: null }, sent: { key: "s", change: { fields: {} } } },
    { drawn: { kind: "Polygon", positions: [[1, 2]] } },
  ])
    t.match(read({ ...draft, ...more }), { key: "k" }, JSON.stringify(more));
  for (const more of [
    ...[{ key: 1 }, { id: "4" }, { change: null }, { change: { fields: 5 } }, { wrong: "w" }, { sent: 5 }],
    ...[{ base: null }, { base: { fields: null } }, { base: { fields: {}, geom: { type: "Nope" } } }],
    { change: { fields: {}, geom: 5 } },
    { change: { fields: {}, geom: { type: "Point", coordinates: "x" } } },
    { change: { fields: {}, geom: { type: "LineString", coordinates: [1, 2] } } },
    { drawn: { kind: "z", positions: [] } },
    { drawn: { kind: "Point", positions: 9 } },
  ])
    t.equal(read({ ...draft, ...more }), undefined, JSON.stringify(more));
  t.end();
});

t.test(
  "drafts go after a while, long geometries are not kept with them, and what has no room is told",
  (t) => {
    const day = 86_400_000;
    const texts = storageOf();
    const place = { login: "me", project: "p", layerId: 1 };
    const draft: Draft = { id: 4, key: "k", base: undefined, change: { fields: { a: 1 } } };
    new Drafts(place, texts, () => 0).put(draft);
    t.equal(new Drafts({ ...place, layerId: 2 }, texts, () => 89 * day).all().length, 0);
    t.equal(new Drafts(place, texts, () => 89 * day).all().length, 1);
    new Drafts({ ...place, project: "q" }, texts, () => 91 * day);
    t.equal(texts.length, 0, "wherever they were made");

    const small = storageOf(new Map(), 300);
    const drafts = new Drafts(place, small);
    const long: [number, number][] = Array.from({ length: 5_000 }, (_, at) => [at / 100, 1]);
    const base = { fields: { a: 0 }, geom: { type: "LineString" as const, coordinates: long }, etag: "1" };
    t.equal(drafts.put({ ...draft, base }), true);
    t.same(new Drafts(place, small).of(4)?.base, { ...base, geom: null });
    t.same(drafts.of(4)?.base, base);
    t.equal(drafts.put({ ...draft, change: { fields: { a: "x".repeat(400) } } }), false);
    t.equal(drafts.isUnsafe, true);
    t.same(new Drafts(place, small).of(4)?.change, { fields: { a: 1 } }, "what was kept before is not lost");
    drafts.remove(draft);
    t.equal(drafts.isUnsafe, false);
    t.end();
  },
);

t.test("one thing is done at a time", async (t) => {
  const told: string[] = [];
  const tasks = new Tasks(
    (isBusy) => told.push(isBusy ? "busy" : "free"),
    (error) => told.push((error as Error).message),
  );
  let end: () => void = () => undefined;
  const first = tasks.run(() => new Promise<void>((resolve) => (end = resolve)));
  await tasks.run(async () => void told.push("twice"));
  const waiting = tasks.settled().then(() => told.push("settled"));
  end();
  await Promise.all([first, waiting]);
  await tasks.run(() => Promise.reject(new Error("failed")));
  t.same(told, ["busy", "free", "settled", "busy", "failed", "free"]);
});

t.test("drafts are of their user and layer, and what is no draft is left out", (t) => {
  const texts = new Map<string, string>([['mapwright.draft:["me","p",1,9]', "{"]]);
  const storage = storageOf(texts);
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
