import t from "tap";
import { formatAddress, parseAddress } from "../../src/viewer/browser/address.js";
import { dateText } from "../../src/viewer/browser/date-text.js";
import { LayerTree } from "../../src/viewer/browser/layer-tree.js";

/** Parts of the viewer that need no page. */

t.test("an address survives being written and read", (t) => {
  const address = {
    project: "a b&c",
    map: "карта",
    view: { zoom: 12, lat: 55.75123, lon: -37.61845 },
    layers: [3, 14],
    base: "none",
    opacity: new Map([
      [3, 0.4],
      [14, 0],
    ]),
    object: { layer: 12, id: -345 },
  } as const;
  t.same(parseAddress(formatAddress(address)), address);
  t.same(
    parseAddress(formatAddress({ ...address, layers: [] })).layers,
    [],
    "nothing on is not the same as nothing said",
  );
  t.end();
});

t.test("what an address says wrongly is left out", (t) => {
  const nothing = {
    project: undefined,
    map: undefined,
    view: undefined,
    layers: undefined,
    base: "own",
    object: undefined,
  };
  t.same(parseAddress(""), nothing);
  for (const view of [
    "z=5&lat=91&lon=0",
    "z=-1&lat=0&lon=0",
    "z=5&lat=&lon=0",
    "z=NaN&lat=1&lon=2",
    "z=5&lat=1",
    "base=other&opacity=a:5,3:101,:",
    "object=12",
    "object=x.1",
    "object=1.2.3",
    "object=1.1e9",
  ]) {
    t.same(parseAddress(`#${view}`), nothing, view);
  }
  t.end();
});

t.test("a date with a time is told with it", (t) => {
  t.match(dateText("2000-01-03T12:30:00Z", "en"), /^Jan [34], 2000, \d+:\d\d\s[AP]M$/);
  t.equal(dateText("1850-06-01T00:00:00Z", "de"), "01.06.1850");
  t.equal(dateText("soon", "en"), undefined);
  t.end();
});

const element = (id: number, type: string, parent: number, selected = true) => ({
  id,
  type,
  code: `c${id}`,
  name: "",
  sort: id,
  parent_id: parent,
  selected,
});

t.test("a layer is on at first when it and all its folders are selected", (t) => {
  const elements = [
    element(1, "folder", 0, false),
    element(2, "layer", 1),
    element(3, "folder", 0),
    element(4, "layer", 3),
    element(5, "layer", 3, false),
    element(6, "layer", 99),
  ];
  const tree = new LayerTree(elements);
  t.same(
    tree.visible.map((leaf) => leaf.layerId),
    [4, 6],
    "a parent that is not there is the root",
  );
  t.equal(tree.selection, undefined);
  t.equal(tree.shown(tree.roots[1]!), "some");
  tree.set(tree.roots[1]!, true);
  t.same(tree.selection, [4, 5, 6]);
  tree.reset();
  t.equal(tree.selection, undefined);
  t.same(
    new LayerTree(elements, [5, 77]).selection,
    [5],
    "a layer that is not of this map is not switched on",
  );
  t.same(new LayerTree(elements, []).selection, []);
  t.end();
});

t.test("where elements have ids of their own, layers go by theirs", (t) => {
  const tree = new LayerTree([
    { ...element(1, "folder", 0), map_layer_id: 10 },
    { ...element(2, "layer", 1), map_layer_id: 20 },
  ]);
  t.same(
    tree.leaves.map((leaf) => leaf.layerId),
    [20],
  );
  t.end();
});

t.test("layers on both sides of 180 degrees are shown together there", (t) => {
  const box = (west: number, east: number) => ({ sw: [-20, west], ne: [-10, east] }) as const;
  const extent = (...boxes: readonly ReturnType<typeof box>[]) =>
    new LayerTree(boxes.map((bbox, at) => ({ ...element(at + 1, "layer", 0), bbox }))).extent();
  t.same(extent(box(170, 180), box(-180, -175)), box(170, 185));
  t.same(extent(box(170, 190)), box(170, 190));
  t.same(extent(box(-20, -10), box(5, 15)), box(-20, 15));
  t.end();
});
