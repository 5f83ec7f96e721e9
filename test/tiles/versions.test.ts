import t from "tap";
import type { MercatorBox } from "../../src/geo/tile.js";
import { boxesOf, isCurrent, LayerVersion } from "../../src/tiles/versions.js";

const here: MercatorBox = [0, 0, 10, 10];
const there: MercatorBox = [100, 100, 110, 110];

t.test("a tile stays current through changes elsewhere and takes over the new version", async (t) => {
  const layer = new LayerVersion(1, 5);
  const versions = [5];
  layer.apply({ version: 6, boxes: [there] });
  layer.apply({ version: 7, boxes: [] });
  t.ok(isCurrent(versions, [layer], here));
  t.same(versions, [7]);
});

t.test("a tile is stale after a change that touches it, even by an edge", async (t) => {
  const layer = new LayerVersion(1, 5);
  layer.apply({ version: 6, boxes: [there] });
  layer.apply({ version: 7, boxes: [[10, 10, 20, 20]] });
  t.notOk(isCurrent([5], [layer], here));
  t.ok(isCurrent([7], [layer], here), "drawn after it, it is current");
});

t.test("a change of the whole layer makes every earlier tile stale", async (t) => {
  const layer = new LayerVersion(1, 5);
  layer.apply({ version: 6, boxes: null });
  layer.apply({ version: 7, boxes: [there] });
  t.notOk(isCurrent([5], [layer], here));
  t.ok(isCurrent([6], [layer], here));
});

t.test("a missed version counts as a change of the whole layer", async (t) => {
  const layer = new LayerVersion(1, 5);
  layer.apply({ version: 7, boxes: [there] });
  t.notOk(isCurrent([5], [layer], here));
  t.notOk(isCurrent([6], [layer], here), "what version 7 touched is not known for sure");
  t.ok(isCurrent([7], [layer], here));
});

t.test("a tile older than what is remembered is stale", async (t) => {
  const layer = new LayerVersion(1, 0);
  for (let version = 1; version <= 1000; version++) layer.apply({ version, boxes: [there] });
  t.notOk(isCurrent([1], [layer], here));
  t.ok(isCurrent([900], [layer], here));
});

t.test("an older or repeated change does not move the version back", async (t) => {
  const layer = new LayerVersion(1, 5);
  layer.apply({ version: 6, boxes: [here] });
  layer.apply({ version: 6, boxes: [there] });
  layer.apply({ version: 4, boxes: null });
  t.equal(layer.version, 6);
  t.notOk(isCurrent([5], [layer], here));
});

t.test(
  "a tile that was drawn before an edit is not taken for current when a later edit elsewhere arrives",
  async (t) => {
    const layer = new LayerVersion(1, 5);
    const drawnBefore = [5];
    layer.apply({ version: 6, boxes: [here] });
    layer.apply({ version: 7, boxes: [there] });
    t.notOk(isCurrent(drawnBefore, [layer], here));
  },
);

t.test("every plan's stamp counts up with each change, and retired ones stay retired", async (t) => {
  const layer = new LayerVersion(1, 5);
  const live = { value: 3 };
  const retired = { value: -1 };
  layer.stamps.add(live).add(retired);
  layer.apply({ version: 6, boxes: [] });
  t.same([live.value, retired.value], [4, -1]);
});

t.test("boxes are read four numbers at a time", async (t) => {
  t.same(boxesOf([1, 2, 3, 4, 5, 6, 7, 8]), [
    [1, 2, 3, 4],
    [5, 6, 7, 8],
  ]);
  t.same(boxesOf([]), []);
  t.equal(boxesOf(null), null);
});
