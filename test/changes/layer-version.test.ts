import t from "tap";
import { ChangeBudget } from "../../src/changes/budget.js";
import { readLayers } from "../../src/changes/history.js";
import {
  type Area,
  isCurrent,
  type LayerChange,
  LayerVersion,
  versionStep,
} from "../../src/changes/layer-version.js";
import type { MercatorBox } from "../../src/geo/tile.js";

const here: MercatorBox = [0, 0, 10, 10];
/** A change right after the one of the version before. */
const change = (version: number, area: Area, previous = version - 1): LayerChange => ({
  version,
  previous,
  area,
});
const there: MercatorBox = [100, 100, 110, 110];

t.test("a tile stays current through changes elsewhere", async (t) => {
  const layer = new LayerVersion(1, 5);
  layer.apply(change(6, there));
  layer.apply(change(7, []));
  t.ok(isCurrent([5], [layer], here));
});

t.test("a tile is stale after a change that touches it, even by an edge", async (t) => {
  const layer = new LayerVersion(1, 5);
  layer.apply(change(6, there));
  layer.apply(change(7, [10, 10, 20, 20]));
  t.notOk(isCurrent([5], [layer], here));
  t.ok(isCurrent([7], [layer], here), "drawn after it, it is current");
});

t.test("a change of the whole layer makes every earlier tile stale", async (t) => {
  const layer = new LayerVersion(1, 5);
  layer.apply(change(6, null));
  layer.apply(change(7, there));
  t.notOk(isCurrent([5], [layer], here));
  t.ok(isCurrent([6], [layer], here));
});

t.test("a missed version counts as a change of the whole layer", async (t) => {
  const layer = new LayerVersion(1, 5);
  layer.apply(change(7, there));
  t.notOk(isCurrent([5], [layer], here));
  t.notOk(isCurrent([6], [layer], here), "what version 7 touched is not known for sure");
  t.ok(isCurrent([7], [layer], here));
});

t.test("a tile older than what is remembered is stale", async (t) => {
  const layer = new LayerVersion(1, 0);
  for (let version = 1; version <= 1000; version++) layer.apply(change(version, there));
  t.notOk(isCurrent([1], [layer], here));
  t.ok(isCurrent([900], [layer], here));
});

t.test("an older or repeated change does not move the version back", async (t) => {
  const layer = new LayerVersion(1, 5);
  layer.apply(change(6, here));
  layer.apply(change(6, there));
  layer.apply(change(4, null));
  t.equal(layer.version, 6);
  t.notOk(isCurrent([5], [layer], here));
});

t.test(
  "a tile that was drawn before an edit is not taken for current when a later edit elsewhere arrives",
  async (t) => {
    const layer = new LayerVersion(1, 5);
    const drawnBefore = [5];
    layer.apply(change(6, here));
    layer.apply(change(7, there));
    t.notOk(isCurrent(drawnBefore, [layer], here));
  },
);

t.test("what was drawn at a version that the layer never had is not current", async (t) => {
  const layer = new LayerVersion(1, 50);
  layer.apply(change(60, there, 50));
  layer.apply(change(70, there, 60));
  t.ok(isCurrent([60], [layer], here));
  for (const version of [49, 55, 65, 75]) t.notOk(isCurrent([version], [layer], here), `${version}`);
});

t.test("what is forgotten counts as touched", async (t) => {
  const layer = new LayerVersion(1, 5);
  layer.apply(change(6, there));
  layer.apply(change(7, there));
  layer.forget(6);
  t.notOk(isCurrent([5], [layer], here));
  t.ok(isCurrent([6], [layer], here));
});

t.test("all layers together remember a bounded number of places, and forget the oldest first", async (t) => {
  const budget = new ChangeBudget(1_000);
  const layers = [new LayerVersion(1, 0), new LayerVersion(2, 0)];
  for (let version = 1; version <= 100; version++) {
    for (const layer of layers) budget.note(layer, layer.apply(change(version, there))!);
  }
  for (const layer of layers) {
    t.notOk(isCurrent([50], [layer], here));
    t.ok(isCurrent([95], [layer], here));
  }
});

t.test("what is heard while a reading is under way does not refute the layer's history", async (t) => {
  const step = versionStep;
  const layer = new LayerVersion(1, step);
  const db = {
    query: async () => {
      // The answer is of the moment before the change that is heard before it arrives.
      layer.apply(change(2 * step, here, step));
      return [{ token: "t", replaced: false, layers: [[1, step, null, [step, 0]]] }];
    },
  } as unknown as Parameters<typeof readLayers>[0];
  const { layers } = await readLayers(db, [layer]);
  t.match(layers, [{ id: 1, version: step, diverged: false }]);
});
